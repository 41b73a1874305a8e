//! The cell of tasks that live on one thread: a [`State`] instead of async-task's word, so that at home read-modify-writes are
//! few: the end of a task that somebody waits for, mostly the first poll of its handle, and what comes from elsewhere.
//!
//! Only [`LocalCore`] has such tasks: what makes the count of home plain is that each future is dropped at home, where its
//! core closes, see `crate::biased`.

mod cell;
mod handle;
mod waker;

pub(crate) use self::cell::build;
pub(crate) use self::handle::{Handle, TAG};

use core::ptr::NonNull;
use core::task::Context;

use terrace_queue::Link;

use super::Item;
use super::core::contain;
use crate::LocalCore;
use crate::biased::{Arrival, Pended, State, Step};
use crate::thread_id::{ThreadNumber, thread_id};

/// What all cells begin with.
pub(crate) struct Header {
    state: State,
    /// The number of the home thread. The core knows it, too, and may be gone when a waker asks.
    home: ThreadNumber,
    /// In place as long as the future is, and until an item of this task that is under way has arrived.
    core: NonNull<LocalCore>,
    vtable: &'static VTable,
    /// For the inbox.
    link: Link,
}

/// What depends on the type of the future.
struct VTable {
    /// Polls the future; true if that ended it and left an outcome in its place. Unwinds only if it could not register.
    poll: unsafe fn(NonNull<Header>, &mut Context<'_>) -> bool,
    /// Drops the future. Does not unwind.
    abandon: unsafe fn(NonNull<Header>),
    /// Where the outcome is.
    outcome: unsafe fn(NonNull<Header>) -> NonNull<()>,
    /// Drops the outcome. Does not unwind.
    discard: unsafe fn(NonNull<Header>),
    /// Frees the cell, which has neither any more.
    free: unsafe fn(NonNull<Header>),
}

/// A pointer to a cell. Who has one has a counted reference, or lives by somebody else's: the cell is in place, and what the
/// methods below say "hands over" is that reference.
#[derive(Clone, Copy)]
pub(crate) struct Cell(NonNull<Header>);

impl Cell {
    #[inline]
    fn header(&self) -> &Header {
        // SAFETY: in place, the type's invariant.
        unsafe { self.0.as_ref() }
    }

    #[inline]
    fn state(&self) -> &State {
        &self.header().state
    }

    /// Whether this is the home thread.
    #[inline]
    fn is_home(self) -> bool {
        self.header().home == thread_id()
    }

    #[inline]
    pub(crate) fn as_ptr(self) -> NonNull<()> {
        self.0.cast()
    }

    /// # Safety
    /// It came out of `as_ptr`, and the cell is in place for as long as the result is used.
    #[inline]
    pub(crate) unsafe fn from_ptr(pointer: NonNull<()>) -> Self {
        Self(pointer.cast())
    }

    /// The link, for an item in an inbox.
    #[inline]
    pub(crate) fn link(&self) -> NonNull<Link> {
        NonNull::from(&self.header().link)
    }

    /// Takes a step, the one for this thread, and does what it asks for. True if the task had ended, where that makes a
    /// difference: [`Step::Ended`].
    ///
    /// # Safety
    /// The caller has the reference that the step needs, and hands it over if the step uses it up.
    #[inline]
    unsafe fn step(
        self,
        at_home: impl FnOnce(&State) -> Step,
        elsewhere: impl FnOnce(&State) -> Step,
    ) -> bool {
        let home = self.is_home();
        let step = if home {
            at_home(self.state())
        } else {
            elsewhere(self.state())
        };
        // SAFETY: just taken, with the caller's reference.
        unsafe { self.follow(step, home) };
        step == Step::Ended
    }

    /// Does what a step at home, or elsewhere, asks for.
    ///
    /// # Safety
    /// The step was just taken, with a reference that it may have used up; `home` says whether at home.
    #[inline]
    unsafe fn follow(self, step: Step, home: bool) {
        match step {
            Step::Nothing | Step::Ended => {}
            Step::Queue => {
                // The item has a reference.
                let (core, item) = (self.header().core, Item::of(self));
                if home {
                    // SAFETY: this is the home thread, and the future is alive, so the core is in place.
                    unsafe { LocalCore::schedule_here(core, item) };
                } else {
                    // SAFETY: the core is in place until this item has arrived, and a close waits for the push to leave.
                    unsafe { LocalCore::schedule_from_elsewhere(core, item) };
                }
            }
            // SAFETY: that was the last reference to an ended task.
            Step::Free => unsafe { self.free() },
        }
    }

    /// # Safety
    /// Nobody else has a reference, and the future and the outcome are gone.
    #[inline]
    unsafe fn free(self) {
        // SAFETY: forwarded to the caller.
        unsafe { (self.header().vtable.free)(self.0) };
    }

