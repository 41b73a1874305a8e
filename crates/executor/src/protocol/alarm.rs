//! Whether the watch looks after a pool, because a publish found all of its workers awake.
//!
//! An awake worker mostly takes a published item when its current task returns. A worker that blocks its thread does
//! not. Perhaps no other worker looks either: its peers may be blocked, too, or wait for an event of their own. So such
//! a publish raises the pool's alarm. From then on the watch (`parts::watch`) looks at the pool, until the pool has
//! been calm for a while.
//!
//! ```text
//! publish:  item; F; no worker sleeps or searches -> alarm down -> raise it; raised by me -> tell the watch
//! searcher: token back; no worker sleeps and alarm down -> F; something takeable -> as a publish
//! watch:    calm for long -> alarm down; F; something takeable -> raise it again, unless a publisher has
//! ```
//!
//! Of a publish and the watch that leaves, the later to fence sees the other. Not an API; public for its models.

use terrace_sync::atomic::{AtomicBool, Ordering};
use terrace_sync::{heavy, weakened};

/// The alarm of one pool.
pub struct Alarm(AtomicBool);

impl Alarm {
    /// Raised or not. A pool without workers keeps it raised: the watch cannot help it.
    #[must_use]
    pub fn new(raised: bool) -> Self {
        Self(AtomicBool::new(raised))
    }

    /// Whether it is raised; valid after a fence.
    #[inline]
    pub fn is_raised(&self) -> bool {
        // Ordering: Relaxed. The caller's fence pairs with the one in `lower`; the list of the
        // watch has a lock.
        self.0.load(Ordering::Relaxed)
    }

    /// Raises it. True if the caller raised it, and so has to tell the watch.
    #[must_use = "the watch has to be told"]
    pub fn raise(&self) -> bool {
        // Ordering: Relaxed, as in `is_raised`.
        !self.0.swap(true, Ordering::Relaxed)
    }

    /// For a pool that has got its first worker.
    pub fn reset(&self) {
        // Ordering: Relaxed; the workers that are being started look at everything before they sleep.
        self.0.store(false, Ordering::Relaxed);
    }

    /// The watch is going to leave; whether it may. `look` tells whether anything is takeable.
    #[must_use = "else the watch has to stay"]
    pub fn lower(&self, look: impl FnOnce() -> bool) -> bool {
        // Ordering: Relaxed, ordered by the fence.
        self.0.store(false, Ordering::Relaxed);
        // Fence pair: `light` in a publish: either it sees the alarm down, or `look` sees its item.
        if !weakened!("executor-alarm-fence") {
            heavy();
        }
        // A publisher that has raised it since has told the watch anew.
        !look() || !self.raise()
    }
}
