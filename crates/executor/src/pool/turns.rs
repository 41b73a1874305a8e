//! Whose turn it is: fairness between a worker's own tasks and all others.

use std::cell::Cell;

use super::stalled::Suspect;

/// At most so many turns go to a worker's own ring before the injector has one, so that tasks that keep waking
/// themselves starve nobody; and every so many turns something else than the high lane has one. A prime.
pub(crate) const GLOBAL_INTERVAL: u32 = 61;

/// Counts the turns of one worker or driver, and makes its random numbers.
pub(crate) struct Turns {
    /// Turns until something else than the high lane goes first.
    until_other: Cell<u32>,
    /// Turns of the own ring until the next look into the injector.
    left: Cell<u32>,
    seed: Cell<u32>,
    suspect: Cell<Suspect>,
}

/// The same between polls, as plain data.
#[derive(Clone, Copy)]
pub(crate) struct Rest {
    until_other: u32,
    left: u32,
    seed: u32,
    suspect: Suspect,
}

impl Turns {
    pub(crate) fn new(index: usize) -> Self {
        Self {
            until_other: Cell::new(GLOBAL_INTERVAL - 1),
            left: Cell::new(0),
            seed: Cell::new((index as u32).wrapping_mul(0x9E37_79B9) | 1),
            suspect: Cell::default(),
        }
    }

    /// Its state as plain data, and back.
    pub(crate) fn rest(self) -> Rest {
        Rest {
            until_other: self.until_other.into_inner(),
            left: self.left.into_inner(),
            seed: self.seed.into_inner(),
            suspect: self.suspect.into_inner(),
        }
    }

    pub(crate) fn go_on(rest: Rest) -> Self {
        Self {
            until_other: Cell::new(rest.until_other),
            left: Cell::new(rest.left),
            seed: Cell::new(rest.seed),
            suspect: Cell::new(rest.suspect),
        }
    }

    /// Whose work may be stalled.
    pub(super) fn suspect(&self) -> Suspect {
        self.suspect.get()
    }

    pub(super) fn suspects(&self, suspect: Suspect) {
        self.suspect.set(suspect);
    }

    /// Whether the ring has had a full round since this was true last: as many turns as it had tasks then, at most
    /// [`GLOBAL_INTERVAL`]. If so, `length` tells how many it has now.
    #[inline]
    pub(crate) fn round_is_over(&self, length: impl FnOnce() -> usize) -> bool {
        let left = self.left.get().checked_sub(1);
        self.left
            .set(left.unwrap_or_else(|| (length() as u32).min(GLOBAL_INTERVAL - 1)));
        left.is_none()
    }

    /// Whether this turn is one of those, every [`GLOBAL_INTERVAL`]th, in which something else goes first.
    #[inline]
    pub(crate) fn is_others(&self) -> bool {
        let left = self.until_other.get().checked_sub(1);
        self.until_other.set(left.unwrap_or(GLOBAL_INTERVAL - 1));
        left.is_none()
    }

    /// Whether neither `is_others` nor `round_is_over` would be true: nobody else has a turn before the slot and the ring.
    #[inline]
    pub(super) fn are_own(&self) -> bool {
        self.until_other.get() != 0 && self.left.get() != 0
    }

    /// Counts a turn of the slot; `are_own` was true.
    #[inline]
    pub(super) fn slot_ran(&self) {
        self.until_other.set(self.until_other.get() - 1);
    }

    /// Counts a turn of the ring; `are_own` was true.
    #[inline]
    pub(super) fn ring_ran(&self) {
        self.slot_ran();
        self.left.set(self.left.get() - 1);
    }

    /// A number below `bound`. Marsaglia's xorshift32.
    pub(crate) fn random(&self, bound: usize) -> usize {
        let mut x = self.seed.get();
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        self.seed.set(x);
        x as usize % bound
    }
}
