//! Ours, and peers made of a channel and a local executor.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use async_executor::LocalExecutor;
use futures_lite::future::block_on;
use terrace_thread::ThreadSpawner;
use tokio::runtime::{self, Runtime};
use tokio::sync::oneshot;
use tokio::task::LocalSet;

use super::Threaded;

/// A thread that is joined on drop, which happens after it has been told to end.
struct Joining(Option<JoinHandle<()>>);

impl Joining {
    fn start(body: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(thread::spawn(body)))
    }
}

impl Drop for Joining {
    fn drop(&mut self) {
        let thread = self.0.take().expect("joined once");
        thread.join().expect("a bench thread panicked");
    }
}

/// Ours: the thread runs its pinned tasks and sleeps.
pub struct Pinned {
    spawner: ThreadSpawner,
    over: Arc<AtomicBool>,
    thread: Option<Joining>,
}

impl Threaded for Pinned {
    const NAME: &'static str = "thread_spawner";

    fn new() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let (give, take) = mpsc::channel();
        let thread = Joining::start({
            let over = Arc::clone(&over);
            move || {
                give.send(ThreadSpawner::current())
                    .expect("the row waits for it");
                while !over.load(Ordering::Relaxed) {
                    while terrace_thread::tick() {}
                    terrace_thread::park();
                }
            }
        });
        Self {
            spawner: take.recv().expect("the thread sends it first"),
            over,
            thread: Some(thread),
        }
    }

    fn send<F, M>(&self, make: M) -> impl Future<Output = usize> + use<F, M>
    where
        F: Future<Output = usize> + 'static,
        M: FnOnce() -> F + Send + 'static,
    {
        self.spawner.spawn_with(make)
    }

    fn spawn_here(amount: usize) {
        for _ in 0..amount {
            terrace_thread::spawn_local(async {}).detach();
        }
        while terrace_thread::tick() {}
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.spawner.notify();
        self.thread.take();
    }
}

/// A future made on the target thread.
type Made = Pin<Box<dyn Future<Output = ()>>>;
/// The function that makes it.
type Make = Box<dyn FnOnce() -> Made + Send>;

/// The message of `make`, and the future of its output.
fn message<F, M>(make: M) -> (Make, impl Future<Output = usize> + use<F, M>)
where
    F: Future<Output = usize> + 'static,
    M: FnOnce() -> F + Send + 'static,
{
    let (give, take) = oneshot::channel();
    let make: Make = Box::new(move || {
        Box::pin(async move {
            // The row waits for it.
            let _ = give.send(make().await);
        })
    });
    (make, async { take.await.expect("the thread answers") })
}

/// `async_executor::LocalExecutor` and a task that spawns each future out of an `async-channel`.
pub struct AsyncExecutorPump {
    make: async_channel::Sender<Make>,
    _thread: Joining,
}

impl Threaded for AsyncExecutorPump {
    const NAME: &'static str = "async_executor";

    fn new() -> Self {
        let (make, made) = async_channel::unbounded::<Make>();
        let thread = Joining::start(move || {
            let executor = LocalExecutor::new();
            block_on(executor.run(async {
                while let Ok(make) = made.recv().await {
                    executor.spawn(make()).detach();
                }
            }));
        });
        Self {
            make,
            _thread: thread,
        }
    }

    fn send<F, M>(&self, make: M) -> impl Future<Output = usize> + use<F, M>
    where
        F: Future<Output = usize> + 'static,
        M: FnOnce() -> F + Send + 'static,
    {
        let (make, output) = message(make);
        self.make.try_send(make).expect("the thread lives");
        output
    }

    fn spawn_here(amount: usize) {
        thread_local! {
            static EXECUTOR: LocalExecutor<'static> = const { LocalExecutor::new() };
        }
        EXECUTOR.with(|executor| {
            for _ in 0..amount {
                executor.spawn(async {}).detach();
            }
            while executor.try_tick() {}
        });
    }
}

/// tokio's `LocalSet` and a task that spawns each future out of tokio's own channel.
pub struct TokioPump {
    make: tokio::sync::mpsc::UnboundedSender<Make>,
    _thread: Joining,
}

impl TokioPump {
    fn runtime() -> Runtime {
        let runtime = runtime::Builder::new_current_thread().build();
        runtime.expect("a runtime without drivers")
    }
}

impl Threaded for TokioPump {
    const NAME: &'static str = "tokio";

    fn new() -> Self {
        let (make, mut made) = tokio::sync::mpsc::unbounded_channel::<Make>();
        let thread = Joining::start(move || {
            LocalSet::new().block_on(&Self::runtime(), async {
                while let Some(make) = made.recv().await {
                    tokio::task::spawn_local(make());
                }
            });
        });
        Self {
            make,
            _thread: thread,
        }
    }

    fn send<F, M>(&self, make: M) -> impl Future<Output = usize> + use<F, M>
    where
        F: Future<Output = usize> + 'static,
        M: FnOnce() -> F + Send + 'static,
    {
        let (make, output) = message(make);
        assert!(self.make.send(make).is_ok(), "the thread lives");
        output
    }

    fn spawn_here(amount: usize) {
        thread_local! {
            static RUNTIME: (LocalSet, Runtime) = (LocalSet::new(), TokioPump::runtime());
        }
        RUNTIME.with(|(set, runtime)| {
            set.block_on(runtime, async {
                for _ in 0..amount {
                    tokio::task::spawn_local(async {});
                }
                // The tasks before it in the queue run first.
                tokio::task::spawn_local(async {}).await.expect("it ends");
            });
        });
    }
}
