//! Whether an executor is gone, for threads that still queue tasks: of foreign cells, or by a spawner.
//!
//! The tasks of a pool's own cells end with the pool, so no thread wakes one afterwards. A foreign cell knows nothing of the
//! pool. Its waker may be used at any time, and then a runnable comes that no thread would take. It keeps its schedule function
//! alive, and that keeps the pool. A `Spawner` keeps the pool's memory, not the executor, and its task keeps that
//! memory, too. So the thread that queues such a runnable drops it:
//!
//! ```text
//! push:   item; F; closed -> drop what is queued
//! close:  the pool's tasks are gone; closed; F; drop what is queued
//! ```
//!
//! The later one to fence sees the other. Both may drop: each item leaves a queue once. Not an API; public for its models.

use terrace_sync::atomic::{AtomicBool, Ordering};
use terrace_sync::{heavy, weakened};

/// Set once, at the end.
#[derive(Default)]
pub struct Closed(AtomicBool);

impl Closed {
    /// Not set.
    #[must_use]
    pub fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Whether it is set; a thread asks after it has queued an item and fenced.
    #[inline]
    pub fn is_set(&self) -> bool {
        // Ordering: Relaxed. The caller's fence pairs with the one in `set`; the queues order what lies in them.
        !weakened!("executor-closed-unseen") && self.0.load(Ordering::Relaxed)
    }

    /// Sets it. The caller then drops what is queued.
    pub fn set(&self) {
        // Ordering: Relaxed, ordered by the fence.
        self.0.store(true, Ordering::Relaxed);
        // Fence pair: `light` in a publish: either the publisher sees the flag, or the caller sees its item.
        if !weakened!("executor-closed-fence") {
            heavy();
        }
    }
}
