//! Short sleeps of a worker or driver, and when a longer look around is worth more than the next one.
//!
//! A thread that spawns one task and awaits it sleeps once an iteration, and so does the worker that runs the task. Each wakes
//! the other, and each wake costs the sleeper's way back to a processor: tens of microseconds, most of them on a halted one.
//! If the worker is still looking around when the other thread spawns again, one of the two sleeps falls away.
//!
//! | the worker has                                                         | its next look                         |
//! |------------------------------------------------------------------------|---------------------------------------|
//! | slept [`NAPS`] in all in short naps, with a few tasks between two    | long                                  |
//! | found work in its last long look                                       | long                                  |
//! | slept for long, or run many tasks at once, or looked for long in vain  | short, if at all; it counts from zero |
//!
//! The rule bounds the cost: one look of 50 µs in vain for at least [`NAPS`] of sleep, an eighth of a processor.
//! Many tasks between two naps mean that the publisher does not wait for the worker. There a nap costs each task little, and a worker that
//! looks would only fight with the publisher for the queue.

use std::time::Duration;

use terrace_sync::time::Instant;

use crate::tuned::{FEW, NAP, NAPS, SHORT_NAP};

/// The naps of one worker or driver.
#[derive(Default)]
pub(crate) struct Naps {
    /// When it fell asleep.
    began: Option<Instant>,
    /// What it has slept in short naps since its last long look, or long sleep.
    slept: Duration,
    /// Whether its last long look has found work.
    found: bool,
}

impl Naps {
    /// The thread falls asleep.
    pub(crate) fn begin(&mut self) {
        // A page has one thread, and no clock.
        if !cfg!(target_family = "wasm") {
            self.began = Some(Instant::now());
        }
    }

    /// The thread wakes, if it slept.
    pub(crate) fn end(&mut self) {
        if let Some(began) = self.began.take() {
            self.slept(began.elapsed());
        }
    }

    fn slept(&mut self, nap: Duration) {
        if nap <= SHORT_NAP {
            self.slept += nap;
        } else {
            *self = Self::default();
        }
    }

    /// The thread is about to look around, so many turns after the last time: whether it looks for long.
    fn are_to_avoid(&mut self, turns: usize) -> bool {
        if turns > FEW {
            *self = Self::default();
        }
        self.found || self.slept >= NAPS
    }

    /// Looks around by `look`, so many turns after the last time: for long where that pays, else as `patience` says. True if it found
    /// work.
    pub(crate) fn look(
        &mut self,
        turns: usize,
        patience: Duration,
        look: impl FnOnce(Duration) -> bool,
    ) -> bool {
        if self.are_to_avoid(turns) {
            let found = look(NAP);
            self.looked(found);
            found
        } else {
            look(patience)
        }
    }

    /// The thread has looked around for long.
    fn looked(&mut self, found: bool) {
        self.slept = Duration::ZERO;
        self.found = found;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Naps of 30 µs with one task between two of them, until a long look is due.
    fn tired() -> (Naps, usize) {
        let mut naps = Naps::default();
        let mut count = 0;
        while !naps.are_to_avoid(1) {
            naps.slept(Duration::from_micros(30));
            count += 1;
        }
        (naps, count)
    }

    #[test]
    fn short_naps_pay_for_a_long_look() {
        let (mut naps, count) = tired();
        assert_eq!(count, 14, "14 naps of 30 µs make 400 µs");
        naps.looked(false);
        assert!(
            !naps.are_to_avoid(1),
            "a look in vain has to be paid for anew"
        );
    }

    #[test]
    fn a_look_that_finds_work_is_followed_by_another() {
        let (mut naps, _) = tired();
        naps.looked(true);
        assert!(naps.are_to_avoid(1));
        naps.looked(true);
        assert!(naps.are_to_avoid(0));
        naps.looked(false);
        assert!(!naps.are_to_avoid(1));
    }

    #[test]
    fn long_sleeps_and_many_tasks_count_from_zero() {
        let (mut naps, _) = tired();
        naps.slept(SHORT_NAP * 2);
        assert!(
            !naps.are_to_avoid(1),
            "a thread that sleeps for long waits for nothing soon"
        );
        let (mut naps, _) = tired();
        assert!(
            !naps.are_to_avoid(FEW + 1),
            "the publisher does not wait for this thread"
        );
        let (mut naps, _) = tired();
        naps.looked(true);
        assert!(!naps.are_to_avoid(FEW + 1));
    }
}
