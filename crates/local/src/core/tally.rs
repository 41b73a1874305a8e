//! [`Tally`]: what a single-thread executor has done so far.

use core::cell::Cell;

use terrace_sync::atomic::{AtomicUsize, Ordering};
use terrace_sync::const_fn;

/// Numbers that grow, and wrap. The owner alone touches all of them but the last.
pub(super) struct Tally {
    /// Tasks that the owner queued as it spawned them.
    pub(super) queued: Cell<usize>,
    /// Tasks that the owner polled as it spawned them.
    pub(super) eager: Cell<usize>,
    /// Tasks whose future has been dropped.
    pub(super) ended: Cell<usize>,
    /// Polls of tasks out of the queue.
    pub(super) polls: Cell<usize>,
    /// Of these, how many there were when the allocator last put its lists in order.
    pub(super) settled: Cell<usize>,
    /// Sleeps of `run` and `tick` futures.
    pub(super) parks: Cell<usize>,
    /// Tasks that other threads spawned.
    remote: AtomicUsize,
}

impl Tally {
    const_fn! {
        pub(super) const fn new() -> Self {
            Self {
                queued: Cell::new(0),
                eager: Cell::new(0),
                ended: Cell::new(0),
                polls: Cell::new(0),
                settled: Cell::new(0),
                parks: Cell::new(0),
                remote: AtomicUsize::new(0),
            }
        }
    }

    /// Another thread is about to queue a task that it made.
    pub(super) fn add_remote(&self) {
        // Ordering: Relaxed. The owner sees the task after the push, which comes later and releases; then it sees the count, too.
        self.remote.fetch_add(1, Ordering::Relaxed);
    }

    /// Another thread's task was not taken in.
    pub(super) fn take_back_remote(&self) {
        // Ordering: Relaxed, as there is no task.
        self.remote.fetch_sub(1, Ordering::Relaxed);
    }

    /// All that were spawned. The owner calls it.
    pub(super) fn spawned(&self) -> usize {
        // Ordering: Relaxed, see `add_remote`.
        let remote = self.remote.load(Ordering::Relaxed);
        remote
            .wrapping_add(self.queued.get())
            .wrapping_add(self.eager.get())
    }
}

/// Adds one.
#[inline]
pub(super) fn bump(counter: &Cell<usize>) {
    counter.set(counter.get().wrapping_add(1));
}
