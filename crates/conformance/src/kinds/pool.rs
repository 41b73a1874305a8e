//! The facade's pool, in the variant that was built: with threads, or on the thread that calls.

use std::future::Future;

use terrace_sync::Arc;
use terrace_sync::unmodelled::Weak;
use terrace_tasks::{Task, TaskPool, TaskPoolBuilder};

use crate::kind::{Caps, Handle, Kind};

const THREADED: bool = terrace_tasks::cfg::multi_threaded!();
const THREADS: usize = 2;

/// [`TaskPool`].
pub struct Tasks(Arc<TaskPool>);

/// Refers to [`Tasks`] without keeping it.
#[derive(Clone)]
pub struct TasksHandle(Weak<TaskPool>);

/// Where the pool has no threads, its tasks are the thread's.
fn tick(pool: &TaskPool) -> bool {
    !THREADED && pool.with_local_executor(|executor| executor.try_tick())
}

impl Kind for Tasks {
    type Handle = TasksHandle;

    const CAPS: Caps = Caps::CLOSES;

    fn name() -> String {
        let variant = if THREADED {
            "with threads"
        } else {
            "without threads"
        };
        format!("TaskPool {variant}")
    }

    fn make() -> Self {
        Self(Arc::new(
            TaskPoolBuilder::new().num_threads(THREADS).build(),
        ))
    }

    fn handle(&self) -> TasksHandle {
        TasksHandle(Arc::downgrade(&self.0))
    }

    fn spawn_exact<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        self.0.spawn(future)
    }

    fn tick(&self) -> bool {
        tick(&self.0)
    }
}

impl Drop for Tasks {
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

    fn tick(&self) -> bool {
        self.0.upgrade().is_some_and(|pool| tick(&pool))
    }
}
