//! The threads that wait for a pool without workers, and may drive it.

use super::event::{Event, EventListener};
use terrace_sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The handshake between these waiters and publishers. A waiter counts itself, fences, listens and looks once more. A
/// publisher makes its item visible, fences, and then reads the count.
#[derive(Default)]
pub(crate) struct ExternalWaiters {
    event: Event,
    /// How many there are, raised before they listen.
    count: AtomicUsize,
    /// Whether the pool has no workers and is no longer being shut down: the waiters drive it.
    may_drive: AtomicBool,
}

impl ExternalWaiters {
    /// Wakes up to `count` of them. Called after the fence of a publish.
    #[inline]
    pub(crate) fn notify(&self, count: usize) {
        // Ordering: Relaxed. It pairs with the `fetch_add` in `enter`: the publisher has fenced
        // before this load, the waiter fences after the increment.
        if self.count.load(Ordering::Relaxed) != 0 {
            self.event.notify_additional(count);
        }
    }

    /// Counts a waiter, which then calls `heavy()`, listens, and looks at the pool.
    pub(crate) fn enter(&self) {
        // Ordering: Relaxed. It pairs with the load in `notify`: the waiter's fence orders this
        // increment before its last look.
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// The waiter no longer listens.
    pub(crate) fn leave(&self) {
        // Ordering: Relaxed, a publisher that still reads the old count notifies in vain.
        self.count.fetch_sub(1, Ordering::Relaxed);
    }

    /// A listener for one notification.
    pub(crate) fn listen(&self) -> EventListener {
        self.event.listen()
    }

    /// Whether the waiters drive the pool.
    pub(crate) fn may_drive(&self) -> bool {
        // Ordering: Relaxed, a waiter that reads an old value takes one task more, or reads the announcement that follows.
        self.may_drive.load(Ordering::Relaxed)
    }

    /// From now on the waiters drive the pool, or leave it to its workers.
    pub(crate) fn set_may_drive(&self, may: bool) {
        // Ordering: Relaxed, as in `may_drive`.
        self.may_drive.store(may, Ordering::Relaxed);
    }
}
