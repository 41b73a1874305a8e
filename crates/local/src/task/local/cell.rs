//! [`Cell`], a pointer to a task of one thread; [`Item`], the same in a queue; and its wakers.

use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use core::task::{Context, RawWaker, RawWakerVTable, Waker};

use terrace_queue::{Link, Links};
use terrace_trace::Mark;

use crate::biased::{Reference, Side, State, Step};
use crate::cells::Class;
use crate::core::CoreOf;
use crate::on_owner::OnOwner;
use crate::thread_id::{ThreadNumber, thread_id};

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
    /// The current thread is the owner.
    #[inline]
    pub(crate) unsafe fn owned(&self) -> OnOwner<'_, State> {
        // SAFETY: the caller says so, and a task has the owner of its core for its whole life.
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
                    Side::Local => unsafe { self.core() }.schedule_local(Item::of(self)),
                    // SAFETY: the core is in place until this item has arrived, and a close waits for the push to leave.
                    Side::Remote => unsafe {
                        LocalCore::schedule_remote(self.header().core, Item::of(self));
                    },
                }
            }
            // SAFETY: the step gave back the last reference to an ended task.
            Step::Free => unsafe { self.free() },
        }
    }

    /// Queues a task that was woken in its poll.
    ///
    /// # Safety
    /// The current thread is the owner, and has polled the task in a turn, whose reference this uses up.
    #[inline(always)]
    pub(crate) unsafe fn queue_again(self) {
        self.header().mark.woken_in_poll();
        // The item takes over the reference.
        // SAFETY: the caller says that this is the owner's thread, and the core is in place as long as the future is.
        unsafe { self.core() }.schedule_local(Item::of(self));
    }

    /// # Safety
    /// The caller has the only reference, and the future and the outcome are gone.
    #[inline]
    pub(crate) unsafe fn free(self) {
        // SAFETY: the vtable is this cell's; the caller promises what `free` asks for.
        unsafe { (self.header().vtable.free)(self.0) };
    }
}

/// A task in a queue. It has a reference to its cell. Dropping it drops the future. One word, the address of the cell.
pub struct Item(pub(super) Cell);

// SAFETY: threads share a task's cell, and an item only hands it to the owner. Only `OnOwner<LocalCore>` polls it, and
// only the close of the core drops it.
unsafe impl Send for Item {}

impl Item {
    /// An item of a task. It takes over a reference.
    #[inline]
    pub(crate) fn of(cell: Cell) -> Self {
        Self(cell)
    }

    /// The cell, which takes over the reference.
    #[inline]
    pub(crate) fn into_cell(self) -> Cell {
        ManuallyDrop::new(self).0
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
        item.into_cell().as_ptr()
    }

    #[inline]
    unsafe fn from_raw(raw: NonNull<()>) -> Item {
        // SAFETY: `into_raw` made it, and the item's reference keeps the cell in place.
        Item(unsafe { Cell::from_ptr(raw) })
    }

    #[inline]
    unsafe fn link(raw: NonNull<()>) -> NonNull<Link> {
        // SAFETY: as in `from_raw`; the item exists for the time of the call.
        let cell = unsafe { Cell::from_ptr(raw) };
        NonNull::from(&cell.header().link)
    }
}

/// Each waker has a counted reference, except the one of a poll: that lives by the reference of the turn.
static WAKER: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, release);

fn raw(cell: Cell) -> RawWaker {
    RawWaker::new(cell.as_ptr().as_ptr(), &WAKER)
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
