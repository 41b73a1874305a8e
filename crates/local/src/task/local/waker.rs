//! The waker of a task of one thread.

use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use core::task::{RawWaker, RawWakerVTable, Waker};

use super::cell::Cell;
use crate::biased::{Reference, State};

/// Each waker has a counted reference, except the one of a poll: that lives by the reference of the turn.
static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, release);

fn raw(cell: Cell) -> RawWaker {
    RawWaker::new(cell.as_ptr().as_ptr(), &VTABLE)
}

/// A waker that has no reference of its own.
#[inline]
pub(super) fn borrowed(cell: Cell) -> ManuallyDrop<Waker> {
    // SAFETY: the functions below keep the contract of `RawWaker`. The waker is not dropped, so it gives no reference back.
    ManuallyDrop::new(unsafe { Waker::from_raw(raw(cell)) })
}

/// # Safety
/// Called through the vtable, with what `raw` put there.
#[inline]
unsafe fn cell(data: *const ()) -> Cell {
    // SAFETY: `raw` put the address of a cell there, which is not null.
    let pointer = unsafe { NonNull::new_unchecked(data.cast_mut()) };
    // SAFETY: the waker, or the turn that lent it, has a reference, so the cell is in place.
    unsafe { Cell::from_ptr(pointer) }
}

unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: called through the vtable.
    let cell = unsafe { cell(data) };
    match cell.on_owner() {
        Some(state) => state.clone_local(),
        None => cell.state().clone_remote(),
    }
    raw(cell)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: called through the vtable.
    let cell = unsafe { cell(data) };
    if cell.on_owner().is_some() {
        // SAFETY: called through the vtable, with the waker's reference, which it keeps.
        unsafe { wake_by_ref(data) };
        // SAFETY: called through the vtable, and the waker is used up.
        unsafe { release(data) };
        return;
    }
    let step = cell.state().wake_remote(Reference::UsedUp);
    // SAFETY: this thread has just taken the step, which used the waker's reference up.
    unsafe { cell.follow_remote(step) };
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: called through the vtable.
    let cell = unsafe { cell(data) };
    let remote = |state: &State| state.wake_remote(Reference::Kept);
    // SAFETY: both steps keep the waker's reference.
    unsafe { cell.step(|state| state.wake_local(), remote) };
}

unsafe fn release(data: *const ()) {
    // SAFETY: called through the vtable.
    let cell = unsafe { cell(data) };
    // SAFETY: both steps use the waker's reference up, and the waker is used no more.
    unsafe { cell.step(|state| state.release_local(), State::release_remote) };
}
