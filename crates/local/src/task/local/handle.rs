//! [`Handle`]: the handle of a task of one thread.
//!
//! | its word                 | the task                                                                     |
//! |--------------------------|------------------------------------------------------------------------------|
//! | a cell's address, tagged | has that cell                                                                |
//! | [`READY`]                | ended in the call that spawned it: its output is to be taken, and needs no place |
//! | `TAG`                    | has ended, and its outcome was taken                                         |
//! | `TAG` and `CANCELLED`    | was cancelled                                                                |

use core::marker::PhantomData;
use core::ptr::NonNull;
use core::task::{Context, Poll};

use super::cell::{Cell, FRESH_OUTCOME, Header};
use crate::biased::{HandleEnd, Joined, State};
use crate::on_owner::OnOwner;
use crate::task::outcome::{Gone, Outcome};
use crate::unwind::drop_waker;

/// Set in the address of each handle: a handle on async-task's cell has it clear.
pub(crate) const TAG: usize = 1;
/// Set beside it in a handle without a cell whose task was cancelled.
const CANCELLED: usize = 2;
/// The whole word of a handle without a cell whose output [needs no place](needs_no_place).
const READY: usize = TAG | 4;
/// A cell's own address has all of these clear. A handle's word without a cell has nothing else.
pub(crate) const TAGS: usize = TAG | CANCELLED | READY;
const _: () = assert!(align_of::<Header>() > TAGS);

/// What a handle without a cell keeps in place of the address.
#[inline]
fn tags(why: Gone) -> NonNull<()> {
    let tags = match why {
        Gone::Taken => TAG,
        Gone::Cancelled => TAG | CANCELLED,
    };
    // SAFETY: not null, because `TAG` is set.
    unsafe { NonNull::new_unchecked(core::ptr::without_provenance_mut(tags)) }
}

/// The handle of a task with outcome `T`. Dropping it cancels the task.
pub(crate) struct Handle<T> {
    /// The cell, tagged, with a counted reference. Nothing but tags once the handle has seen the end and given the reference
    /// back.
    address: NonNull<()>,
    _outcome: PhantomData<T>,
}

// SAFETY: the future and its core stay on the owner's thread, or are gone since before the handle was made (`Room::finish`). What
// the handle takes to another thread is the outcome.
unsafe impl<T: Send> Send for Handle<T> {}
// SAFETY: a shared handle only says whether the task has ended, out of an atomic.
unsafe impl<T> Sync for Handle<T> {}
impl<T> Unpin for Handle<T> {}

impl<T> Handle<T> {
    /// # Safety
    /// The cell's outcome is a `T`. It counts a reference for this handle, which is its only one.
    #[inline]
    pub(super) unsafe fn new(cell: Cell) -> Self {
        Self {
            address: cell.as_ptr().map_addr(|address| address | TAG),
            _outcome: PhantomData,
        }
    }

    /// The handle of a task that has ended and has no outcome any more.
    #[inline]
    pub(crate) fn empty(why: Gone) -> Self {
        Self {
            address: tags(why),
            _outcome: PhantomData,
        }
    }

    /// Whether the output is to be taken, without a cell.
    #[inline]
    fn is_ready(&self) -> bool {
        self.address.as_ptr().addr() == READY
    }

    /// The handle has seen the end, and there was no outcome.
    #[cold]
    fn was_cancelled(&mut self) {
        self.address = tags(Gone::Cancelled);
    }

    /// Why there is no cell.
    #[cold]
    pub(crate) fn why_empty(&self) -> Gone {
        debug_assert!(self.cell().is_none());
        if self.address.as_ptr().addr() & CANCELLED == 0 {
            Gone::Taken
        } else {
            Gone::Cancelled
        }
    }

    #[inline]
    fn cell(&self) -> Option<Cell> {
        let cell = self.address.as_ptr().map_addr(|address| address & !TAGS);
        let cell = NonNull::new(cell)?;
        // SAFETY: `new` made the address out of a cell's, and the handle still has its reference.
        Some(unsafe { Cell::from_ptr(cell) })
    }

    /// Takes the cell, and the reference with it.
    #[inline]
    fn take_cell(&mut self) -> Option<Cell> {
        let cell = self.cell();
        self.address = tags(Gone::Taken);
        cell
    }

    /// Lets the task run on.
    #[inline]
    pub(crate) fn detach(mut self) {
        self.end(HandleEnd::Detach);
    }

    /// Makes the owner drop the future, if the task has not ended. Polls of the handle say when that is done.
    pub(crate) fn cancel(&mut self) {
        let Some(cell) = self.cell() else { return };
        // SAFETY: both steps keep the handle's reference.
        unsafe { cell.step(|state| state.cancel_local(), State::cancel_remote) };
    }

    /// Whether the task has ended. One load.
    #[inline]
    pub(crate) fn is_finished(&self) -> bool {
        self.cell().is_none_or(|cell| cell.state().is_finished())
    }

    #[inline]
    fn end(&mut self, end: HandleEnd) {
        let Some(cell) = self.take_cell() else { return };
        let local = |state: OnOwner<'_, State>| state.drop_handle_local(end);
        let remote = |state: &State| state.drop_handle_remote(end);
        // SAFETY: the handle has forgotten its reference, which both steps use up unless the task has ended.
        if unsafe { cell.step(local, remote) } {
            // SAFETY: the task has ended, so the step kept the handle's reference.
            drop(unsafe { Self::take(cell) });
        }
    }

