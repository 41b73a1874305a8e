//! Whether it pays to wake a worker for the children of a scope: what a pool knows about the scopes of one kind.
//!
//! Waking a thread costs the waker a system call of a few microseconds, and the woken thread comes tens of microseconds
//! later. Tiny children are gone by then, and two cores that fight over them finish later than one alone. So a push wakes a
//! worker where two things say together that it pays: how long children took lately, and how many are queued. The sentinel
//! (`work/sentinel.rs`) covers the children that stay with the waiting thread. So a wrong guess that children are short costs
//! little more than a wake, and a wrong guess that they are long costs one.

use std::time::Duration;

use terrace_sync::atomic::{AtomicU32, Ordering};
use terrace_sync::time::Instant;

use crate::tuned::{self, OUTLASTS_WAKES, TINY_BATCH, WAKE, WORTH_TAKING};

/// The estimate before anything was measured: long, so that the first scopes wake workers.
const UNKNOWN: u32 = 2 * tuned::nanos(WAKE);

/// What a pool knows about the children and bodies of one kind of scopes.
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
        self.child_ns() >= tuned::nanos(WORTH_TAKING)
    }

    /// Whether a wake is little beside a child. Then the scope's thread, and a worker that ran a child, sleep without a look around.
    #[inline]
    pub(crate) fn outlasts_wakes(&self) -> bool {
        self.child_ns() >= tuned::nanos(OUTLASTS_WAKES)
    }

    /// Whether `queued` children are worth the wake of a worker.
    #[inline]
    pub(crate) fn worth_waking(&self, queued: usize) -> bool {
        let child = self.child_ns();
        let outweighs = u64::from(child) * queued as u64 >= u64::from(tuned::nanos(WAKE));
        child >= tuned::nanos(WORTH_TAKING) && outweighs
    }

    /// Whether the bodies of scopes tend to take long, so that their thread does not count as one that will soon
    /// run children.
    #[inline]
    pub(crate) fn body_is_long(&self) -> bool {
        self.body.load(Ordering::Relaxed) >= tuned::nanos(WAKE)
    }

    fn observe_child(&self, sample: u32) {
        let old = self.child_ns();
        // Rise fast, fall slowly: an awake worker that takes children too early does less harm than one that leaves them.
        let new = if sample > old {
            old + (sample - old).div_ceil(2)
        } else {
            old - (old - sample).div_ceil(8)
        };
        self.child.store(new, Ordering::Relaxed);
    }

    /// Notes how long a body took, and returns when it ended: now.
    pub(crate) fn observe_body(&self, since: Instant) -> Instant {
        let end = Instant::now();
        let sample = nanos(end - since);
        let old = self.body.load(Ordering::Relaxed);
        let new = if sample > old {
            old + (sample - old).div_ceil(4)
        } else {
            old - (old - sample).div_ceil(4)
        };
        self.body.store(new, Ordering::Relaxed);
        end
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
        Self::start_at(Instant::now())
    }

    /// As [`start`](Self::start), with a reading of the clock that was just made.
    pub(crate) fn start_at(since: Instant) -> Self {
        Self { since, run: 0 }
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
        assert!(
            !pacing.worth_waking(1_000_000) && !pacing.worth_taking() && !pacing.outlasts_wakes()
        );
        for _ in 0..2 {
            pacing.observe_child(100_000);
        }
        assert!(pacing.worth_waking(1) && !pacing.outlasts_wakes());
        for _ in 0..4 {
            pacing.observe_child(400_000);
        }
        assert!(pacing.outlasts_wakes());
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
