//! Tasks pinned to a thread: the test's own, which ticks them itself, and another one, which waits.

use std::future::Future;

use terrace_thread::{Task, ThreadSpawner};

use crate::kind::{Caps, Handle, Kind, LocalKind, Make};

/// A [`ThreadSpawner`] onto the current thread, which ticks.
pub struct Thread(ThreadSpawner);

/// Refers to a thread.
#[derive(Clone)]
pub struct ThreadHandle(ThreadSpawner);

impl Make for Thread {
    const CAPS: Caps = Caps::MANUAL
        .and(Caps::ONE_THREAD)
        .and(Caps::FIFO)
        .and(Caps::CLOSES)
        .and(Caps::SPAWNS_IN_DROP);

    fn name() -> String {
        "ThreadSpawner".to_owned()
    }

    fn make() -> Self {
        Self(ThreadSpawner::current())
    }
}

impl Kind for Thread {
    type Handle = ThreadHandle;

    as_its_type_says!();

    fn handle(&self) -> ThreadHandle {
        ThreadHandle(self.0.clone())
    }

    fn spawn_exact<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        self.0.spawn(future)
    }

    fn spawn_eager<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        self.0.spawn_eager(future)
    }

    fn tick(&self) -> bool {
        terrace_thread::tick()
    }
}

impl LocalKind for Thread {
    fn spawn_local<T: 'static>(&self, future: impl Future<Output = T> + 'static) -> Task<T> {
        terrace_thread::spawn_local(future)
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        terrace_thread::close();
    }
}

impl Handle for ThreadHandle {
    fn spawn_exact<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Option<Task<T>> {
        Some(self.0.spawn(future))
    }

    fn spawn_eager<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Option<Task<T>> {
        Some(self.0.spawn_eager(future))
    }

    fn tick(&self) -> bool {
        self.0.thread_id() == terrace_thread::id() && terrace_thread::tick()
    }
}

/// A [`ThreadSpawner`] onto a thread that waits in `block_on`, from another one.
#[cfg(not(target_arch = "wasm32"))]
pub struct RemoteThread {
    spawner: ThreadSpawner,
    stop: Option<Stop>,
}

#[cfg(not(target_arch = "wasm32"))]
struct Stop {
    /// Its end wakes the waiting thread.
    signal: terrace_sync::Arc<crate::tools::Channel<()>>,
    thread: std::thread::JoinHandle<()>,
}

#[cfg(not(target_arch = "wasm32"))]
impl Make for RemoteThread {
    const CAPS: Caps = Caps::CLOSES;

    fn name() -> String {
        "ThreadSpawner from elsewhere".to_owned()
    }

    fn make() -> Self {
        let signal = crate::tools::Channel::new();
        let stopped = terrace_sync::Arc::clone(&signal);
        let (sender, receiver) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let sent = sender.send(ThreadSpawner::current());
            if sent.is_ok() {
                terrace_executor::block_on(stopped.receive());
            }
        });
        let spawner = receiver.recv().expect("the thread sends its spawner");
        let stop = Some(Stop { signal, thread });
        Self { spawner, stop }
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Kind for RemoteThread {
    type Handle = RemoteHandle;

    as_its_type_says!();

    fn polls_at_spawn(&self) -> bool {
        false
    }

    fn handle(&self) -> RemoteHandle {
        RemoteHandle(self.spawner.clone())
    }

    fn spawn_exact<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        self.spawner.spawn(future)
    }

    fn spawn_eager<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        self.spawner.spawn_eager(future)
    }

    fn tick(&self) -> bool {
        false
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Drop for RemoteThread {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            stop.signal.send(());
            let ended = stop.thread.join();
            assert!(
                ended.is_ok() || std::thread::panicking(),
                "the thread ends quietly"
            );
        }
    }
}

/// Refers to another thread.
#[cfg(not(target_arch = "wasm32"))]
#[derive(Clone)]
pub struct RemoteHandle(ThreadSpawner);

#[cfg(not(target_arch = "wasm32"))]
impl Handle for RemoteHandle {
    fn spawn_exact<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Option<Task<T>> {
        Some(self.0.spawn(future))
    }

    fn spawn_eager<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Option<Task<T>> {
        Some(self.0.spawn_eager(future))
    }

    fn tick(&self) -> bool {
        false
    }
}
