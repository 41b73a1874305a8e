//! Whether it pays to wake a worker for the children of a scope.
//!
//! Waking a thread costs the waker a system call of a few microseconds, and the woken thread comes
//! tens of microseconds later. Tiny children are gone by then, and two cores that fight over them
//! finish later than one alone. So a pool remembers how long children took lately and wakes for
//! them only when the work that is queued outweighs the wake. The sentinel (see `DESIGN.md`) covers
//! the children that stay with the waiting thread. It is a worker that sleeps with a timeout and
//! takes every child that did not move between two of its looks. So a wrong guess delays a child by
//! at most [`SENTINEL_PERIOD`] twice, and the estimate learns from it.

use std::time::Duration;

use terrace_sync::atomic::{AtomicU32, Ordering};
use terrace_sync::time::Instant;

/// How long a sentinel sleeps between two looks. It takes work that has not moved between two looks, so such work waits
/// at most 2 ms (invariant 2).
pub(crate) const SENTINEL_PERIOD: Duration = Duration::from_millis(1);
/// Queued work, in ns, from which waking a sleeping worker pays.
const WAKE_WORTH: u64 = 25_000;
/// Length of a child, in ns, from which an awake worker takes it from a waiter that drives.
const TAKE_WORTH: u32 = 700;
/// The estimate before anything was measured, in ns: long, so that the first scopes wake workers.
const UNKNOWN: u32 = 50_000;
/// Children that are timed together while they are tiny, to spare clock readings.
const TINY_BATCH: u32 = 8;

/// What a pool knows about the length of its scopes' children and bodies.
pub(crate) struct Pacing {
    /// Decaying mean of a child's run time, in ns.
    child: AtomicU32,
    /// Decaying mean of the time that a scope's body takes, in ns.
    body: AtomicU32,
}

impl Pacing {
    pub(crate) fn new() -> Self {
        Self {
            child: AtomicU32::new(UNKNOWN),
            body: AtomicU32::new(0),
        }
    }

    /// The estimate for one child, in ns.
    #[inline]
    pub(crate) fn child_ns(&self) -> u32 {
        // Ordering: Relaxed, a statistic; so are all accesses in this file.
        self.child.load(Ordering::Relaxed)
    }

    /// Whether an awake worker should take a child from a waiter that is driving.
    #[inline]
    pub(crate) fn worth_taking(&self) -> bool {
        self.child_ns() >= TAKE_WORTH
    }

    /// Whether `queued` children are worth the wake of a worker.
    #[inline]
    pub(crate) fn worth_waking(&self, queued: usize) -> bool {
        let child = self.child_ns();
        child >= TAKE_WORTH && u64::from(child) * queued as u64 >= WAKE_WORTH
    }

    /// Whether the bodies of scopes tend to take long, so that their thread does not count as one that will soon
    /// run children.
    #[inline]
    pub(crate) fn body_is_long(&self) -> bool {
        u64::from(self.body.load(Ordering::Relaxed)) >= WAKE_WORTH
    }

    fn observe_child(&self, sample: u32) {
        let old = self.child_ns();
        // Rise fast, fall slowly: being late with a wake costs more than waking once in vain.
        let new = if sample > old {
            old + (sample - old).div_ceil(2)
        } else {
            old - (old - sample).div_ceil(8)
        };
        self.child.store(new, Ordering::Relaxed);
    }

    /// Notes how long a body took.
    pub(crate) fn observe_body(&self, since: Instant) {
        let sample = nanos(since.elapsed());
        let old = self.body.load(Ordering::Relaxed);
        let new = if sample > old {
            old + (sample - old).div_ceil(4)
        } else {
            old - (old - sample).div_ceil(4)
        };
        self.body.store(new, Ordering::Relaxed);
    }

    /// The sentinel found children that had not moved for a whole period.
    pub(crate) fn observe_stall(&self) {
        self.observe_child(nanos(SENTINEL_PERIOD));
    }
}

fn nanos(time: Duration) -> u32 {
    u32::try_from(time.as_nanos()).unwrap_or(u32::MAX)
}

/// Times the children that one thread runs in a row.
pub(crate) struct Stopwatch {
    since: Instant,
    run: u32,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self {
            since: Instant::now(),
            run: 0,
        }
    }

    /// Counts one child. True if the estimate was brought up to date, so that it is time to ask
    /// again whether the rest deserves a wake.
    #[inline]
    pub(crate) fn child_ran(&mut self, pacing: &Pacing) -> bool {
        self.run += 1;
        if !pacing.worth_taking() && self.run < TINY_BATCH {
            return false;
        }
        let now = Instant::now();
        pacing.observe_child(nanos(now - self.since) / self.run);
        self.since = now;
        self.run = 0;
        true
    }
}

#[cfg(all(test, not(terrace_loom)))]
mod tests {
    use super::*;

    #[test]
    fn unknown_children_are_worth_a_wake() {
        assert!(Pacing::new().worth_waking(1));
    }

    #[test]
    fn tiny_children_stop_waking_and_one_long_one_starts_it_again() {
        let pacing = Pacing::new();
        for _ in 0..200 {
            pacing.observe_child(100);
        }
        assert!(!pacing.worth_waking(1_000_000) && !pacing.worth_taking());
        pacing.observe_stall();
        assert!(pacing.worth_waking(1));
    }

    #[test]
    fn the_estimate_reaches_what_is_observed() {
        let pacing = Pacing::new();
        for sample in [0, u32::MAX, 7] {
            for _ in 0..400 {
                pacing.observe_child(sample);
            }
            assert_eq!(pacing.child_ns(), sample);
        }
    }
}
