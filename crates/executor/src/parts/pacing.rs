//! Whether it pays to wake a worker for the children of a scope: what a pool knows about the scopes of one kind.
//!
//! Waking a thread costs the waker a system call of a few microseconds, and the woken thread comes tens of microseconds
//! later. Tiny children are gone by then, and two cores that fight over them finish later than one alone. So a push wakes a
//! worker where three things say together that it pays: how long children took lately, how many are queued, and how long the
//! scopes before took ([`STREAK`]). The sentinel (`work/sentinel.rs`) covers the children that stay with the waiting thread.
//! So a wrong guess that children are short costs little more than a wake. A wrong guess that they are long costs one wake in
//! `STREAK`.

use std::time::Duration;

use terrace_sync::atomic::{AtomicU32, Ordering};
use terrace_sync::time::Instant;

/// Queued work, in ns, from which waking a sleeping worker pays.
const WAKE_WORTH: u64 = 25_000;
/// Length of a child, in ns, from which an awake worker takes it from a waiter that drives. Longer than an empty child
/// takes while two cores fight over the list: else the fight itself would make children look long enough.
/// The bench rows `fork/flat/64x1000` have children that are just long enough.
const TAKE_WORTH: u32 = 1_000;
/// The estimate before anything was measured, in ns: long, so that the first scopes wake workers.
const UNKNOWN: u32 = 50_000;
/// Children that are timed together while they are tiny, to spare clock readings.
const TINY_BATCH: u32 = 8;
/// How long, in ns, waits must have taken in a row since the last tiny scope, before a push wakes a worker for children.
/// The next scope may be tiny again, and the wake in vain: one in 250 us at most, a tenth of the time where a wake costs as
/// much as 25 us.
const STREAK: u32 = 250_000;

/// What a pool knows about the children, bodies and waits of one kind of scopes.
pub(crate) struct Pacing {
    /// Decaying mean of a child's run time, in ns.
    child: AtomicU32,
    /// Decaying mean of the time that a scope's body takes, in ns.
    body: AtomicU32,
    /// The time of the waits since the last tiny one, in ns, up to [`STREAK`] or a bit more.
    streak: AtomicU32,
}

impl Pacing {
    pub(crate) fn new() -> Self {
        Self {
            child: AtomicU32::new(UNKNOWN),
            body: AtomicU32::new(0),
            streak: AtomicU32::new(STREAK),
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
        let streak = || self.streak.load(Ordering::Relaxed) >= STREAK;
        let outweighs = u64::from(child) * queued as u64 >= WAKE_WORTH;
        child >= TAKE_WORTH && outweighs && streak()
    }

    /// Whether the bodies of scopes tend to take long, so that their thread does not count as one that will soon
    /// run children.
    #[inline]
    pub(crate) fn body_is_long(&self) -> bool {
        u64::from(self.body.load(Ordering::Relaxed)) >= WAKE_WORTH
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

    /// Notes that a scope has waited since then.
    pub(crate) fn observe_wait(&self, since: Instant) {
        self.observe_wait_of(nanos(since.elapsed()));
    }

    fn observe_wait_of(&self, took: u32) {
        let streak = self.streak.load(Ordering::Relaxed);
        if u64::from(took) < WAKE_WORTH {
            self.streak.store(0, Ordering::Relaxed);
            return;
        }
        if streak < STREAK {
            self.streak
                .store(streak.saturating_add(took), Ordering::Relaxed);
        }
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
        assert!(!pacing.worth_waking(1_000_000) && !pacing.worth_taking());
        for _ in 0..2 {
            pacing.observe_child(100_000);
        }
        assert!(pacing.worth_waking(1));
    }

    #[test]
    fn after_a_tiny_scope_waits_must_be_long_for_a_while() {
        let pacing = Pacing::new();
        pacing.observe_wait_of(1_000);
        assert!(!pacing.worth_waking(1_000_000));
        for waited in 1..=3 {
            pacing.observe_wait_of(STREAK / 3 + 1);
            assert_eq!(pacing.worth_waking(1), waited == 3);
        }
        pacing.observe_wait_of(u32::MAX);
        pacing.observe_wait_of(u32::MAX);
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
