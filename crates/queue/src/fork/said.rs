//! What a push and a pop say.

use core::fmt;

use super::deque::CAPACITY;

/// Where a push put its job, for the pop. The [module](crate::fork) has an example.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a job that was pushed has to be popped"]
pub struct Depth {
    index: u32,
}

impl Depth {
    #[inline(always)]
    pub(super) fn of(index: u32) -> Self {
        Self { index }
    }

    #[inline(always)]
    pub(super) fn index(&self) -> u32 {
        self.index
    }
}

/// What [`Owner::push`](super::Owner::push) says if the deque holds as many jobs as it can: the job was not pushed.
/// [`Owner::push`](super::Owner::push) has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{CAPACITY} jobs are forked and not joined")
    }
}

impl core::error::Error for Full {}

/// To which thread a job belongs that was pushed. The [module](crate::fork) has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a job that is mine has to be run, one that is stolen to be waited for"]
pub enum Popped {
    /// To the owner: no other thread has taken it, or will.
    Mine,
    /// To another thread, which took it. The deque is empty.
    Stolen,
}
