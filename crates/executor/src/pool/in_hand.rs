//! References to the pool that a worker keeps in hand: those of tasks that ended on it, for those that it spawns next.
//!
//! A task of a counted executor holds a reference to its pool. All tasks count on one word, which every worker and spawner
//! writes; what a worker has in hand costs it no read-modify-write, and nobody a cache miss.

use std::cell::Cell;

use terrace_sync::Arc;

use super::Shared;

/// At most so many are kept; half of them go when there are more.
const MOST: usize = 256;

/// Counted references to one pool.
pub(super) struct InHand {
    /// Out of `Arc::into_raw`, `count` times.
    pool: Cell<*const Shared>,
    count: Cell<usize>,
}

impl InHand {
    /// None.
    pub(super) const fn new() -> Self {
        Self {
            pool: Cell::new(std::ptr::null()),
            count: Cell::new(0),
        }
    }

    /// One of them.
    #[inline]
    pub(super) fn take(&self) -> Option<Arc<Shared>> {
        let left = self.count.get().checked_sub(1)?;
        self.count.set(left);
        // SAFETY: one of `count` came out of `into_raw`, and is no longer counted here.
        Some(unsafe { Arc::from_raw(self.pool.get()) })
    }

    /// Keeps `reference`, always one to the same pool.
    #[inline]
    pub(super) fn keep(&self, reference: Arc<Shared>) {
        let kept = Arc::into_raw(reference);
        debug_assert!(
            self.count.get() == 0 || std::ptr::eq(kept, self.pool.get()),
            "another pool's"
        );
        self.pool.set(kept);
        self.count.set(self.count.get() + 1);
        if self.count.get() > MOST {
            self.give_back(MOST / 2);
        }
    }

    #[cold]
    fn give_back(&self, count: usize) {
        std::iter::from_fn(|| self.take())
            .take(count)
            .for_each(drop);
    }
}

impl Drop for InHand {
    fn drop(&mut self) {
        self.give_back(MOST);
    }
}
