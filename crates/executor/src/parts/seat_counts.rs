//! What the holders of a seat have done, in numbers. The holder alone writes them, so none costs a read-modify-write.

use terrace_sync::atomic::{AtomicUsize, Ordering};

/// The counts of one seat, over all its holders.
#[derive(Default)]
pub(crate) struct SeatCounts {
    /// Tasks and children polled in turns of their own.
    pub(crate) polls: Count,
    /// Sleeps between two turns.
    pub(crate) parks: Count,
    /// Tasks that it took out of rings of others.
    pub(crate) steals: Count,
    /// Times that it did so.
    pub(crate) steal_operations: Count,
    /// Times that its ring was full, so that tasks moved into the injector.
    pub(crate) overflows: Count,
}

/// A number that one thread at a time writes.
#[derive(Default)]
pub(crate) struct Count(AtomicUsize);

impl Count {
    /// Adds; the calling thread holds the seat.
    #[inline]
    pub(crate) fn add(&self, count: usize) {
        // Ordering: Relaxed. The holder alone writes, and the next holder comes after it by the table of seats. Readers take a number
        // that may be old.
        let before = self.0.load(Ordering::Relaxed);
        self.0.store(before.wrapping_add(count), Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> usize {
        // Ordering: Relaxed, as in `add`.
        self.0.load(Ordering::Relaxed)
    }
}