    /// An item has come out of the inbox of the task's core: returns it if it is for the run queue.
    ///
    /// # Safety
    /// This is the home thread, and the item hands over its reference.
    pub(crate) unsafe fn arrive(self) -> Option<Self> {
        // With the reference the cell may go.
        let core = self.header().core;
        // SAFETY: forwarded to the caller.
        match unsafe { self.state().arrive() } {
            Arrival::Queue => return Some(self),
            Arrival::Nothing => {}
            Arrival::Ended(last) => {
                // SAFETY: the core stayed for this item.
                let mailbox = &unsafe { core.as_ref() }.mailbox;
                // SAFETY: this is its owner's thread.
                unsafe { mailbox.item_arrived() };
                if last {
                    // SAFETY: the last reference to an ended task.
                    unsafe { self.free() };
                }
            }
        }
        None
    }

    /// Polls an item of the run queue, which hands over its reference.
    ///
    /// # Safety
    /// This is the home thread, and the task's core is in place.
    #[inline]
    pub(crate) unsafe fn run(self) {
        // SAFETY: forwarded to the caller.
        if !unsafe { self.state().start() } {
            // SAFETY: as above; the future has not been dropped.
            return unsafe { self.abandon() };
        }
        let waker = waker::borrowed(self);
        let context = &mut Context::from_waker(&waker);
        let unwound = Unwound(self);
        // SAFETY: as above.
        let ended = unsafe { (self.header().vtable.poll)(self.0, context) };
        core::mem::forget(unwound);
        if ended {
            // SAFETY: it was started, and the future has left an outcome.
            return unsafe { self.finish(true) };
        }
        // SAFETY: this is the home thread, and the poll has a reference.
        match unsafe { self.state().pend() } {
            Pended::Wait => {}
            // SAFETY: as above.
            Pended::Queue => unsafe { self.follow(Step::Queue, true) },
            // SAFETY: as above; the future has not been dropped.
            Pended::Abandon => unsafe { self.abandon() },
        }
    }

    /// Drops the future of an item of the run queue, which hands over its reference.
    ///
    /// # Safety
    /// As for `run`.
    #[cold]
    pub(crate) unsafe fn cancel(self) {
        // Whether it was cancelled before makes no difference.
        // SAFETY: forwarded to the caller.
        let _cancelled = unsafe { self.state().start() };
        // SAFETY: as above; the future has not been dropped.
        unsafe { self.abandon() };
    }

    /// # Safety
    /// This is the home thread, the task's core is in place, and the task was started and hands over the poll's reference;
    /// the future has not been dropped.
    #[cold]
    unsafe fn abandon(self) {
        // SAFETY: forwarded to the caller.
        unsafe { (self.header().vtable.abandon)(self.0) };
        // SAFETY: as above; the future has been dropped now.
        unsafe { self.finish(false) };
    }

    /// The future is gone: tells the handle.
    ///
    /// # Safety
    /// As for `abandon`, but that the future has been dropped, and left an outcome if `outcome` says so.
    #[inline]
    unsafe fn finish(self, outcome: bool) {
        let core = self.header().core;
        // SAFETY: forwarded to the caller.
        let finished = unsafe { self.state().finish(outcome) };
        if finished.pushing {
            // SAFETY: in place, forwarded to the caller.
            let mailbox = &unsafe { core.as_ref() }.mailbox;
            // SAFETY: this is its owner's thread.
            unsafe { mailbox.await_item() };
        }
        if !(finished.alone || finished.held) {
            return;
        }
        if finished.discard {
            // SAFETY: the outcome is there and nobody else's.
            unsafe { (self.header().vtable.discard)(self.0) };
        }
        if finished.awaited {
            // SAFETY: `awaited`.
            let awaiter = unsafe { self.state().take_awaiter() };
            if let Some(awaiter) = awaiter {
                contain(|| awaiter.wake());
            }
        }
        if finished.alone || self.state().release_ended() {
            // SAFETY: the last reference to an ended task.
            unsafe { self.free() };
        }
    }

    /// Drops a task that could not be queued, where nobody knows of it but the caller, who has its handle.
    ///
    /// # Safety
    /// As just said; its future may be dropped here.
    #[cold]
    pub(crate) unsafe fn reject(self) {
        // SAFETY: forwarded to the caller.
        unsafe { (self.header().vtable.abandon)(self.0) };
        // SAFETY: as above: the item and the handle are the only references.
        unsafe { self.state().reject() };
    }
}

/// The poll of a task that unwinds: its future is dropped.
struct Unwound(Cell);

impl Drop for Unwound {
    #[cold]
    fn drop(&mut self) {
        // SAFETY: made for a poll, which ends here.
        unsafe { self.0.abandon() };
    }
}
