//! The thread that sits at a worker's place, so that a waker can unpark it.

use terrace_sync::atomic::{AtomicU32, Ordering};
use terrace_sync::cell::UnsafeCell;
use terrace_sync::ordering;
use terrace_sync::thread::{self, LastProcessor, Thread};

/// Set in `gate` while the owner replaces the handle. The bits below count the wakers that read it.
const BINDING: u32 = 1 << 31;

/// A thread handle that is replaced when a new thread takes the place.
///
/// A thread binds itself before it can set a bit of its worker. So the waker that cleared such a bit finds the handle
/// in place. A waker that finds the gate closed has no thread left to unpark. The thread whose bit it cleared has
/// noticed and left, and another thread takes the place.
pub(crate) struct Seat {
    gate: AtomicU32,
    /// Written only by the thread that moved `gate` from 0 to `BINDING`. Read only by wakers that counted themselves into
    /// `gate` and found `BINDING` clear. No user code runs inside.
    thread: UnsafeCell<Option<Thread>>,
    /// The last waker.
    waker: LastProcessor,
}

// SAFETY: `bind` writes `thread` under `BINDING`, which needs a count of 0. `unpark` reads it under a count, which needs
// `BINDING` clear. `Thread` is Send and Sync.
unsafe impl Sync for Seat {}

impl Seat {
    pub(crate) fn new() -> Self {
        Self {
            gate: AtomicU32::new(0),
            thread: UnsafeCell::new(None),
            waker: LastProcessor::new(),
        }
    }

    /// Makes the calling thread the one that [`unpark`](Self::unpark) wakes. Waits for wakers that read the old handle.
    pub(crate) fn bind(&self) {
        let current = thread::current();
        // Ordering: Acquire pairs with the Release of every `unpark` that read the old handle.
        while self
            .gate
            .compare_exchange(
                0,
                BINDING,
                ordering!("park-seat-bind-acquire", Acquire),
                Ordering::Relaxed,
            )
            .is_err()
        {
            thread::yield_now();
        }
        let old = self.thread.with_mut(|handle| {
            // SAFETY: this thread moved `gate` from 0 to BINDING, so no waker reads and no other thread writes.
            unsafe { (*handle).replace(current) }
        });
        // Ordering: Release pairs with the Acquire in `unpark`. A subtraction, since wakers that
        // came too late may be counting themselves in and out.
        self.gate
            .fetch_sub(BINDING, ordering!("park-seat-bind-release", Release));
        drop(old);
    }

    /// See [`Parker::shares_processor`](crate::Parker::shares_processor).
    #[inline]
    pub(crate) fn shares_processor(&self) -> bool {
        self.waker.is_here()
    }

    /// Unparks the thread bound here, unless another thread takes the place just now. Never waits.
    pub(crate) fn unpark(&self) {
        // Ordering: Acquire pairs with the Release at the end of `bind`.
        let gate = self
            .gate
            .fetch_add(1, ordering!("park-seat-unpark-acquire", Acquire));
        if gate & BINDING == 0 {
            self.thread.with(|handle| {
                // SAFETY: this waker counted itself in with BINDING clear, so `bind` writes only once the count is 0
                // again.
                if let Some(thread) = unsafe { &*handle } {
                    self.waker.note();
                    thread.unpark();
                }
            });
        }
        // Ordering: Release pairs with the Acquire of the next `bind`.
        self.gate
            .fetch_sub(1, ordering!("park-seat-unpark-release", Release));
    }
}
