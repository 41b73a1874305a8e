//! Who sleeps until something is queued: a list that its owner changes and that anybody, interrupts included, may walk to
//! wake somebody.
//!
//! | state | meaning | owner | anybody |
//! |---|---|---|---|
//! | `AWAKE` | will look at the queues before it sleeps | → `ASLEEP`, [`Sleepers::sleep`] | – |
//! | `ASLEEP` | to be woken | → `AWAKE`, [`Sleepers::wake_up`] | → `AWAKE`, wakes it, [`Sleepers::wake_one`] |
//!
//! A waker is woken where it lies, by reference: nothing is locked, allocated, cloned or dropped by who wakes. The owner
//! alone links and unlinks seats, and frees what it unlinked once nobody walks: a walker counts itself in before its
//! first look at the list, and the owner reads that count after it unlinked, both by read-modify-writes of one word. Of
//! the two, one comes first: either the walker sees the list without the seat, or the owner sees the walker, and keeps
//! the seat until later. Nobody ever waits for a walker.

use alloc::boxed::Box;
use core::mem::ManuallyDrop;
use core::panic::AssertUnwindSafe;
use core::ptr::{self, NonNull};
use core::task::Waker;

use terrace_sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use terrace_sync::cell::UnsafeCell;
use terrace_sync::const_fn;

use crate::unwind::catch_unwind;

const AWAKE: usize = 0;
const ASLEEP: usize = 1;

/// The place of one sleeper, from its first sleep until it leaves.
struct Seat {
    state: AtomicUsize,
    /// The seat made after this one. Written by the owner.
    next: AtomicPtr<Seat>,
    /// The seat unlinked before this one. Owner only.
    unlinked_before: UnsafeCell<*mut Seat>,
    /// Only read while the seat is in the list or somebody might walk it; taken out by `free`.
    waker: UnsafeCell<ManuallyDrop<Waker>>,
}

/// A handle to a seat; the seat is freed by [`Sleepers`].
#[derive(Clone, Copy)]
pub(crate) struct SeatRef(NonNull<Seat>);

/// The sleepers of one thread.
pub(crate) struct Sleepers {
    /// The oldest seat. Written by the owner.
    first: AtomicPtr<Seat>,
    /// Seats that are `ASLEEP`; for a look without a walk.
    asleep: AtomicUsize,
    /// Walks in progress.
    walkers: AtomicUsize,
    /// Seats unlinked and not freed yet. Owner only, for one operation at a time.
    unlinked: UnsafeCell<*mut Seat>,
}

// SAFETY: seats and `unlinked` are changed by the owner's thread only, which the unsafe methods require; the rest is
// atomic, and wakers are Send and Sync.
unsafe impl Send for Sleepers {}
// SAFETY: as above.
unsafe impl Sync for Sleepers {}

impl Sleepers {
    const_fn! {
        pub(crate) const fn new() -> Self {
            Self {
                first: AtomicPtr::new(ptr::null_mut()),
                asleep: AtomicUsize::new(0),
                walkers: AtomicUsize::new(0),
                unlinked: UnsafeCell::new(ptr::null_mut()),
            }
        }
    }

