//! How often the sentinel looks at the scopes.
//!
//! While a scope is open and a core is free, one sentinel looks at its list on a *beat*, to take a child that the scope's own
//! thread does not come to. A look costs the sentinel's core about 5 us and the scope's thread nothing. The beat begins at
//! [`BEAT`]. Each look in vain makes it a [`GROWTH`]th longer, up to [`PERIOD`]; a child that was found makes it
//! short again. So the beat is a fixed part of the time since the last such child. The delay of the next one, up to a beat and
//! a look, is at most that part of the time that went before it. This is the argument of doubling searches: the sum of all
//! delays stays below a 64th of the run, plus one shortest beat for each child found.

use std::time::Duration;

use terrace_sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::tuned::{self, BEAT, GROWTH, PERIOD};

/// No worker has the beat.
const NONE: usize = 0;

/// The beat of a pool.
pub(crate) struct Beat {
    /// In ns.
    period: AtomicU32,
    /// [`NONE`], or the number plus one of the sentinel that looks on the beat.
    holder: AtomicUsize,
}

impl Default for Beat {
    fn default() -> Self {
        Self {
            period: AtomicU32::new(tuned::nanos(BEAT)),
            holder: AtomicUsize::new(NONE),
        }
    }
}

impl Beat {
    /// The time between two looks.
    pub(crate) fn period(&self) -> Duration {
        // Ordering: Relaxed, a matter of speed; so are all accesses in this file.
        Duration::from_nanos(self.period.load(Ordering::Relaxed).into())
    }

    /// As [`period`](Self::period), doubled so many times, and at most [`PERIOD`].
    pub(crate) fn period_doubled(&self, times: u32) -> Duration {
        (self.period() * (1 << times.min(6))).min(PERIOD)
    }

    /// A look has found nothing.
    pub(crate) fn look_in_vain(&self) {
        let period = self.period.load(Ordering::Relaxed);
        let longer = (period + period / GROWTH).min(tuned::nanos(PERIOD));
        self.period.store(longer, Ordering::Relaxed);
    }

    /// A look has found a child.
    pub(crate) fn found(&self) {
        self.period.store(tuned::nanos(BEAT), Ordering::Relaxed);
    }

    /// Whether the sentinel `worker` has the beat, or takes it now: of two sentinels one does.
    pub(crate) fn claim(&self, worker: usize) -> bool {
        let own = worker + 1;
        self.holder.load(Ordering::Relaxed) == own
            || self
                .holder
                .compare_exchange(NONE, own, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    /// The sentinel `worker` gives the beat up, if it has it.
    pub(crate) fn leave(&self, worker: usize) {
        if self.holder.load(Ordering::Relaxed) == worker + 1 {
            self.holder.store(NONE, Ordering::Relaxed);
        }
    }
}

#[cfg(all(test, not(terrace_loom)))]
mod tests {
    use super::*;

    /// However long nothing is found, a beat is at most a 64th of that time, or the shortest.
    #[test]
    fn the_beat_is_a_part_of_the_time_since_the_last_child() {
        let beat = Beat::default();
        let mut since = Duration::ZERO;
        for _ in 0..1_000 {
            assert!(beat.period() <= BEAT + since / GROWTH);
            since += beat.period();
            beat.look_in_vain();
        }
        assert_eq!(beat.period(), PERIOD);
        beat.look_in_vain();
        assert_eq!(beat.period(), PERIOD);
        beat.found();
        assert_eq!(beat.period(), BEAT);
        assert_eq!(beat.period_doubled(2), 4 * BEAT);
        assert_eq!(beat.period_doubled(1_000), PERIOD);
    }

    #[test]
    fn one_sentinel_has_the_beat() {
        let beat = Beat::default();
        assert!(beat.claim(3) && beat.claim(3) && !beat.claim(0));
        beat.leave(0);
        assert!(!beat.claim(0));
        beat.leave(3);
        assert!(beat.claim(0));
    }
}
