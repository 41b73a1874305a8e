//! [`Spawn`]: what a group's children are spawned by.

use core::future::Future;

use crate::executor::LocalExecutor;
use crate::spawn::LocalSpawner;
use crate::static_executor::StaticLocalExecutor;
use crate::task::Task;

/// Something that spawns the future `F`: a reference to an executor, or a handle of one.
///
/// Generic over the future, because some executors ask that it is `Send`, and others that it borrows nothing.
///
/// # Examples
///
/// ```
/// use terrace_local::{LocalExecutor, Spawn, Task};
///
/// /// Works with each executor, and each spawner.
/// fn spawn_answer<F: Future<Output = u32>>(spawner: impl Spawn<F>, question: F) -> Task<u32> {
///     spawner.spawn_task(question)
/// }
///
/// let executor = LocalExecutor::new();
/// let tasks = [spawn_answer(&executor, async { 42 }), spawn_answer(executor.spawner(), async { 42 })];
/// assert_eq!(executor.run_until_stalled(), tasks.len());
/// ```
#[doc(alias = "LocalSpawn")]
pub trait Spawn<F: Future> {
    /// Spawns a task, which is polled later.
    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn_task(&self, future: F) -> Task<F::Output>;

    /// Spawns a task, and polls it once if the executor can and its limits allow it.
    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn_task_eager(&self, future: F) -> Task<F::Output>;
}

impl<'a, F: Future<Output: 'a> + 'a> Spawn<F> for &LocalExecutor<'a> {
    #[inline]
    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn_task(&self, future: F) -> Task<F::Output> {
        self.spawn(future)
    }

    #[inline]
    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn_task_eager(&self, future: F) -> Task<F::Output> {
        self.spawn_eager(future)
    }
}

impl<F: Future<Output: 'static> + 'static> Spawn<F> for &'static StaticLocalExecutor {
    #[inline]
    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn_task(&self, future: F) -> Task<F::Output> {
        StaticLocalExecutor::spawn(self, future)
    }

    #[inline]
    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn_task_eager(&self, future: F) -> Task<F::Output> {
        StaticLocalExecutor::spawn_eager(self, future)
    }
}

impl<F: Future<Output: Send + 'static> + Send + 'static> Spawn<F> for LocalSpawner {
    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn_task(&self, future: F) -> Task<F::Output> {
        self.spawn(future)
    }

    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn_task_eager(&self, future: F) -> Task<F::Output> {
        self.spawn_eager(future)
    }
}
