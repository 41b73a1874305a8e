//! When a timed sleep ends.

use std::time::Duration;

#[cfg(not(terrace_loom))]
use terrace_sync::thread;

/// When a timed sleep ends. In models it ends whenever the scheduler likes.
pub(crate) struct Deadline {
    #[cfg(not(any(terrace_loom, terrace_shuttle)))]
    /// `None`: too far away to be represented.
    at: Option<std::time::Instant>,
}

#[cfg(not(any(terrace_loom, terrace_shuttle)))]
impl Deadline {
    pub(crate) fn after(timeout: Duration) -> Self {
        Self {
            at: std::time::Instant::now().checked_add(timeout),
        }
    }

    /// Sleeps until unparked, spuriously woken, or the deadline; false, without sleeping, if that has passed.
    pub(crate) fn park(&self) -> bool {
        let Some(at) = self.at else {
            thread::park();
            return true;
        };
        let left = at.saturating_duration_since(std::time::Instant::now());
        if left.is_zero() {
            return false;
        }
        thread::park_timeout(left);
        true
    }
}

#[cfg(any(terrace_loom, terrace_shuttle))]
impl Deadline {
    pub(crate) fn after(_timeout: Duration) -> Self {
        Self {}
    }

    /// The time is up: the scheduler chooses how far the other threads have come. It does not yield to loom, which
    /// hides stale values after a yield. A loop around timed sleeps has to yield.
    pub(crate) fn park(&self) -> bool {
        // A schedule by priorities would never leave such a loop.
        #[cfg(terrace_shuttle)]
        thread::yield_now();
        false
    }
}
