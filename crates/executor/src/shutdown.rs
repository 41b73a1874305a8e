//! Ending the threads of an executor that stays.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::pool::threads::Pool;
use crate::{Executor, StaticExecutor};

/// What becomes of tasks that are queued when an executor's threads are ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shutdown {
    /// Workers run until nothing is queued. Tasks that wait for something are left as they are: once woken, they run when
    /// the executor has workers again, or is driven.
    Drain,
    /// What is queued is dropped after the threads have ended.
    Cancel,
}

/// Threads had not ended when the time was up. They have been asked to, and will.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StillRunning {
    pub(crate) threads: usize,
}

impl StillRunning {
    /// How many threads.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads
    }
}

impl fmt::Display for StillRunning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} threads of the executor have not ended in time; a task may be blocking them",
            self.threads
        )
    }
}

impl Error for StillRunning {}

impl Executor<'static> {
    /// As [`StaticExecutor::shutdown`].
    ///
    /// # Errors
    /// As there.
    pub fn shutdown(&self, how: Shutdown, limit: Option<Duration>) -> Result<(), StillRunning> {
        shutdown(self.pool(), how, limit)
    }
}

impl StaticExecutor {
    /// Ends all worker threads and joins them; blocks for at most `limit`, or as long as it takes. The executor goes on
    /// without workers: its tasks run in `run`, `tick` and `try_tick` and on threads that wait, or when
    /// [`set_workers`](Self::set_workers) gives it new ones. On a worker of the executor itself, the current thread is not
    /// waited for; it ends when its task's poll has.
    ///
    /// # Errors
    /// When threads have not ended in time. Calling it again waits again, perhaps with [`Shutdown::Cancel`]. After a
    /// `Cancel` that came too early, threads that wait drive the executor only once another call has succeeded.
    ///
    /// ```
    /// use terrace_executor::{Builder, Shutdown, block_on};
    ///
    /// let executor = Builder::new().workers(2).try_build_static()?;
    /// let task = executor.spawn(async { "ran" });
    /// executor.shutdown(Shutdown::Drain, None)?;
    /// assert!(task.is_finished());
    ///
    /// executor.set_workers(1)?;
    /// assert_eq!(block_on(executor.spawn(async { "again" })), "again");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn shutdown(
        &'static self,
        how: Shutdown,
        limit: Option<Duration>,
    ) -> Result<(), StillRunning> {
        shutdown(self.pool(), how, limit)
    }
}

fn shutdown(pool: &Pool, how: Shutdown, limit: Option<Duration>) -> Result<(), StillRunning> {
    pool.shared.shutdown(how, limit)
}
