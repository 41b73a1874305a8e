//! The view of the thread's own executor that [`TaskPool::with_local_executor`](crate::TaskPool::with_local_executor)
//! hands out.

use core::ops::Deref;

use crate::host;
use crate::pools::TaskPool;

/// The calling thread's own executor: of the tasks that only this thread polls.
///
/// Derefs to [`terrace_local::LocalExecutor`], which has the methods: `spawn`, `try_tick`, `tick`, `run`, `is_empty`. All
/// pools share one such executor a thread.
/// [`TaskPool::with_local_executor`](crate::TaskPool::with_local_executor) has an example.
#[doc(alias = "LocalSet")]
#[derive(Debug)]
pub struct LocalExecutor<'a>(&'a terrace_local::LocalExecutor<'static>);

impl Deref for LocalExecutor<'_> {
    type Target = terrace_local::LocalExecutor<'static>;

    fn deref(&self) -> &Self::Target {
        self.0
    }
}

impl TaskPool {
    /// Calls `f` with the calling thread's executor, on which [`spawn_local`](Self::spawn_local) puts its tasks; in a build without threads
    /// [`spawn`](Self::spawn) does, too.
    ///
    /// # Examples
    ///
    /// ```
    /// # use terrace_tasks::TaskPool;
    /// let pool = TaskPool::new();
    /// let task = pool.spawn_local(async { "done" });
    /// pool.with_local_executor(|executor| while executor.try_tick() {});
    /// assert!(task.is_finished());
    /// ```
    pub fn with_local_executor<F, R>(&self, f: F) -> R
    where
        F: FnOnce(&LocalExecutor<'_>) -> R,
    {
        host::with_local_executor(|executor| f(&LocalExecutor(executor)))
    }
}
