//! The single-thread executors.

use std::future::Future;

use terrace_local::{LocalExecutor, LocalSpawner, StaticLocalExecutor, Task};
use terrace_sync::unmodelled::Weak;
use terrace_sync::{Arc, Mutex};

use super::here::Here;
use crate::kind::{Caps, Handle, Kind, LocalKind, Make};

/// [`LocalExecutor`], ticked.
pub struct Local(Arc<LocalExecutor<'static>>);

/// Refers to [`Local`] without keeping it.
#[derive(Clone)]
pub struct LocalHandle {
    executor: Here<Weak<LocalExecutor<'static>>>,
    spawner: LocalSpawner,
}

impl Make for Local {
    const CAPS: Caps = Caps::MANUAL
        .and(Caps::ONE_THREAD)
        .and(Caps::FIFO)
        .and(Caps::CLOSES)
        .and(Caps::SPAWNS_IN_DROP);

    fn name() -> String {
        "LocalExecutor".to_owned()
    }

    fn make() -> Self {
        #[expect(
            clippy::arc_with_non_send_sync,
            reason = "handles are in tasks that must be Send"
        )]
        Self(Arc::new(LocalExecutor::new()))
    }
}

impl Kind for Local {
    type Handle = LocalHandle;

    as_its_type_says!();

    fn handle(&self) -> LocalHandle {
        // SAFETY: a `Weak` drops no executor, and its count is atomic.
        let executor = unsafe { Here::new(Arc::downgrade(&self.0)) };
        let spawner = self.0.spawner();
        LocalHandle { executor, spawner }
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
        self.0.try_tick()
    }
}

impl LocalKind for Local {
    fn spawn_local<T: 'static>(&self, future: impl Future<Output = T> + 'static) -> Task<T> {
        self.0.spawn(future)
    }
}

spawns_batches_and_is_driven!(impl Local);

impl Handle for LocalHandle {
    fn spawn_exact<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Option<Task<T>> {
        match self.executor.get().upgrade() {
            Some(executor) => Some(executor.spawn(future)),
            None => Some(self.spawner.spawn(future)),
        }
    }

    fn spawn_eager<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Option<Task<T>> {
        match self.executor.get().upgrade() {
            Some(executor) => Some(executor.spawn_eager(future)),
            None => Some(self.spawner.spawn_eager(future)),
        }
    }

    fn tick(&self) -> bool {
        let executor = self.executor.get().upgrade();
        executor.is_some_and(|executor| executor.try_tick())
    }
}

/// [`StaticLocalExecutor`], ticked.
pub struct StaticLocal(&'static StaticLocalExecutor);

/// A static executor's address, kept where leak checkers find it.
struct Kept(#[expect(dead_code, reason = "kept for leak checkers")] &'static StaticLocalExecutor);

// SAFETY: it is never used.
unsafe impl Send for Kept {}

static KEPT: Mutex<Vec<Kept>> = Mutex::new(Vec::new());

impl Make for StaticLocal {
    const CAPS: Caps = Caps::MANUAL.and(Caps::ONE_THREAD).and(Caps::FIFO);

    fn name() -> String {
        "StaticLocalExecutor".to_owned()
    }

    fn make() -> Self {
        let executor: &'static _ = Box::leak(Box::new(StaticLocalExecutor::new()));
        KEPT.lock().push(Kept(executor));
        Self(executor)
    }
}

impl Kind for StaticLocal {
    type Handle = StaticLocalHandle;

    as_its_type_says!();

    fn handle(&self) -> StaticLocalHandle {
        // SAFETY: a reference has no destructor.
        StaticLocalHandle(unsafe { Here::new(self.0) })
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
        self.0.try_tick()
    }
}

impl LocalKind for StaticLocal {
    fn spawn_local<T: 'static>(&self, future: impl Future<Output = T> + 'static) -> Task<T> {
        self.0.spawn(future)
    }
}

spawns_batches_and_is_driven!(impl StaticLocal);

impl Drop for StaticLocal {
    fn drop(&mut self) {
        while self.tick() {}
    }
}

/// Refers to [`StaticLocal`].
#[derive(Clone)]
pub struct StaticLocalHandle(Here<&'static StaticLocalExecutor>);

impl Handle for StaticLocalHandle {
    fn spawn_exact<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Option<Task<T>> {
        Some(self.0.get().spawn(future))
    }

    fn spawn_eager<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Option<Task<T>> {
        Some(self.0.get().spawn_eager(future))
    }

    fn tick(&self) -> bool {
        self.0.get().try_tick()
    }
}
