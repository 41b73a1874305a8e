//! The facade's pool, in the variant that was built: with threads, or on the thread that calls.

use std::future::Future;

use terrace_sync::Arc;
use terrace_sync::unmodelled::Weak;
use terrace_tasks::{Task, TaskPool, TaskPoolBuilder};

#[cfg(not(target_arch = "wasm32"))]
use super::driven::holds;
#[cfg(not(target_arch = "wasm32"))]
use crate::kind::drive_by_ticks;
use crate::kind::{Caps, Handle, Kind, Make};
#[cfg(not(target_arch = "wasm32"))]
use crate::tools::Limit;

const THREADED: bool = terrace_tasks::cfg::multi_threaded!();

/// [`TaskPool`] with so many threads; without any it is driven by a thread that waits.
pub struct Tasks<const THREADS: usize>(Arc<TaskPool>);

/// Refers to [`Tasks`] without keeping it.
#[derive(Clone)]
pub struct TasksHandle(Weak<TaskPool>);

/// Where the pool has no threads, its tasks are the thread's.
fn tick(pool: &TaskPool) -> bool {
    !THREADED && pool.with_local_executor(|executor| executor.try_tick())
}

impl<const THREADS: usize> Make for Tasks<THREADS> {
    const CAPS: Caps = Caps::CLOSES;

    fn name() -> String {
        if THREADED {
            format!("TaskPool with {THREADS} threads")
        } else {
            "TaskPool on the calling thread".to_owned()
        }
    }

    fn make() -> Self {
        Self(Arc::new(
            TaskPoolBuilder::new().num_threads(THREADS).build(),
        ))
    }
}

impl<const THREADS: usize> Kind for Tasks<THREADS> {
    type Handle = TasksHandle;

    as_its_type_says!();

    fn handle(&self) -> TasksHandle {
        TasksHandle(Arc::downgrade(&self.0))
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
        tick(&self.0)
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn drive(&self, condition: &mut dyn FnMut() -> bool, limit: &mut Limit) -> bool {
        if THREADED && THREADS == 0 {
            return terrace_executor::block_on(holds(condition, limit));
        }
        drive_by_ticks(self, condition, limit)
    }
}

impl<const THREADS: usize> Drop for Tasks<THREADS> {
    fn drop(&mut self) {
        if !THREADED {
            terrace_thread::close();
        }
    }
}

impl Handle for TasksHandle {
    fn spawn_exact<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Option<Task<T>> {
        self.0.upgrade().map(|pool| pool.spawn(future))
    }

    fn spawn_eager<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Option<Task<T>> {
        self.0.upgrade().map(|pool| pool.spawn_eager(future))
    }

    fn tick(&self) -> bool {
        self.0.upgrade().is_some_and(|pool| tick(&pool))
    }
}
