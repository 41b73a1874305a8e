//! The executors with workers, and without.

use std::future::Future;

use terrace_executor::{Builder, Executor, StaticExecutor, Task};
use terrace_sync::unmodelled::Weak;
use terrace_sync::{Arc, Mutex};

use crate::kind::{Caps, Handle, Kind, Make, Pooled};

/// [`Executor`] with so many workers; without any it is ticked, and never had threads: waiting ones leave it alone.
pub struct Pool<const WORKERS: usize>(Arc<Executor<'static>>);

/// Refers to [`Pool`] without keeping it.
#[derive(Clone)]
pub struct PoolHandle<const WORKERS: usize>(Weak<Executor<'static>>);

impl<const WORKERS: usize> Pool<WORKERS> {
    /// By a builder: without workers, threads that wait drive it.
    pub(super) fn built() -> Self {
        Self(Arc::new(Builder::new().workers(WORKERS).build()))
    }
}

impl<const WORKERS: usize> Make for Pool<WORKERS> {
    const CAPS: Caps = if WORKERS == 0 {
        Caps::CLOSES
            .and(Caps::MANUAL)
            .and(Caps::ONE_THREAD)
            .and(Caps::FIFO)
    } else {
        Caps::CLOSES
    };

    fn name() -> String {
        format!("Executor with {WORKERS} workers")
    }

    fn make() -> Self {
        if WORKERS == 0 {
            Self(Arc::new(Executor::new()))
        } else {
            Self::built()
        }
    }
}

impl<const WORKERS: usize> Kind for Pool<WORKERS> {
    type Handle = PoolHandle<WORKERS>;

    as_its_type_says!();

    fn handle(&self) -> PoolHandle<WORKERS> {
        PoolHandle(Arc::downgrade(&self.0))
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
        WORKERS == 0 && self.0.try_tick()
    }
}

spawns_batches_and_is_driven!(for [const WORKERS: usize] impl Pool<WORKERS>);

impl<const WORKERS: usize> Pooled for Pool<WORKERS> {
    fn executor(&self) -> &Executor<'static> {
        &self.0
    }
}

impl<const WORKERS: usize> Handle for PoolHandle<WORKERS> {
    fn spawn_exact<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Option<Task<T>> {
        self.0.upgrade().map(|executor| executor.spawn(future))
    }

    fn spawn_eager<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Option<Task<T>> {
        self.0
            .upgrade()
            .map(|executor| executor.spawn_eager(future))
    }

    fn tick(&self) -> bool {
        WORKERS == 0 && self.0.upgrade().is_some_and(|executor| executor.try_tick())
    }
}

/// [`StaticExecutor`] with so many workers: one for all behaviours, as its threads never end. Without workers it is
/// ticked, and there is one for each behaviour.
pub struct StaticPool<const WORKERS: usize>(&'static StaticExecutor);

/// Refers to [`StaticPool`].
#[derive(Clone)]
pub struct StaticPoolHandle<const WORKERS: usize>(&'static StaticExecutor);

/// Those that were made, where leak checkers find them.
static STATIC: Mutex<Vec<&'static StaticExecutor>> = Mutex::new(Vec::new());

impl<const WORKERS: usize> Make for StaticPool<WORKERS> {
    const CAPS: Caps = if WORKERS == 0 {
        Caps::MANUAL.and(Caps::FIFO).and(Caps::ONE_THREAD)
    } else {
        Caps::NONE
    };

    fn name() -> String {
        format!("StaticExecutor with {WORKERS} workers")
    }

    fn make() -> Self {
        let mut made = STATIC.lock();
        let known = made.iter().find(|pool| pool.workers() == WORKERS);
        if let Some(pool) = known.filter(|_| WORKERS != 0) {
            return Self(pool);
        }
        let pool = match WORKERS {
            0 => Executor::new().leak(),
            workers => Builder::new()
                .workers(workers)
                .try_build_static()
                .expect("threads can be started"),
        };
        made.push(pool);
        Self(pool)
    }
}

impl<const WORKERS: usize> Kind for StaticPool<WORKERS> {
    type Handle = StaticPoolHandle<WORKERS>;

    as_its_type_says!();

    fn handle(&self) -> StaticPoolHandle<WORKERS> {
        StaticPoolHandle(self.0)
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
        WORKERS == 0 && self.0.try_tick()
    }
}

impl<const WORKERS: usize> Drop for StaticPool<WORKERS> {
    fn drop(&mut self) {
        while self.tick() {}
    }
}

impl<const WORKERS: usize> Handle for StaticPoolHandle<WORKERS> {
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
        WORKERS == 0 && self.0.try_tick()
    }
}

spawns_batches_and_is_driven!(for [const WORKERS: usize] impl StaticPool<WORKERS>);
