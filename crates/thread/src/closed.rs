//! Whether an executor or a thread is gone, for threads that still queue what it would run.
//!
//! Three kinds of runnables may come after the end, when no thread would take them:
//!
//! - of a pool, those of foreign cells. Such a cell knows nothing of the pool. Its waker may be used at any time. It keeps its schedule
//!   function alive, and that keeps the pool's memory;
//! - of a pool, tasks that a `Spawner` spawns. It keeps the pool's memory, not the executor, and its task keeps that memory, too;
//! - of a thread, calls: parts of broadcasts, whose caller keeps the memory, and waits for them.
//!
//! So the thread that queues such a runnable drops it:
//!
//! ```text
//! push:   item; F; closed -> drop what is queued
//! close:  all else is gone; closed; F; drop what is queued
//! ```
//!
//! The later one to fence sees the other. Both may drop: each item leaves a queue once. Not an API; public for the executor and
//! the models.

use terrace_sync::atomic::{AtomicBool, Ordering};
use terrace_sync::{heavy, weakened};

/// Set once, at the end.
#[derive(Default)]
pub struct Closed(AtomicBool);

impl Closed {
    /// Whether it is set; a thread asks after it has queued an item and fenced.
    #[inline]
    pub fn is_set(&self) -> bool {
        // Ordering: Relaxed. The caller's fence pairs with the one in `set`; the queues order what lies in them.
        !weakened!("thread-closed-unseen") && self.0.load(Ordering::Relaxed)
    }

    /// Sets it. The caller then drops what is queued.
    pub fn set(&self) {
        // Ordering: Relaxed, ordered by the fence.
        self.0.store(true, Ordering::Relaxed);
        // Fence pair: `light` in a publish: either the publisher sees the flag, or the caller sees its item.
        if !weakened!("thread-closed-fence") {
            heavy();
        }
    }
}
