//! Which children of a scope no thread polls any more, because a panic cancelled them.
//!
//! A panic raises the mark, then wakes every child that is registered as pending. A child looks at the mark before each
//! poll, and once more when it has registered, which it does at its first `Pending`:
//!
//! ```text
//! panic:  mark; read the registry under its lock; wake all in it
//! child:  first Pending; into the registry under its lock; mark raised -> ends itself
//! ```
//!
//! The second of the two to take the lock sees what the first did before. So a child is queued and sees the mark at its
//! next poll, or is registered and woken, or ends itself.
//!
//! | the child             | mark is down | mark at or before its number | mark behind its number              |
//! |-----------------------|--------------|------------------------------|-------------------------------------|
//! | was never polled      | is polled    | ends unpolled                | is polled; ends if that is `Pending` |
//! | returned `Pending`    | is polled    | ends unpolled                | ends unpolled                       |
//!
//! The mark is the number of the child that panicked, the lowest of several; that of the body is 0. A child that was
//! spawned before the marked one still has its first poll. It may panic, too, on any thread, and then its panic is the
//! one that counts.

use std::task::Waker;

use terrace_local::registry::{Register, Registry};
use terrace_sync::atomic::{AtomicU32, Ordering};
use terrace_sync::weakened;

/// The mark of a scope without panics.
const DOWN: u32 = u32::MAX;

/// Whether a child was polled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Polled {
    /// It was not.
    Never,
    /// It was, and returned `Pending`.
    Before,
}

/// What a child saw of the mark when it had registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// No panic yet: a later one wakes the child.
    Down,
    /// A panic has cancelled the child, and may not wake it. The child ends itself.
    Raised,
}

/// A child's entry among the pending ones.
#[must_use = "the child deregisters with its key"]
pub struct Registered {
    /// The child deregisters under it.
    pub key: u32,
    /// What the child saw then.
    pub mark: Mark,
}

/// The mark of one scope, and its pending children.
pub struct Cancel {
    mark: AtomicU32,
    pending: Registry,
}

impl Cancel {
    pub(super) fn new() -> Self {
        Self {
            mark: AtomicU32::new(DOWN),
            pending: Registry::default(),
        }
    }

    /// For the next scope. No child exists.
    pub(super) fn reset(&self) {
        // Ordering: Relaxed, children learn of it through the push that publishes them.
        self.mark.store(DOWN, Ordering::Relaxed);
    }

    /// Whether no thread is to poll the child with this number (again).
    #[inline]
    pub fn covers(&self, number: u32, polled: Polled) -> bool {
        // Ordering: Relaxed; a child that does not see the mark yet is reached as the module's comment says.
        let mark = self.mark.load(Ordering::Relaxed);
        mark != DOWN && (polled == Polled::Before || number >= mark)
    }

    /// Registers a child at its first `Pending`.
    ///
    /// # Panics
    /// If there are more pending children than keys.
    pub fn register(&self, waker: &Waker) -> Registered {
        // SAFETY: the registry is this scope's and may be used from any thread; its contract is about executors.
        let key = unsafe { self.pending.insert(waker) };
        // Ordering: Relaxed, ordered by the registry's lock, see the module's comment.
        let is_down = self.mark.load(Ordering::Relaxed) == DOWN;
        let mark = if is_down || weakened!("scope-cancel-unasked") {
            Mark::Down
        } else {
            Mark::Raised
        };
        Registered { key, mark }
    }

    /// Takes a child out, before it is counted out.
    pub fn deregister(&self, key: u32) {
        // SAFETY: the registry belongs to this scope and may be used from any thread; its contract
        // is about executors.
        let waker = unsafe { self.pending.remove(key) };
        drop(waker);
    }

    /// Children that have returned `Pending` and have not ended; a hint.
    pub fn waiting(&self) -> usize {
        self.pending.registered()
    }

    /// As [`waiting`](Self::waiting); `None` where it would have to wait for a lock.
    pub fn try_waiting(&self) -> Option<usize> {
        self.pending.try_registered()
    }

    /// Cancels all children but those that were spawned before the one with this `number` and have not been polled yet.
    /// The caller holds a count of the scope.
    #[cold]
    pub fn cancel(&self, number: u32) {
        let number = number.min(DOWN - 1);
        if weakened!("scope-cancel-late") {
            self.pending.wake_all();
        }
        // Ordering: Relaxed, ordered by the registry's lock, see the module's comment.
        let before = self.mark.fetch_min(number, Ordering::Relaxed);
        if before == DOWN && !weakened!("scope-cancel-late") {
            self.pending.wake_all();
        }
    }
}
