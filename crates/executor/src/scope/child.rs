//! The children of a scope, and their tie to it: a future in a task's cell, and a closure in memory of its own.
//!
//! A future child is a task, which may wait and be woken: see [`Child`]. A closure runs once, so it has no state to change:
//!
//! | a closure child | its memory is used by               | it leaves the state by                             |
//! |-----------------|-------------------------------------|----------------------------------------------------|
//! | queued          | no thread                           | a thread that takes it out of the list             |
//! | called          | no thread: it has been freed        | the end of the closure, which is then counted out  |
//! | dropped         | as above                            | the end of the closure's destructor                |

use std::future::Future;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};

use terrace_local::task::{RawHeader, Runnable};
use terrace_local::{Payload, drop_payload};
use terrace_trace::Mark as Traced;

use crate::parts::scopes::Slot;
use crate::pool::Shared;
use crate::pool::fork::Worker;
use crate::protocol::scope::{Cancel, Mark, Polled, Registered};
use crate::run::fork;

/// A child that has been counted in, and is counted out when dropped.
struct Counted {
    slot: NonNull<Slot<Shared>>,
    number: u32,
}

// SAFETY: `Slot` is `Sync`, so its pointer may go to another thread; `new` promises that the slot stays in place.
unsafe impl Send for Counted {}

impl Counted {
    /// Counts a child of the scope in `slot` in.
    ///
    /// # Safety
    /// The slot is in place, and its scope open, until this child is counted out.
    #[inline]
    unsafe fn new(slot: &Slot<Shared>) -> Self {
        Self {
            slot: NonNull::from(slot),
            number: slot.core.add_child(),
        }
    }

    fn slot(&self) -> &Slot<Shared> {
        // SAFETY: this child has not been counted out before its drop ends, so the scope is open (the promise to `new`).
        unsafe { self.slot.as_ref() }
    }

    fn cancel(&self) -> &Cancel {
        self.slot().core.cancel()
    }

    /// Keeps its panic for the scope to rethrow, and cancels its siblings. What it borrows is no longer used.
    #[cold]
    fn panicked(&self, payload: Payload) {
        if let Some(other) = self.slot().core.store_panic(self.number, payload) {
            // The scope rethrows the panic of one child; the panic hook has reported the others.
            drop_payload(other);
        }
        self.cancel().cancel(self.number);
    }
}

impl Drop for Counted {
    #[inline]
    fn drop(&mut self) {
        // The scope may be gone after this.
        self.slot().child_ended();
    }
}

/// A child's future: dropped in place when it is done or cancelled, and counted out after that.
///
/// | `key`         | the future | registered     |
/// |---------------|------------|----------------|
/// | `NEW`         | alive      | no             |
/// | `ENDED`       | dropped    | no             |
/// | anything else | alive      | under that key |
pub(super) struct Child<F> {
    /// Dropped after `Child` itself, which drops the future.
    counted: Counted,
    future: ManuallyDrop<F>,
    key: u32,
}

const NEW: u32 = u32::MAX;
const ENDED: u32 = u32::MAX - 1;

impl<F> Child<F> {
    /// Counts a child of the scope in `slot` in.
    ///
    /// # Safety
    /// The slot is in place, and its scope open, until this child is counted out.
    #[inline]
    pub(super) unsafe fn new(slot: &Slot<Shared>, future: F) -> Self {
        Self {
            // SAFETY: the caller's promise.
            counted: unsafe { Counted::new(slot) },
            future: ManuallyDrop::new(future),
            key: NEW,
        }
    }

    /// Drops the user's future, which is alive. Returns the panic of its destructor.
    #[cold]
    fn end(&mut self) -> Option<Payload> {
        let key = std::mem::replace(&mut self.key, ENDED);
        let future = &mut self.future;
        let dropped = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: the caller saw that it is alive, and `key` says from now on that it is not, so it is dropped
            // once. It is dropped where it was pinned.
            unsafe { ManuallyDrop::drop(future) }
        }));
        self.deregister(key);
        dropped.err()
    }

    /// Ends a child that no thread is to poll again. It drops a panic of the destructor, which comes after the one that
    /// cancelled the child.
    #[cold]
    fn abandon(&mut self) {
        self.end().into_iter().for_each(drop_payload);
    }

    /// Takes it out of the registry, if it was there under this key.
    #[inline]
    fn deregister(&self, key: u32) {
        if key != NEW {
            self.counted.cancel().deregister(key);
        }
    }

    /// Ends a child that panicked, in its poll or in its destructor, and was registered under this key.
    #[cold]
    fn fail(&mut self, key: u32, payload: Payload) {
        if self.key == ENDED {
            self.deregister(key);
        } else {
            // Of two panics, the child keeps the first.
            self.abandon();
        }
        self.counted.panicked(payload);
    }

    /// Registers the child at its first `Pending`.
    fn register(&mut self, waker: &Waker) -> Mark {
        let Registered { key, mark } = self.counted.cancel().register(waker);
        self.key = key;
        mark
    }

    /// Whether a panic cancelled it.
    #[inline]
    fn is_cancelled(&self) -> bool {
        let polled = if self.key == NEW {
            Polled::Never
        } else {
            Polled::Before
        };
        self.counted.cancel().covers(self.counted.number, polled)
    }
}

