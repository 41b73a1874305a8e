//! The waker of a task.

use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use core::task::{RawWaker, RawWakerVTable, Waker};

use super::Cell;
use crate::biased::State;

/// Each waker has a counted reference, but the one of a poll, which the poll has.
static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, release);

fn raw(cell: Cell) -> RawWaker {
    RawWaker::new(cell.as_ptr().as_ptr(), &VTABLE)
}

/// A waker that has no reference of its own.
#[inline]
pub(super) fn borrowed(cell: Cell) -> ManuallyDrop<Waker> {
    // SAFETY: the functions below are what the contract of `RawWaker` wants; it is not dropped.
    ManuallyDrop::new(unsafe { Waker::from_raw(raw(cell)) })
}

/// # Safety
/// Called through the vtable, with what `raw` put there.
#[inline]
unsafe fn cell(data: *const ()) -> Cell {
    // SAFETY: forwarded to the caller; a cell is not null.
    let pointer = unsafe { NonNull::new_unchecked(data.cast_mut()) };
    // SAFETY: forwarded to the caller; a waker has a reference.
    unsafe { Cell::from_ptr(pointer) }
}

unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: called through the vtable.
    let cell = unsafe { cell(data) };
    if cell.is_home() {
        // SAFETY: at home, with the waker's reference.
        unsafe { cell.state().clone_at_home() };
    } else {
        cell.state().clone_elsewhere();
    }
    raw(cell)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: called through the vtable.
    let cell = unsafe { cell(data) };
    if cell.is_home() {
        // SAFETY: forwarded to the caller.
        unsafe { wake_by_ref(data) };
        // SAFETY: as above; the waker is used up.
        unsafe { release(data) };
        return;
    }
    let step = cell.state().wake_elsewhere(true);
    // SAFETY: the step of this waker, which is used up.
    unsafe { cell.follow(step, false) };
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: called through the vtable.
    let cell = unsafe { cell(data) };
    // SAFETY: called at home.
    let at_home = |state: &State| unsafe { state.wake_at_home() };
    // SAFETY: with the waker's reference.
    unsafe { cell.step(at_home, |state| state.wake_elsewhere(false)) };
}

unsafe fn release(data: *const ()) {
    // SAFETY: called through the vtable.
    let cell = unsafe { cell(data) };
    // SAFETY: called at home.
    let at_home = |state: &State| unsafe { state.release_at_home() };
    // SAFETY: with the waker's reference, which is used up.
    unsafe { cell.step(at_home, State::release_elsewhere) };
}
