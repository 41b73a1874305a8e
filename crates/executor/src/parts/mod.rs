//! The parts of a pool. No part knows the pool: the caller of a part passes what that part needs of another one. What all of
//! them use stands here: numbers and flags that a thread reads as hints. An old value makes it early or late, or look in vain.
//!
//! Ordering: Relaxed in all of these. Where a reader has to see one, the accesses are fenced where they are made, or made under a lock.

pub(crate) mod current;
pub(crate) mod forks;
pub(crate) mod injector;
#[cfg(feature = "inspect")]
pub(crate) mod long_polls;
pub(crate) mod pacing;
pub(crate) mod processor;
pub(crate) mod scopes;
pub(crate) mod seat;
pub(crate) mod threads;
pub(crate) mod turns;
pub(crate) mod waiters;

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

    /// Sets a flag that the calling thread alone writes, and returns what it was.
    #[inline]
    pub(crate) fn replace(&self, value: bool) -> bool {
        let before = self.get();
        self.set(value);
        before
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
