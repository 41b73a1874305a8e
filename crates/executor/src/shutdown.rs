//! Ending the threads of an executor that stays.

use std::error::Error;
use std::fmt;

/// What becomes of tasks that are queued when an executor's threads are ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shutdown {
    /// Workers run until nothing is queued. Tasks that wait for something stay as they are. Once woken, they run when
    /// the executor has workers again, or is driven.
    Drain,
    /// The threads end first; then the executor drops every queued task.
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
