//! The handle's side.

use core::future::Future;
use core::marker::PhantomData;
use core::num::NonZeroUsize;
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll};

use super::Cell;
use crate::biased::{Joined, State};

/// Set in the address of each handle, so that those on the other cell can be told apart.
pub(crate) const TAG: usize = 1;
const TAG_ALONE: NonZeroUsize = NonZeroUsize::MIN;

/// The handle of a task with outcome `T`. Dropping it cancels the task.
pub(crate) struct Handle<T> {
    /// The cell, tagged, with a counted reference; nothing but the tag when the end was seen and the reference given back.
    address: NonNull<()>,
    _outcome: PhantomData<T>,
}

// SAFETY: the future and its core stay at home; what goes elsewhere is the outcome.
unsafe impl<T: Send> Send for Handle<T> {}
// SAFETY: a shared handle only tells whether the task has ended.
unsafe impl<T> Sync for Handle<T> {}
impl<T> Unpin for Handle<T> {}

impl<T> Handle<T> {
    /// # Safety
    /// The cell's outcome is a `T`, and it has a reference and its handle's part for this.
    #[inline]
    pub(super) unsafe fn new(cell: Cell) -> Self {
        Self {
            address: cell.as_ptr().map_addr(|address| address | TAG),
            _outcome: PhantomData,
        }
    }

    #[inline]
    fn cell(&self) -> Option<Cell> {
        let cell = self.address.as_ptr().map_addr(|address| address & !TAG);
        let cell = NonNull::new(cell)?;
        // SAFETY: made by `new`, and it still has its reference.
        Some(unsafe { Cell::from_ptr(cell) })
    }

    /// Takes the cell, and the reference with it.
    #[inline]
    fn take_cell(&mut self) -> Option<Cell> {
        let cell = self.cell();
        self.address = self.address.map_addr(|_| TAG_ALONE);
        cell
    }

    /// Lets the task run on.
    #[inline]
    pub(crate) fn detach(mut self) {
        self.let_go(true);
    }

    /// Has the future dropped, if the task has not ended. The handle tells when that is done.
    pub(crate) fn cancel(&mut self) {
        let Some(cell) = self.cell() else { return };
        // SAFETY: called at home.
        let at_home = |state: &State| unsafe { state.cancel_at_home() };
        // SAFETY: with the handle's reference.
        unsafe { cell.step(at_home, State::cancel_elsewhere) };
    }

    /// Whether the task has ended. One load.
    #[inline]
    pub(crate) fn is_finished(&self) -> bool {
        self.cell().is_none_or(|cell| cell.state().is_finished())
    }

    #[inline]
    fn let_go(&mut self, detach: bool) {
        let Some(cell) = self.take_cell() else { return };
        // SAFETY: called at home.
        let at_home = |state: &State| unsafe { state.drop_handle_at_home(detach) };
        // SAFETY: with the handle's reference, which is used up unless the task has ended.
        let ended = unsafe { cell.step(at_home, |state| state.drop_handle_elsewhere(detach)) };
        if ended {
            // SAFETY: the task has ended, and the handle has let go of it.
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
            // SAFETY: it is in place.
            let outcome = unsafe { (cell.header().vtable.outcome)(cell.0) };
            // SAFETY: a `T`, and the handle's.
            unsafe { outcome.cast::<T>().read() }
        });
        if cell.state().release_ended() {
            // SAFETY: the last reference to an ended task.
            unsafe { cell.free() };
        }
        outcome
    }
}

impl<T> Future for Handle<T> {
    type Output = Option<T>;

    /// `None` if the task was cancelled, or the outcome was taken before.
    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let Some(cell) = self.cell() else {
            return Poll::Ready(None);
        };
        // SAFETY: this is the handle, which has a reference.
        let joined = unsafe { cell.state().join(context.waker(), cell.is_home()) };
        match joined {
            Joined::Pending(_replaced) => Poll::Pending,
            Joined::Ended(_unused) => {
                self.take_cell();
                // SAFETY: it has ended, and the handle forgets it.
                Poll::Ready(unsafe { Self::take(cell) })
            }
        }
    }
}

impl<T> Drop for Handle<T> {
    #[inline]
    fn drop(&mut self) {
        self.let_go(false);
    }
}
