//! The view of the thread's own executor that [`TaskPool::with_local_executor`](crate::TaskPool::with_local_executor)
//! hands out.

use core::ops::Deref;

use crate::host;

/// The calling thread's own executor: of the tasks that only this thread polls.
///
/// Derefs to [`terrace_local::LocalExecutor`], which has the methods: `spawn`, `try_tick`, `tick`, `run`, `is_empty`. All
/// pools share one such executor a thread.
/// [`TaskPool::with_local_executor`](crate::TaskPool::with_local_executor) has an example.
#[doc(alias = "LocalSet")]
#[derive(Debug)]
pub struct LocalExecutor<'a>(&'a terrace_local::LocalExecutor<'static>);

impl LocalExecutor<'_> {
    /// Calls `f` with the view of the calling thread's executor.
    pub(crate) fn with<R>(f: impl FnOnce(&LocalExecutor<'_>) -> R) -> R {
        host::with_local_executor(|executor| f(&LocalExecutor(executor)))
    }
}

impl Deref for LocalExecutor<'_> {
    type Target = terrace_local::LocalExecutor<'static>;

    fn deref(&self) -> &Self::Target {
        self.0
    }
}
