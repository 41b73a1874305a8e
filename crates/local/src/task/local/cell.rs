//! [`Cell`], a pointer to a task of one thread; [`Item`], the same in a queue; its wakers; and a turn: an item arrives, the owner polls the
//! task or drops its future, and follows up.

use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use core::task::{Context, RawWaker, RawWakerVTable, Waker};

use terrace_queue::{Link, Links};
use terrace_trace::Mark;

use crate::biased::{Arrival, Left, Pended, Reference, Side, State, Step};
use crate::cells::Class;
use crate::core::CoreOf;
use crate::mailbox::{Arrived, Queueable};
use crate::on_owner::OnOwner;
use crate::thread_id::{ThreadNumber, thread_id};
use crate::unwind::contain;

/// What a single-thread executor, its tasks and its spawners share.
pub type LocalCore = CoreOf<Item>;

/// What all cells begin with. The alignment leaves the lowest bits of an address to the tags of handles.
#[repr(align(8))]
pub(crate) struct Header {
    pub(crate) state: State,
    /// The number of the owner's thread. The core has it, too, and may be gone when a waker asks.
    pub(crate) owner: ThreadNumber,
    /// In place as long as the future is, and until an item of this task that another thread pushes has arrived.
    pub(crate) core: NonNull<LocalCore>,
    pub(crate) vtable: &'static VTable,
    /// For the inbox.
    pub(crate) link: Link,
    pub(crate) mark: Mark,
}

/// Where the outcome of a fresh task is, from the begin of its cell in bytes.
pub(crate) const FRESH_OUTCOME: usize = size_of::<Header>();

/// What depends on the type of the future.
pub(crate) struct VTable {
    /// Polls the future. True if that ended it, and left an outcome in its place. Does not unwind.
    pub(crate) poll: unsafe fn(NonNull<Header>, &mut Context<'_>) -> bool,
    /// Drops the future. Does not unwind.
    pub(crate) abandon: unsafe fn(NonNull<Header>),
    /// Of the memory of a cell that may become fresh.
    pub(crate) class: Class,
    /// Where the outcome is, from the begin of the cell in bytes.
    pub(crate) outcome: usize,
    /// Drops the outcome. Does not unwind.
    pub(crate) discard: unsafe fn(NonNull<Header>),
    /// Frees the cell, which has neither any more.
    pub(crate) free: unsafe fn(NonNull<Header>),
}

/// A pointer to a cell in place: its holder has a counted reference, or lives by another holder's. A method that takes over
/// that reference says so.
#[derive(Clone, Copy)]
pub(crate) struct Cell(pub(crate) NonNull<Header>);

impl Cell {
    #[inline]
    pub(crate) fn header(&self) -> &Header {
        // SAFETY: the cell is in place, the type's invariant.
        unsafe { self.0.as_ref() }
    }

    #[inline]
    pub(crate) fn state(&self) -> &State {
        &self.header().state
    }

    /// The owner's side of the state, if the current thread is the owner.
    #[inline]
    pub(crate) fn on_owner(&self) -> Option<OnOwner<'_, State>> {
        (self.header().owner == thread_id()).then(|| {
            // SAFETY: the current thread has the owner's number.
            unsafe { self.owned() }
        })
    }

