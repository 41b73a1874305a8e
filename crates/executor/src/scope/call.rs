//! Closures as children of a scope: raw jobs in memory of their own.
//!
//! | a closure child | its memory is used by               | it leaves the state by                             |
//! |-----------------|-------------------------------------|----------------------------------------------------|
//! | queued          | no thread                           | a thread that takes it out of the list             |
//! | called          | no thread: it has been freed        | the end of the closure, which is then counted out  |
//! | dropped         | as above                            | the end of the closure's destructor                |
//!
//! A future child is a task, which may wait and be woken. A closure runs once, so it has no state to change.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use terrace_local::task::{RawHeader, Runnable};
use terrace_trace::Mark;

use crate::parts::scope_slot::Slot;
use crate::pool::fork::worker::Worker;
use crate::pool::shared::Shared;
use crate::protocol::scope::cancel::Polled;
use crate::run::fork;

/// The memory of a queued closure.
#[repr(C)]
struct Call<F> {
    /// At the begin: the word in the list is its address.
    header: RawHeader,
    child: Counted,
    mark: Mark,
    call: F,
}

/// A child that has been counted in, and is counted out when dropped.
struct Counted {
    slot: NonNull<Slot<Shared>>,
    number: u32,
}

impl Counted {
    fn slot(&self) -> &Slot<Shared> {
        // SAFETY: this child has not been counted out before its drop ends, so the scope is open (the promise to `queued`).
        unsafe { self.slot.as_ref() }
    }

    /// Runs `f`, which calls or drops the closure. Keeps a panic, and cancels the siblings.
    #[inline]
    fn contain(&self, f: impl FnOnce()) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
            self.slot().child_panicked(self.number, payload);
        }
    }
}

impl Drop for Counted {
    #[inline]
    fn drop(&mut self) {
        // The scope may be gone after this.
        self.slot().child_ended();
    }
}

/// A child of the scope in `slot` that calls `call`, counted in. One allocation.
///
/// # Safety
/// The slot is in place, and its scope open, until this child is counted out. What the closure borrows lives until then.
#[inline]
#[cfg_attr(feature = "timeline", track_caller)]
pub(super) unsafe fn queued<F: FnOnce(&Worker) + Send>(slot: &Slot<Shared>, call: F) -> Runnable {
    let job = Box::new(Call {
        header: RawHeader {
            run: run::<F>,
            drop: drop_unrun::<F>,
        },
        child: Counted {
            slot: NonNull::from(slot),
            number: slot.core().add_child(),
        },
        mark: Mark::spawned::<F>(),
        call,
    });
    // SAFETY: the header is the first field of a `Call` of this type, as its functions require, and no other code has the box.
    unsafe { Runnable::raw(NonNull::from(Box::leak(job)).cast()) }
}

/// The contents of a job, whose memory is freed.
///
/// # Safety
/// `header` is that of a `Call<F>` out of a box, which is the caller's.
unsafe fn take<F>(header: NonNull<RawHeader>) -> Call<F> {
    // SAFETY: the caller's promise.
    *unsafe { Box::from_raw(header.cast::<Call<F>>().as_ptr()) }
}

/// `RawHeader::run` of a [`Call`].
///
/// # Safety
/// As [`take`].
unsafe fn run<F: FnOnce(&Worker) + Send>(header: NonNull<RawHeader>) {
    // SAFETY: the caller's promise.
    let Call {
        child, mark, call, ..
    } = unsafe { take::<F>(header) };
    let slot = child.slot();
    let _polling = mark.polls();
    if slot.core().cancel().covers(child.number, Polled::Never) {
        return child.contain(|| drop(call));
    }
    // SAFETY: the scope is open, and borrows its pool.
    let pool = unsafe { &*slot.pool() };
    child.contain(|| fork::with_worker(pool, call));
}

/// `RawHeader::drop` of a [`Call`].
///
/// # Safety
/// As [`take`].
unsafe fn drop_unrun<F: FnOnce(&Worker) + Send>(header: NonNull<RawHeader>) {
    // SAFETY: the caller's promise.
    let Call { child, call, .. } = unsafe { take::<F>(header) };
    child.contain(|| drop(call));
}
