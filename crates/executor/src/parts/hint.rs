//! Numbers and flags that a thread reads as hints: an old value makes it early or late, or look in vain.
//!
//! Ordering: Relaxed in all of them. Where a reader has to see one, the accesses are fenced where they are made, or made under a lock.

use terrace_sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A flag.
#[derive(Debug, Default)]
pub(crate) struct Flag(AtomicBool);

impl Flag {
    #[inline]
    pub(crate) fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn set(&self, value: bool) {
        self.0.store(value, Ordering::Relaxed);
    }
}

/// How many there are, counted by any thread.
#[derive(Debug, Default)]
pub(crate) struct Level(AtomicUsize);

impl Level {
    #[inline]
    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn rise(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn fall(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