    /// The owner's side of the state.
    ///
    /// # Safety
    /// The current thread is the owner, or no other thread knows of the task.
    #[inline]
    pub(crate) unsafe fn owned(&self) -> OnOwner<'_, State> {
        // SAFETY: the caller says so, and a task that other threads know of has the owner of its core for its whole life.
        unsafe { OnOwner::assume(self.state()) }
    }

    /// The owner's side of the core.
    ///
    /// # Safety
    /// The current thread is the owner, and the core is in place for as long as the result is used.
    #[inline]
    pub(crate) unsafe fn core<'c>(self) -> OnOwner<'c, LocalCore> {
        // SAFETY: the caller says that the core is in place.
        let core = unsafe { self.header().core.as_ref() };
        // SAFETY: the caller says that this is the owner's thread.
        unsafe { OnOwner::assume(core) }
    }

    /// Takes a step, the one for this thread, and follows it. True if the task had ended, where that makes a difference:
    /// [`Step::Ended`].
    ///
    /// # Safety
    /// The caller has the reference that the step needs, and hands it over if the step uses it up.
    #[inline]
    pub(crate) unsafe fn step(
        self,
        local: impl FnOnce(OnOwner<'_, State>) -> Step,
        remote: impl FnOnce(&State) -> Step,
    ) -> bool {
        match self.on_owner() {
            Some(state) => {
                let step = local(state);
                // SAFETY: the owner, this thread, has just taken the step, with the caller's reference.
                unsafe { self.follow(step, Side::Local) };
                step == Step::Ended
            }
            // SAFETY: the caller hands over what the step needs.
            None => unsafe { self.step_remote(remote) },
        }
    }

    /// [`step`](Self::step) on another thread. Out of line, to keep the owner's steps short.
    ///
    /// # Safety
    /// As for `step`.
    #[inline(never)]
    unsafe fn step_remote(self, remote: impl FnOnce(&State) -> Step) -> bool {
        let step = remote(self.state());
        // SAFETY: this thread has just taken the step, with the caller's reference.
        unsafe { self.follow(step, Side::Remote) };
        step == Step::Ended
    }

    /// Does what a step asks for.
    ///
    /// # Safety
    /// The current thread is on this `side`, and has just taken the step, with a reference that it may have used up.
    #[inline(always)]
    pub(crate) unsafe fn follow(self, step: Step, side: Side) {
        match step {
            Step::Nothing | Step::Ended => {}
            // The item has a reference.
            Step::Queue => {
                self.header().mark.woken();
                match side {
                    // SAFETY: this is the owner's thread, which alone drops the future. So the future is alive, and the core in
                    // place.
                    Side::Local => unsafe { self.core() }.schedule_local(Item(self)),
                    // SAFETY: the core is in place until this item has arrived, and a close waits for the push to leave.
                    Side::Remote => unsafe {
                        LocalCore::schedule_remote(self.header().core, Item(self));
                    },
                }
            }
            // SAFETY: the step gave back the last reference to an ended task.
            Step::Free => unsafe { self.free() },
        }
    }

    /// # Safety
    /// The caller has the only reference, and the future and the outcome are gone.
    #[inline]
    pub(crate) unsafe fn free(self) {
        // SAFETY: the vtable is this cell's; the caller promises what `free` asks for.
        unsafe { (self.header().vtable.free)(self.0) };
    }

    /// [`after_poll`](Self::after_poll), once for all types of futures.
    ///
    /// # Safety
    /// As there.
    #[inline(never)]
    pub(super) unsafe fn after_first_poll(self, ended: bool) {
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
            Pended::Queue => {
                self.header().mark.woken_in_poll();
                // The item takes over the turn's reference.
                // SAFETY: the caller says that this is the owner's thread, and the core is in place as long as the future is.
                unsafe { self.core() }.schedule_local(Item(self));
            }
            // SAFETY: the caller's promises hold, and the future has not been dropped.
            Pended::Abandon => unsafe { self.abandon() },
        }
    }

    /// Drops the future, and ends the task.
    ///
    /// # Safety
    /// This is the owner's thread, or no other thread knows of the task and its future may be dropped here. The core is in place. A turn
    /// of the task has started and hands over its reference. The future has not been dropped.
    #[cold]
    unsafe fn abandon(self) {
        // SAFETY: the vtable is this cell's. The caller says that the future is there, and may be dropped here.
        unsafe { (self.header().vtable.abandon)(self.0) };
        // SAFETY: the caller's promises hold, and the line above dropped the future.
        unsafe { self.finish(Left::Nothing) };
    }

    /// The future is gone: tells the handle.
    ///
    /// # Safety
    /// This is the owner's thread, or no other thread knows of the task. The core is in place. A turn of the task has started and hands
    /// over its reference. The future has been dropped, and `left` says whether its outcome is there.
    #[inline(always)]
    unsafe fn finish(self, left: Left) {
        // With its reference the cell may go.
        let core = self.header().core;
        // SAFETY: the caller says that this is the owner's thread, or one that has the task for itself.
        let finished = unsafe { self.owned() }.finish(left);
        if finished.pushing {
            // SAFETY: the caller says that the core is in place.
            let core = unsafe { core.as_ref() };
            // SAFETY: another thread knows of the task, so this is the owner's thread.
            unsafe { OnOwner::assume(core) }.mailbox().await_item();
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

/// A task in a queue. It takes over a reference to its cell. Dropping it drops the future. One word, the address of the cell.
pub struct Item(pub(crate) Cell);

// SAFETY: threads share a task's cell, and an item only hands it to the owner. Only `OnOwner<LocalCore>` polls it, and
// only the close of the core drops it.
unsafe impl Send for Item {}

impl Item {
    /// The cell, which takes over the reference.
    #[inline]
    pub(crate) fn into_cell(self) -> Cell {
        ManuallyDrop::new(self).0
    }

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
        core.get().tally.polls.bump();
        let waker = lent_waker(cell);
        let context = &mut Context::from_waker(&waker);
        let polling = cell.header().mark.polls();
        // SAFETY: the vtable is this cell's. This is the owner's thread, and a task that was to be polled has its future.
        let ended = unsafe { (cell.header().vtable.poll)(cell.0, context) };
        drop(polling);
        // SAFETY: `core` proves the thread, and is in place. This turn polled the future, and `ended` says what that has left.
        unsafe { cell.after_poll(ended) };
    }
}

/// Finds the link of an [`Item`].
pub struct ItemLinks(());

// SAFETY: an item is a pointer of its own to its cell. A task has at most one in an inbox at a time, and the cell's link is for
// that one.
unsafe impl Links for ItemLinks {
    type Item = Item;

    #[inline]
    fn into_raw(item: Item) -> NonNull<()> {
        item.into_cell().0.cast()
    }

    #[inline]
    unsafe fn from_raw(raw: NonNull<()>) -> Item {
        // `into_raw` made it, and the item's reference keeps the cell in place.
        Item(Cell(raw.cast()))
    }

    #[inline]
    unsafe fn link(raw: NonNull<()>) -> NonNull<Link> {
        // As in `from_raw`; the item exists for the time of the call.
        NonNull::from(&Cell(raw.cast()).header().link)
    }
}

/// Each waker has a counted reference, except the one of a poll: that lives by the reference of the turn.
static WAKER: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, release);

