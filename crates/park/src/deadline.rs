//! When a timed sleep ends.

use std::time::{Duration, Instant};

use terrace_sync::thread;

/// When a timed sleep ends; `None` if that is too far away to be represented. In models it ends whenever the scheduler likes.
pub(crate) struct Deadline(Option<Instant>);

impl Deadline {
    pub(crate) fn after(timeout: Duration) -> Self {
        Self(Instant::now().checked_add(timeout))
    }

    /// Sleeps until unparked, spuriously woken, or the deadline; false, without sleeping, if that has passed.
    pub(crate) fn park(&self) -> bool {
        // The time is up: the scheduler chooses how far the other threads have come. It does not yield to loom, which
        // hides stale values after a yield. A loop around timed sleeps has to yield.
        if cfg!(any(terrace_loom, terrace_shuttle)) {
            // A schedule by priorities would never leave such a loop.
            #[cfg(terrace_shuttle)]
            thread::yield_now();
            return false;
        }
        let Some(at) = self.0 else {
            thread::park();
            return true;
        };
        let left = at.saturating_duration_since(Instant::now());
        if !left.is_zero() {
            thread::park_timeout(left);
        }
        !left.is_zero()
    }
}
