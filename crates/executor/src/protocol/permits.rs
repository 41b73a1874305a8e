//! How many background tasks may run at once: permits, and the handshake between a push that finds none and a thread that
//! gives one back.
//!
//! The caller owns the queue: both sides pass what they know of it. Not an API; public for its models.

use terrace_sync::atomic::{AtomicUsize, Ordering};
use terrace_sync::{light, weakened};

use super::publish::Publish;

/// Permits that are taken. The caller passes how many there are at each call, since the number
/// changes with the pool.
#[derive(Default)]
pub struct Permits {
    taken: AtomicUsize,
}

impl Permits {
    /// Whether fewer than `permits` are taken. Valid after a fence.
    #[inline]
    pub fn is_free(&self, permits: usize) -> bool {
        // Ordering: Relaxed, after the caller's fence.
        self.taken.load(Ordering::Relaxed) < permits
    }

    /// Takes one, unless `permits` are taken.
    pub fn take(&self, permits: usize) -> bool {
        // Ordering: Relaxed, a count; the queue's own Release and Acquire carry the task.
        self.taken
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| {
                (taken < permits).then_some(taken + 1)
            })
            .is_ok()
    }

    /// Takes one in any case.
    pub fn take_anyway(&self) {
        // Ordering: Relaxed, a count, as in `take`.
        self.taken.fetch_add(1, Ordering::Relaxed);
    }

    /// Gives one back. The caller then looks at the queue and publishes what it finds, if a permit is free.
    pub fn give_back(&self) {
        // Ordering: Relaxed, ordered by the fence.
        let taken = self.taken.fetch_sub(1, Ordering::Relaxed);
        debug_assert!(
            taken > 0,
            "a permit was given back that no thread had taken"
        );
        // Fence pair: the one in `after_push`: either that sees the permit, or the caller sees the item.
        if !weakened!("executor-permit-back-fence") {
            light();
        }
    }

    /// Called after an item was queued. [`Publish::Later`] leaves the item to the thread that gives a permit back.
    pub fn after_push(&self, permits: usize) -> Publish {
        // Fence pair: the one in `give_back`.
        if !weakened!("executor-permit-push-fence") {
            light();
        }
        if self.is_free(permits) {
            Publish::Now
        } else {
            Publish::Later
        }
    }
}
