//! The thread that sits at a worker's place, so that a waker can unpark it.

use std::mem;
use std::task::Waker;

use terrace_sync::atomic::{AtomicBool, AtomicU32, Ordering};
use terrace_sync::cell::UnsafeCell;
use terrace_sync::thread::{self, LastProcessor, Thread};
use terrace_sync::{Mutex, ordering};

use crate::contain::{contain, discard};

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
    /// The last thread that unparked the worker.
    waked: LastProcessor,
    /// The worker when it last fell asleep.
    slept: LastProcessor,
    /// Whether the worker has parked in a poll. From then on no thread holds its place.
    may_be_polled: AtomicBool,
    /// What wakes a worker that is parked in a poll, or else the thread that holds the worker's place and sleeps in a wait. No user code
    /// runs under the lock: wakers are moved in and out.
    waker: Mutex<Option<Waker>>,
    /// Whether the worker has to get up as soon as another thread gives its place back.
    wanted: AtomicBool,
}

// SAFETY: `bind` writes `thread` under `BINDING`, which needs a count of 0. `unpark` reads it under a count, which needs
// `BINDING` clear. `Thread` is Send and Sync.
unsafe impl Sync for Seat {}

impl Seat {
    pub(crate) fn new() -> Self {
        Self {
            gate: AtomicU32::new(0),
            thread: UnsafeCell::new(None),
            waked: LastProcessor::new(),
            slept: LastProcessor::new(),
            may_be_polled: AtomicBool::new(false),
            waker: Mutex::new(None),
            wanted: AtomicBool::new(false),
        }
    }

    /// Whether the worker has ever parked in a poll.
    pub(crate) fn is_polled(&self) -> bool {
        // Ordering: Relaxed, see `park_in_poll`: a thread that has claimed the bit of such a park sees it.
        self.may_be_polled.load(Ordering::Relaxed)
    }

    /// The worker, whose place another thread has, is to get up when it has its place back.
    pub(crate) fn want(&self) {
        // Ordering: Relaxed, the caller's fence orders it.
        self.wanted.store(true, Ordering::Relaxed);
    }

    /// Whether there was such a wish, which is over now.
    pub(crate) fn take_wish(&self) -> bool {
        // Ordering: Relaxed, after the caller's fence.
        self.wanted.load(Ordering::Relaxed) && self.wanted.swap(false, Ordering::Relaxed)
    }

    /// From now on [`unpark`](Self::unpark) wakes `waker`. The worker calls this before it sets its bit, and before it looks at
    /// its bit again.
    pub(crate) fn park_in_poll(&self, waker: Waker) {
        // Ordering: Relaxed. The Release by which the worker sets its bit orders it before each claim of that bit.
        self.may_be_polled.store(true, Ordering::Relaxed);
        self.put_waker(Some(waker));
    }

    /// From now on [`wake`](Self::wake) wakes `waker`, once.
    pub(crate) fn put_waker(&self, waker: Option<Waker>) {
        let old = mem::replace(&mut *self.waker.lock(), waker);
        discard(old);
    }

    /// Wakes the waker, if there is one that has not been woken yet. A panic of it is contained.
    pub(crate) fn wake(&self) -> bool {
        let waker = self.waker.lock().take();
        let Some(waker) = waker else { return false };
        contain(|| waker.wake());
        true
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
        self.waked.is_here()
    }

    /// The worker, which calls this, is about to sleep.
    #[inline]
    pub(crate) fn falls_asleep(&self) {
        self.slept.note();
    }

    /// Whether the worker fell asleep on the processor on which the calling thread is now. False if that is not known.
    #[inline]
    pub(crate) fn slept_here(&self) -> bool {
        self.slept.is_here()
    }

    /// Wakes the worker at this place: its waker if it is parked in a poll, else the thread bound here, unless another
    /// thread takes the place just now. Never waits. A panic of the waker is contained.
    ///
    /// A call that comes late may take the waker of a later park. It wakes that waker then, and the claim of that park finds
    /// none: the worker looks at its bit in the poll that follows.
    pub(crate) fn unpark(&self) {
        if !(self.is_polled() && self.wake()) {
            self.unpark_thread();
        }
    }

    /// Unparks the thread bound here, unless another thread takes the place just now. Never waits.
    pub(crate) fn unpark_thread(&self) {
        // Ordering: Acquire pairs with the Release at the end of `bind`.
        let gate = self
            .gate
            .fetch_add(1, ordering!("park-seat-unpark-acquire", Acquire));
        if gate & BINDING == 0 {
            self.thread.with(|handle| {
                // SAFETY: this waker counted itself in with BINDING clear, so `bind` writes only once the count is 0
                // again.
                if let Some(thread) = unsafe { &*handle } {
                    self.waked.note();
                    thread.unpark();
                }
            });
        }
        // Ordering: Release pairs with the Acquire of the next `bind`.
        self.gate
            .fetch_sub(1, ordering!("park-seat-unpark-release", Release));
    }
}
