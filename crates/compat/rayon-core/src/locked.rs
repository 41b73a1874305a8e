//! Locks whose holders run no code of users, and queues under them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex whose holders run no code of users.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A queue under a lock, and a hint beside it.
#[derive(Default)]
pub(crate) struct Locked<Q> {
    queue: Mutex<Q>,
    /// Whether something is queued. Written under the lock.
    is_filled: AtomicBool,
}

/// A queue that can be asked whether something is queued.
pub(crate) trait Len {
    fn is_empty(&self) -> bool;
}

impl<T> Len for VecDeque<T> {
    fn is_empty(&self) -> bool {
        VecDeque::is_empty(self)
    }
}

impl<Q: Len> Locked<Q> {
    /// Calls `f` under the lock.
    pub(crate) fn with<T>(&self, f: impl FnOnce(&mut Q) -> T) -> T {
        let mut queue = lock(&self.queue);
        let result = f(&mut queue);
        // Ordering: Relaxed. A thread that must not miss it has fenced, as has the one that queued.
        self.is_filled.store(!queue.is_empty(), Ordering::Relaxed);
        result
    }

    /// As [`with`](Self::with), if something is queued, as a hint.
    pub(crate) fn if_filled<T>(&self, f: impl FnOnce(&mut Q) -> Option<T>) -> Option<T> {
        if self.is_filled() { self.with(f) } else { None }
    }

    /// Whether something is queued. Valid after a fence.
    pub(crate) fn is_filled(&self) -> bool {
        // Ordering: Relaxed, as in `with`.
        self.is_filled.load(Ordering::Relaxed)
    }
}
