//! One turn of a task on its owner's thread: an item arrives, the owner polls the task or drops its future, and follows up.

use core::ptr::NonNull;
use core::task::Context;

use super::cell::{Cell, Item, ItemLinks, LocalCore, lent_waker};
use crate::biased::{Arrival, Left, Pended, Step};
use crate::mailbox::{Arrived, Queueable};
use crate::on_owner::OnOwner;
use crate::unwind::contain;

impl Item {
    /// Polls the task, or drops its future if it was cancelled.
    ///
    /// # Safety
    /// The item came out of the run queue of `core`.
    #[inline]
    pub(crate) unsafe fn run(self, core: OnOwner<'_, LocalCore>) {
        let cell = self.into_cell();
        debug_assert_eq!(cell.header().core, NonNull::from(core.get()));
        // SAFETY: `core` proves that this is the owner's thread.
        if !unsafe { cell.owned() }.start() {
            // SAFETY: `core` proves the thread, and is in place. This turn has just started, with the item's reference, and the
            // future has not been dropped.
            return unsafe { cell.abandon() };
        }
        core.count_poll();
        let waker = lent_waker(cell);
        let context = &mut Context::from_waker(&waker);
        let polling = cell.header().mark.polls();
        // SAFETY: the vtable is this cell's. This is the owner's thread, and a task that was to be polled has its future.
        let ended = unsafe { (cell.header().vtable.poll)(cell.0, context) };
        drop(polling);
        // SAFETY: `core` proves the thread, and is in place. This turn polled the future, and `ended` says what that has left.
        unsafe { cell.after_poll(ended) };
    }

    /// Drops a task that no queue took.
    ///
    /// # Safety
    /// The caller has just made the task and has its handle, and no other thread knows of it. Its future may be dropped here.
    #[cold]
    pub(crate) unsafe fn reject(self) {
        let cell = self.into_cell();
        // SAFETY: the vtable is this cell's. The future is there, and may be dropped here.
        unsafe { (cell.header().vtable.abandon)(cell.0) };
        // SAFETY: the item and the handle are the only references, and both are on this thread.
        unsafe { cell.state().reject() };
    }
}

impl Drop for Item {
    fn drop(&mut self) {
        let cell = self.0;
        // The future is dropped whether the task was cancelled before or not.
        // SAFETY: the close of the core drops items, and nothing else does. It is called on the owner's thread.
        let _cancelled = unsafe { cell.owned() }.start();
        // SAFETY: the core is in place until its close returns. This turn has just started, with the item's reference, and a
        // queued task has its future.
        unsafe { cell.abandon() };
    }
}

impl Queueable for Item {
    type Links = ItemLinks;

    #[inline]
    unsafe fn arrive(self) -> Arrived<Self> {
        let cell = self.into_cell();
        // SAFETY: the caller says that this is the owner's thread.
        match unsafe { cell.owned() }.arrive() {
            Arrival::Queue => Arrived::Queue(Self::of(cell)),
            Arrival::Nothing => Arrived::UsedUp,
            Arrival::Ended(step) => {
                if step == Step::Free {
                    // SAFETY: that was the last reference to an ended task.
                    unsafe { cell.free() };
                }
                Arrived::Awaited
            }
        }
    }
}

impl Cell {
    /// Follows the first poll of a task that this thread spawns eagerly, in memory `of_class` or not. True if the task is
    /// [fresh](crate::biased::State::is_fresh) now.
    ///
    /// # Safety
    /// As [`after_poll`](Self::after_poll), of a new task whose handle the caller has.
    #[inline]
    pub(super) unsafe fn after_poll_at_spawn(self, of_class: bool, ended: bool) -> bool {
        // SAFETY: the caller says that this is the owner's thread.
        if ended && unsafe { self.owned() }.finish_at_spawn(of_class) {
            return of_class;
        }
        // SAFETY: the caller's promises hold, and `ended` says whether the poll has left an outcome.
        unsafe { self.after_first_poll(ended) };
        false
    }

    /// [`after_poll`](Self::after_poll), once for all types of futures.
    ///
    /// # Safety
    /// As there.
    #[inline(never)]
    unsafe fn after_first_poll(self, ended: bool) {
        // SAFETY: the caller promises the same.
        unsafe { self.after_poll(ended) };
    }

    /// Follows a poll.
    ///
    /// # Safety
    /// This is the owner's thread, and the core is in place. A turn of the task has started, hands over its reference, and
    /// polled the future. That has been dropped and left an outcome if it has `ended`; else it has not been dropped.
    #[inline(always)]
    unsafe fn after_poll(self, ended: bool) {
        if ended {
            // SAFETY: the caller's promises hold.
            return unsafe { self.finish(Left::Outcome) };
        }
        // SAFETY: the caller says that this is the owner's thread.
        match unsafe { self.owned() }.pend() {
            Pended::Wait => {}
            // SAFETY: a step of the owner, whose item takes over the turn's reference.
            Pended::Queue => unsafe { self.queue_again() },
            // SAFETY: the caller's promises hold, and the future has not been dropped.
            Pended::Abandon => unsafe { self.abandon() },
        }
    }

    /// Drops the future, and ends the task.
    ///
    /// # Safety
    /// This is the owner's thread, and the core is in place. A turn of the task has started and hands over its reference. The
    /// future has not been dropped.
    #[cold]
    unsafe fn abandon(self) {
        // SAFETY: the vtable is this cell's. The caller says that this is the owner's thread and the future is there.
        unsafe { (self.header().vtable.abandon)(self.0) };
        // SAFETY: the caller's promises hold, and the line above dropped the future.
        unsafe { self.finish(Left::Nothing) };
    }

    /// The future is gone: tells the handle.
    ///
    /// # Safety
    /// This is the owner's thread, and the core is in place. A turn of the task has started and hands over its reference. The
    /// future has been dropped, and `left` says whether its outcome is there.
    #[inline(always)]
    unsafe fn finish(self, left: Left) {
        // With its reference the cell may go.
        // SAFETY: the caller says that this is the owner's thread, and that the core is in place.
        let core = unsafe { self.core() };
        // SAFETY: the caller says that this is the owner's thread.
        let finished = unsafe { self.owned() }.finish(left);
        if finished.pushing {
            core.mailbox().await_item();
        }
        if !(finished.alone || finished.held) {
            return;
        }
        if finished.discard {
            // SAFETY: the vtable is this cell's. The outcome is there, and no handle will take it.
            unsafe { (self.header().vtable.discard)(self.0) };
        }
        if finished.awaited {
            // SAFETY: `awaited` hands the awaiter to this thread.
            let awaiter = unsafe { self.state().take_awaiter() };
            if let Some(awaiter) = awaiter {
                contain(|| awaiter.wake());
            }
        }
        if finished.alone || self.state().release_ended() {
            // SAFETY: that was the last reference to an ended task.
            unsafe { self.free() };
        }
    }
}