    /// Whether somebody sleeps; valid after a fence. One relaxed load.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        // Ordering: Relaxed, after the fence of the caller, or on the owner's thread.
        self.asleep.load(Ordering::Relaxed) != 0
    }

    /// Announces the sleep of whoever has `seat`, with this waker; gives it a new seat if it has none or one with another
    /// waker. Allocates only then. To be followed by a fence and a last look.
    ///
    /// # Safety
    /// The caller is on the owner's thread; the seat is one of this list's, and awake.
    pub(crate) unsafe fn sleep(&self, seat: &mut Option<SeatRef>, waker: &Waker) -> SeatRef {
        let same = seat.filter(|SeatRef(seat)| {
            // SAFETY: a seat in the list is not freed.
            let seat = unsafe { seat.as_ref() };
            // SAFETY: in the list the waker is only read.
            seat.waker.with(|kept| unsafe { (*kept).will_wake(waker) })
        });
        let taken = match same {
            Some(same) => same,
            None => {
                // The clone is the user's code, and so is the destructor of the old one: both come before all else.
                let waker = waker.clone();
                if let Some(old) = seat.take() {
                    // SAFETY: forwarded to the caller; nobody has this reference any more.
                    unsafe { self.leave(old) };
                }
                // SAFETY: forwarded to the caller.
                unsafe { self.enter(waker) }
            }
        };
        *seat = Some(taken);
        // Ordering: Relaxed, ordered by the fence that follows. A wake that overtakes it wraps the number for a moment.
        self.asleep.fetch_add(1, Ordering::Relaxed);
        // SAFETY: a seat in the list is not freed.
        let taken_ref = unsafe { taken.0.as_ref() };
        // Ordering: Relaxed, as above.
        taken_ref.state.store(ASLEEP, Ordering::Relaxed);
        taken
    }

    /// Makes a seat, at the end of the list.
    ///
    /// # Safety
    /// The caller is on the owner's thread.
    unsafe fn enter(&self, waker: Waker) -> SeatRef {
        let seat = NonNull::from(Box::leak(Box::new(Seat {
            state: AtomicUsize::new(AWAKE),
            next: AtomicPtr::new(ptr::null_mut()),
            unlinked_before: UnsafeCell::new(ptr::null_mut()),
            waker: UnsafeCell::new(ManuallyDrop::new(waker)),
        })));
        // SAFETY: forwarded to the caller.
        let end = unsafe { self.link_before(ptr::null_mut()) };
        // Ordering: Release, pairs with the Acquire of walkers: they see the seat's content.
        end.store(seat.as_ptr(), Ordering::Release);
        SeatRef(seat)
    }

    /// The sleeper is awake. False if somebody has woken it.
    ///
    /// # Safety
    /// The caller is on the owner's thread; the seat is one of this list's.
    pub(crate) unsafe fn wake_up(&self, SeatRef(seat): SeatRef) -> bool {
        // SAFETY: a seat in the list is not freed.
        let seat = unsafe { seat.as_ref() };
        let acquire = if cfg!(terrace_weaken = "local-wake-up-acquire") {
            Ordering::Relaxed
        } else {
            Ordering::Acquire
        };
        // Ordering: Acquire, pairs with the Release in `wake_one`: what the waker queued is seen.
        let slept = seat.state.swap(AWAKE, acquire) == ASLEEP;
        if slept {
            // Ordering: Relaxed; who reads the old value walks in vain.
            self.asleep.fetch_sub(1, Ordering::Relaxed);
        }
        slept
    }

    /// Wakes the sleeper with the oldest seat. Lock-free, and nothing is allocated or freed; the sleeper's waker decides
    /// what else happens.
    pub(crate) fn wake_one(&self) {
        let enter = if cfg!(terrace_weaken = "local-walk-enter-acquire") {
            Ordering::Relaxed
        } else {
            Ordering::Acquire
        };
        let leave = if cfg!(terrace_weaken = "local-walk-leave-release") {
            Ordering::Relaxed
        } else {
            Ordering::Release
        };
        // Ordering: Acquire, pairs with the Release in `free_unlinked`: a seat given up before is not reached.
        self.walkers.fetch_add(1, enter);
        // Ordering: Acquire, pairs with the Release of the link.
        let mut at = self.first.load(Ordering::Acquire);
        while let Some(seat) = NonNull::new(at) {
            // SAFETY: reached through the list while counted as a walker, so it is not freed before the walk ends.
            let seat = unsafe { seat.as_ref() };
            // Ordering: Relaxed, the exchange below decides.
            if seat.state.load(Ordering::Relaxed) == ASLEEP {
                // Ordering: Release, pairs with the Acquire in `wake_up`: what was queued before is seen by a sleeper
                // that leaves instead of following the wake. (Where `light()` is a true fence that does it, too.)
                let claimed = seat.state.compare_exchange(
                    ASLEEP,
                    AWAKE,
                    Ordering::Release,
                    Ordering::Relaxed,
                );
                if claimed.is_ok() {
                    // Ordering: Relaxed, as in `wake_up`.
                    self.asleep.fetch_sub(1, Ordering::Relaxed);
                    // A panic in it must not unwind into whoever woke a task, nor out of a destructor.
                    let woken = catch_unwind(AssertUnwindSafe(|| {
                        // SAFETY: a waker that walkers may reach is only read.
                        seat.waker.with(|waker| unsafe { (*waker).wake_by_ref() });
                    }));
                    if let Err(payload) = woken {
                        crate::drop_payload(payload);
                    }
                    break;
                }
            }
            // Ordering: Acquire, as for `first`.
            at = seat.next.load(Ordering::Acquire);
        }
        // Ordering: Release, pairs with the Acquire in `free_unlinked`: the walk is over before a seat is freed.
        self.walkers.fetch_sub(1, leave);
    }

    /// Gives up an awake seat, and frees what can be freed. Runs destructors of wakers last.
    ///
    /// # Safety
    /// The caller is on the owner's thread; the seat is one of this list's, awake, and not used afterwards.
    pub(crate) unsafe fn leave(&self, SeatRef(seat): SeatRef) {
        // SAFETY: forwarded to the caller.
        let link = unsafe { self.link_before(seat.as_ptr()) };
        // SAFETY: still in the list.
        let left = unsafe { seat.as_ref() };
        // Ordering: Relaxed, the owner wrote it.
        let next = left.next.load(Ordering::Relaxed);
        // Ordering: Release, as the store that it takes over: walkers see the content of the seats behind.
        link.store(next, Ordering::Release);
        self.unlinked.with_mut(|unlinked| {
            // SAFETY: on the owner's thread, for one operation.
            let before = unsafe { unlinked.replace(seat.as_ptr()) };
            // SAFETY: touched on the owner's thread only.
            left.unlinked_before.with_mut(|to| unsafe { *to = before });
        });
        // SAFETY: forwarded to the caller.
        unsafe { self.free_unlinked() };
    }

    /// The link that points at `seat`, null for the end.
    ///
    /// # Safety
    /// The caller is on the owner's thread; the seat is in the list, or null.
    unsafe fn link_before(&self, seat: *mut Seat) -> &AtomicPtr<Seat> {
        let mut link = &self.first;
        loop {
            // Ordering: Relaxed, the owner wrote it.
            let at = link.load(Ordering::Relaxed);
            if at == seat {
                return link;
            }
            // SAFETY: in the list, so not freed; the end comes only where `seat` is null.
            link = unsafe { &(*at).next };
        }
    }

    /// Frees the seats given up, if nobody walks.
    ///
    /// # Safety
    /// The caller is on the owner's thread.
    unsafe fn free_unlinked(&self) {
        // Ordering: Release, pairs with the Acquire of who begins to walk: it sees the list as it is now. Acquire, pairs
        // with the Release of who ended. An exchange, so that the two are steps of one order.
        let walked = self
            .walkers
            .compare_exchange(0, 0, Ordering::AcqRel, Ordering::Relaxed);
        if walked.is_err() && !cfg!(terrace_weaken = "local-free-walked") {
            return;
        }
        let first = self.unlinked.with_mut(|unlinked| {
            // SAFETY: on the owner's thread, for one operation.
            unsafe { unlinked.replace(ptr::null_mut()) }
        });
        // SAFETY: these seats are in no list, and nobody walks who could have reached them.
        unsafe { free(first, |seat| *seat.unlinked_before.get_mut()) };
    }
}

/// Frees a chain of seats. The destructors of wakers, the user's code, run here.
///
/// # Safety
/// They were leaked boxes, and nobody has them.
unsafe fn free(mut at: *mut Seat, next: impl Fn(&mut Seat) -> *mut Seat) {
    while !at.is_null() {
        // SAFETY: forwarded to the caller.
        let mut seat = unsafe { Box::from_raw(at) };
        at = next(&mut seat);
        // An access that loom sees: it must not meet that of a walker.
        let waker = seat.waker.with_mut(|waker| {
            // SAFETY: nobody has the seat.
            let waker = unsafe { &mut *waker };
            // SAFETY: the seat is freed here, so the waker is taken once.
            unsafe { ManuallyDrop::take(waker) }
        });
        drop(waker);
    }
}

impl Drop for Sleepers {
    fn drop(&mut self) {
        let unlinked = *self.unlinked.get_mut();
        // SAFETY: `&mut self` excludes walkers, and whoever held a seat borrowed this list.
        unsafe { free(unlinked, |seat| *seat.unlinked_before.get_mut()) };
        let first = self.first.with_mut(|first| *first);
        // SAFETY: as above.
        unsafe { free(first, |seat| seat.next.with_mut(|next| *next)) };
    }
}
