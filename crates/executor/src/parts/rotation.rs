//! Where busy workers and drivers outnumber the processors, each gives its processor up from time to time.
//!
//! A busy thread keeps its processor for a slice of the system's scheduler: some milliseconds. With four busy threads a
//! processor, a thread that waits for the result of one task waits for as many slices. A runner knows a better point to change
//! threads: between two tasks. There it yields each [`KEEPS_PROCESSOR`]. If no other thread wants the processor, that is a system call in
//! vain. Blocking code and long tasks keep their slices.
//!
//! A runner that sleeps has given its processor up, so the period begins anew. Without that, a worker that is woken for one task after
//! another would yield before every sixteenth of them, and wait for the slice of a thread that computes.

use std::cell::Cell;

use terrace_sync::thread::yield_now;
use terrace_sync::time::Instant;

use crate::tuned::{KEEPS_PROCESSOR, TIMED};

/// When a runner yields.
#[derive(Default)]
pub(crate) struct Rotation {
    /// Calls until the next look at the clock.
    left: Cell<u32>,
    /// When the runner yielded last, or first found the processors contended.
    since: Cell<Option<Instant>>,
}

impl Rotation {
    /// The runner is between two tasks, and more threads than processors are busy.
    #[cold]
    pub(crate) fn pass(&self) {
        // A page has one thread, and no clock.
        if !cfg!(target_family = "wasm") && self.is_due(Instant::now) {
            yield_now();
        }
    }

    /// The runner is about to sleep.
    pub(crate) fn sleeps(&self) {
        self.since.set(None);
    }

    fn is_due(&self, now: impl FnOnce() -> Instant) -> bool {
        if let Some(left) = self.left.get().checked_sub(1) {
            self.left.set(left);
            return false;
        }
        self.left.set(TIMED - 1);
        let now = now();
        let due = self.since.get().map(|since| now - since >= KEEPS_PROCESSOR);
        if due != Some(false) {
            self.since.set(Some(now));
        }
        due == Some(true)
    }
}

#[cfg(all(test, not(any(terrace_loom, terrace_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_runner_yields_once_a_period() {
        let rotation = Rotation::default();
        let start = Instant::now();
        let mut looks = 0;
        let mut yields = Vec::new();
        for call in 0..TIMED * 100 {
            // Each look at the clock is a third of a period later.
            let due = rotation.is_due(|| {
                looks += 1;
                start + KEEPS_PROCESSOR / 3 * (looks - 1)
            });
            if due {
                yields.push(call / TIMED);
            }
        }
        assert_eq!(looks, 100, "one call of {TIMED} reads the clock");
        // The first look only begins the period.
        assert_eq!(yields.first(), Some(&4));
        assert!(yields.windows(2).all(|pair| pair[1] - pair[0] >= 3));
        assert!(yields.len() >= 24, "{yields:?}");
    }

    #[test]
    fn a_runner_that_sleeps_between_its_tasks_does_not_yield() {
        let rotation = Rotation::default();
        let start = Instant::now();
        for call in 0..TIMED * 100 {
            assert!(!rotation.is_due(|| start + KEEPS_PROCESSOR * call));
            rotation.sleeps();
        }
        // Awake from now on, it has its period.
        assert!(
            (0..2 * TIMED).any(|call| rotation.is_due(|| start + KEEPS_PROCESSOR * (1_000 + call)))
        );
    }
}