fn raw(cell: Cell) -> RawWaker {
    RawWaker::new(cell.0.as_ptr().cast(), &WAKER)
}

/// A waker that has no reference of its own.
#[inline]
pub(super) fn lent_waker(cell: Cell) -> ManuallyDrop<Waker> {
    // SAFETY: the functions below keep the contract of `RawWaker`. The waker is not dropped, so it gives no reference back.
    ManuallyDrop::new(unsafe { Waker::from_raw(raw(cell)) })
}

/// # Safety
/// Called through the vtable, with what `raw` put there.
#[inline]
unsafe fn cell(data: *const ()) -> Cell {
    // SAFETY: `raw` put the address of a cell there, which is not null. The waker, or the turn that lent it, has a reference, so the
    // cell is in place.
    Cell(unsafe { NonNull::new_unchecked(data.cast_mut().cast()) })
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
    unsafe { cell.follow(step, Side::Remote) };
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

impl Drop for Item {
    fn drop(&mut self) {
        let cell = self.0;
        // The future is dropped whether the task was cancelled before or not.
        // SAFETY: the close of the core drops items, on the owner's thread. So does a spawn behind the close, of a task that no other thread
        // knows of; where that is not the owner's thread, `arrive` was told the same.
        let _cancelled = unsafe { cell.owned() }.start();
        // SAFETY: the core is in place until its close, or the spawn, returns. This turn has just started, with the item's reference, and a
        // queued task has its future.
        unsafe { cell.abandon() };
    }
}

impl Queueable for Item {
    type Links = ItemLinks;

    #[inline]
    unsafe fn arrive(self) -> Arrived<Self> {
        let cell = self.into_cell();
        // SAFETY: the caller says that this is the owner's thread, or has the task for itself.
        match unsafe { cell.owned() }.arrive() {
            Arrival::Queue => Arrived::Queue(Self(cell)),
            Arrival::Nothing => Arrived::UsedUp,
            Arrival::Ended(step) => {
                // SAFETY: the owner, this thread, has just taken the step, with the item's reference.
                unsafe { cell.follow(step, Side::Local) };
                Arrived::Awaited
            }
        }
    }
}