impl<F: Future<Output = ()>> Future for Child<F> {
    type Output = ();

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // SAFETY: the future is pinned with `self`: it is polled and dropped in place only.
        let this = unsafe { self.get_unchecked_mut() };
        // The key is not `ENDED`: a task polls no finished future.
        let key = this.key;
        if this.is_cancelled() {
            this.abandon();
            return Poll::Ready(());
        }
        // One catch for the poll and the destructor.
        let caught = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: the future is pinned with `self`, and alive, as the key is not `ENDED`.
            let future = unsafe { Pin::new_unchecked(&mut *this.future) };
            let poll = future.poll(context);
            if poll.is_ready() {
                this.key = ENDED;
                // SAFETY: it has just been polled, so it is alive. `key` now says that it is not, so it is not dropped
                // again. It is dropped where it was pinned.
                unsafe { ManuallyDrop::drop(&mut this.future) };
            }
            poll
        }));
        match caught {
            Ok(Poll::Ready(())) => this.deregister(key),
            Ok(Poll::Pending) if key != NEW || this.register(context.waker()) == Mark::Down => {
                return Poll::Pending;
            }
            Ok(Poll::Pending) => this.abandon(),
            Err(payload) => this.fail(key, payload),
        }
        Poll::Ready(())
    }
}

impl<F> Drop for Child<F> {
    #[inline]
    fn drop(&mut self) {
        if self.key != ENDED {
            // Its executor was dropped.
            if let Some(payload) = self.end() {
                self.counted.panicked(payload);
            }
        }
    }
}

/// The memory of a queued closure.
#[repr(C)]
struct Call<F> {
    /// At the begin: the word in the list is its address.
    header: RawHeader,
    counted: Counted,
    mark: Traced,
    call: F,
}

/// A child of the scope in `slot` that calls `call`, counted in. One allocation.
///
/// # Safety
/// The slot is in place, and its scope open, until this child is counted out. What the closure borrows lives until then.
#[inline]
#[cfg_attr(feature = "timeline", track_caller)]
pub(super) unsafe fn queued_call<F: FnOnce(&Worker) + Send>(
    slot: &Slot<Shared>,
    call: F,
) -> Runnable {
    let job = Box::new(Call {
        header: RawHeader {
            run: run_call::<F>,
            drop: drop_call::<F>,
        },
        // SAFETY: the caller's promise.
        counted: unsafe { Counted::new(slot) },
        mark: Traced::spawned::<F>(),
        call,
    });
    // SAFETY: the header is the first field of a `Call` of this type, as its functions require, and no other code has the box.
    unsafe { Runnable::raw(NonNull::from(Box::leak(job)).cast()) }
}

/// The contents of a job, whose memory is freed.
///
/// # Safety
/// `header` is that of a `Call<F>` out of a box, which is the caller's.
unsafe fn take_call<F>(header: NonNull<RawHeader>) -> Call<F> {
    // SAFETY: the caller's promise.
    *unsafe { Box::from_raw(header.cast::<Call<F>>().as_ptr()) }
}

/// `RawHeader::run` of a [`Call`].
///
/// # Safety
/// As [`take_call`].
unsafe fn run_call<F: FnOnce(&Worker) + Send>(header: NonNull<RawHeader>) {
    // SAFETY: the caller's promise.
    let Call {
        counted,
        mark,
        call,
        ..
    } = unsafe { take_call::<F>(header) };
    let _polling = mark.polls();
    if counted.cancel().covers(counted.number, Polled::Never) {
        return contain(&counted, || drop(call));
    }
    // SAFETY: the scope is open, and borrows its pool.
    let pool = unsafe { &*counted.slot().pool() };
    contain(&counted, || fork::with_worker(pool, call));
}

/// `RawHeader::drop` of a [`Call`].
///
/// # Safety
/// As [`take_call`].
unsafe fn drop_call<F: FnOnce(&Worker) + Send>(header: NonNull<RawHeader>) {
    // SAFETY: the caller's promise.
    let Call { counted, call, .. } = unsafe { take_call::<F>(header) };
    contain(&counted, || drop(call));
}

/// Runs `f`, which calls or drops the closure of a child. Keeps a panic, and cancels the siblings.
#[inline]
fn contain(child: &Counted, f: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        child.panicked(payload);
    }
}