    /// The outcome of an ended task, if there is one. Gives back the reference.
    ///
    /// # Safety
    /// The task has ended, and its handle hands over its reference.
    #[inline]
    unsafe fn take(cell: Cell) -> Option<T> {
        let outcome = cell.state().has_outcome().then(|| {
            // SAFETY: the vtable is this cell's, which is in place, so the offset lies in it.
            let outcome = unsafe { cell.0.byte_add(cell.header().vtable.outcome) };
            // SAFETY: `new` was told that it is a `T`, and the handle takes it once, with its reference.
            unsafe { outcome.cast::<T>().read() }
        });
        if cell.state().release_ended() {
            // SAFETY: that was the last reference to an ended task.
            unsafe { cell.free() };
        }
        outcome
    }
}

/// Whether outputs of this type need neither a place nor a destructor: a handle alone says that there is one.
const fn needs_no_place<T>() -> bool {
    size_of::<T>() == 0 && !core::mem::needs_drop::<T>()
}

impl<T> Handle<Outcome<T>> {
    /// The handle of a task with this outcome, if that is an output that [needs no place](needs_no_place).
    ///
    /// # Safety
    /// If there is a handle, the caller forgets the outcome.
    #[inline]
    pub(super) unsafe fn ready(outcome: &Outcome<T>) -> Option<Self> {
        if !needs_no_place::<T>() || !outcome.is_output() {
            return None;
        }
        Some(Self {
            // SAFETY: not null, because `TAG` is set.
            address: unsafe { NonNull::new_unchecked(core::ptr::without_provenance_mut(READY)) },
            _outcome: PhantomData,
        })
    }

    /// The same handle, of a fresh task. It gives the cell back, if the output needs no place.
    ///
    /// # Safety
    /// The task is fresh, and nothing has taken its outcome.
    #[inline]
    pub(super) unsafe fn without_place(self) -> Self {
        let Some(cell) = self.cell().filter(|_| needs_no_place::<T>()) else {
            return self;
        };
        // SAFETY: the outcome of a fresh task lies there.
        let outcome = unsafe { cell.0.byte_add(FRESH_OUTCOME) };
        // SAFETY: `new` was told that it is an outcome, and the handle has it for itself.
        let outcome = unsafe { outcome.cast::<Outcome<T>>().as_ref() };
        // SAFETY: with the cell goes the outcome, unread.
        let Some(ready) = (unsafe { Self::ready(outcome) }) else {
            return self;
        };
        core::mem::forget(self);
        // SAFETY: the task is fresh, and `self` had its only reference.
        unsafe { keep_fresh(cell) };
        ready
    }

    /// The output of [`ready`](Self::ready), once.
    #[inline]
    fn take_ready(&mut self) -> Option<Outcome<T>> {
        if !needs_no_place::<T>() || !self.is_ready() {
            return None;
        }
        self.address = tags(Gone::Taken);
        // SAFETY: `ready` saw a value of this type, which is forgotten, and the handle takes it once. It has no size.
        let output = unsafe { NonNull::dangling().read() };
        Some(Outcome::done(output, || None))
    }

    /// Polls for the end: the outcome if there is one, else [`why_empty`](Self::why_empty) says what happened.
    #[inline]
    pub(crate) fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<Option<Outcome<T>>> {
        let Some(cell) = self.cell() else {
            return Poll::Ready(self.take_ready());
        };
        if !cell.state().is_finished() && !self.join(cell, context) {
            return Poll::Pending;
        }
        self.take_cell();
        // SAFETY: the task has ended, and the handle has forgotten its reference.
        let outcome = unsafe { Self::take(cell) };
        if outcome.is_none() {
            self.was_cancelled();
        }
        Poll::Ready(outcome)
    }

    /// The outcome of a task that ended in the call that spawned it. `None` if it did not, or the handle is empty.
    #[inline]
    pub(crate) fn take_fresh(&mut self) -> Option<Outcome<T>> {
        let Some(cell) = self.cell() else {
            return self.take_ready();
        };
        if !cell.state().is_fresh() {
            return None;
        }
        self.take_cell();
        // SAFETY: the outcome of a fresh task lies there.
        let outcome = unsafe { cell.0.byte_add(FRESH_OUTCOME) };
        // SAFETY: `new` was told that it is an outcome, and the handle takes it once, with its reference.
        let outcome = unsafe { outcome.cast::<Outcome<T>>().read() };
        // SAFETY: the task is fresh, and that was the only reference.
        unsafe { keep_fresh(cell) };
        Some(outcome)
    }
}

/// Keeps the memory of a fresh task for the thread's next one.
///
/// # Safety
/// The caller has the only reference to the cell, and nothing uses its outcome later.
#[inline]
unsafe fn keep_fresh(cell: Cell) {
    // SAFETY: a fresh task's memory is of the class that its vtable names. There is no awaiter, and the rest of the header needs
    // no drop.
    unsafe { cell.header().vtable.class.keep(cell.0.cast()) };
}

impl<T> Handle<T> {
    /// Polls a task that has not ended so far. True if it has now.
    #[inline(never)]
    fn join(&mut self, cell: Cell, context: &mut Context<'_>) -> bool {
        let local = cell.on_owner();
        // SAFETY: this is the task's one handle, and `on_owner` checked the thread.
        let joined = unsafe { cell.state().join(context.waker(), local) };
        match joined {
            Joined::Pending(replaced) => {
                if local.is_some() {
                    // SAFETY: the task has not ended, and only this thread ends it, so its core is in place.
                    let core = unsafe { cell.header().core.as_ref() };
                    // SAFETY: this is the owner's thread, as `on_owner` found.
                    unsafe { OnOwner::assume(core) }.note_awaited();
                }
                drop_waker(replaced);
                false
            }
            Joined::Ended([replaced, clone]) => {
                drop_waker(replaced);
                drop_waker(clone);
                true
            }
        }
    }
}

impl<T> Drop for Handle<T> {
    fn drop(&mut self) {
        self.end(HandleEnd::Cancel);
    }
}
