//! References to a pool that a worker keeps. They come from tasks that ended on the worker, and go to tasks that it
//! spawns next.
//!
//! A task of a counted executor holds a reference to its pool. All tasks count on one word, which every worker and spawner
//! writes. A cached reference saves its worker a read-modify-write, and the other workers a cache miss.

use std::cell::Cell;

use terrace_sync::Arc;

use crate::tuned::KEPT_REFERENCES;

/// Counted references to one `T`.
pub(crate) struct RefCache<T> {
    /// Out of `Arc::into_raw`, `count` times.
    target: Cell<*const T>,
    count: Cell<usize>,
}

// SAFETY: the cache owns `count` references `Arc<T>`, which are `Send` by this bound. Its cells move with it, and no
// other thread reaches them.
unsafe impl<T: Send + Sync> Send for RefCache<T> {}

impl<T> RefCache<T> {
    /// An empty cache.
    pub(crate) const fn new() -> Self {
        Self {
            target: Cell::new(std::ptr::null()),
            count: Cell::new(0),
        }
    }

    /// Takes a reference out.
    #[inline]
    pub(crate) fn take(&self) -> Option<Arc<T>> {
        let left = self.count.get().checked_sub(1)?;
        self.count.set(left);
        // SAFETY: one of `count` came out of `into_raw`, and is no longer counted here.
        Some(unsafe { Arc::from_raw(self.target.get()) })
    }

    /// Keeps `reference`, always one to the same value.
    #[inline]
    pub(crate) fn keep(&self, reference: Arc<T>) {
        let kept = Arc::into_raw(reference);
        debug_assert!(
            self.count.get() == 0 || std::ptr::eq(kept, self.target.get()),
            "another pool's"
        );
        self.target.set(kept);
        self.count.set(self.count.get() + 1);
        if self.count.get() > KEPT_REFERENCES {
            self.give_back(KEPT_REFERENCES / 2);
        }
    }

    #[cold]
    fn give_back(&self, count: usize) {
        std::iter::from_fn(|| self.take())
            .take(count)
            .for_each(drop);
    }
}

impl<T> Drop for RefCache<T> {
    fn drop(&mut self) {
        self.give_back(KEPT_REFERENCES);
    }
}
