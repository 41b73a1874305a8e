//! A seat that the last thread in it has left open for the next one.
//!
//! | the word  | means                         | becomes   | by                                             |
//! |-----------|-------------------------------|-----------|------------------------------------------------|
//! | 0         | no seat is kept               | n + 1     | a thread that leaves seat n, compare-exchange   |
//! | n + 1     | seat n belongs to no thread   | 0         | the thread that takes the seat, swap            |
//!
//! What the one thread has written in the seat the next one sees. Not an API; public for its models.

use terrace_sync::atomic::{AtomicUsize, Ordering};
use terrace_sync::ordering;

/// The number of the seat that is kept, if one is.
#[derive(Default)]
pub struct Kept(AtomicUsize);

impl Kept {
    /// Takes the seat that is kept. One read-modify-write.
    #[inline]
    pub fn take(&self) -> Option<usize> {
        let acquire = ordering!("executor-fork-kept-relaxed", Acquire);
        // Ordering: Acquire pairs with the Release in `keep`.
        self.0.swap(0, acquire).checked_sub(1)
    }

    /// Keeps the seat with this number, in which the calling thread was the last. False if another one is kept.
    #[inline]
    pub fn keep(&self, number: usize) -> bool {
        // Ordering: Release pairs with the Acquire in `take`. Relaxed on failure, which hands nothing over.
        let kept = self
            .0
            .compare_exchange(0, number + 1, Ordering::Release, Ordering::Relaxed);
        kept.is_ok()
    }
}
