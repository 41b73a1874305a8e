//! The cell of tasks that live on one thread. It has a [`State`](crate::biased::State) instead of async-task's word, so
//! the owner's thread takes few read-modify-writes. It takes one at the end of a task that a handle waits for, and
//! mostly one at the first poll of a handle. It takes one for an item that comes from another thread.
//!
//! Only a [`LocalCore`](crate::LocalCore) has such tasks. Its close drops each future on the owner's thread, so the owner's
//! count may be plain, see [`biased`](crate::biased).

pub(crate) mod cell;

use alloc::boxed::Box;
use core::future::Future;
use core::mem::{ManuallyDrop, offset_of};
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll};

use terrace_queue::Link;
use terrace_sync::cell::UnsafeCell;
use terrace_trace::Mark;

use self::cell::{Cell, FRESH_OUTCOME, Header, Item, LocalCore, VTable, lent_waker};
use crate::biased::{Side, State};
use crate::cells::Class;
use crate::on_owner::OnOwner;
use crate::task::core::{Core, CoreRef};
use crate::task::fallible::FallibleTask;
use crate::task::guarded::{Guarded, Outcome};

/// A cell. One allocation, of its header, and the larger of the guarded future and the outcome.
#[repr(C)]
pub(crate) struct Whole<C: Core, F: Future> {
    header: Header,
    /// Invariant: the owner's while the future is there; then the outcome belongs to the handle, or to the owner if no handle
    /// takes it.
    stage: UnsafeCell<Stage<C, F>>,
}

/// First the guarded future, which drops the user's future in place when it ends. Then the outcome, if there is one.
#[repr(C)]
union Stage<C: Core, F: Future> {
    future: ManuallyDrop<Guarded<C, F>>,
    _outcome: ManuallyDrop<Outcome<F::Output>>,
}

impl<C: Core, F: Future> Whole<C, F> {
    /// The class of memory for it, if its first poll is early.
    const CLASS: Option<Class> = Class::of::<Self>();

    /// Whether the task may become fresh.
    pub(crate) const MAY_BE_FRESH: bool =
        Self::CLASS.is_some() && offset_of!(Self, stage) == FRESH_OUTCOME;

    /// The class of a cell that is in memory of one.
    pub(crate) const OF_CLASS: Class = match Self::CLASS {
        Some(class) => class,
        // Of a cell that no call makes.
        None => Class::SMALLEST,
    };

    /// The stage, as the future. Both of its fields begin where it does.
    ///
    /// # Safety
    /// There is memory of this type.
    #[inline]
    pub(crate) unsafe fn future(header: NonNull<Header>) -> NonNull<Guarded<C, F>> {
        // SAFETY: there is memory of this type, so the field is in it.
        unsafe { header.byte_add(offset_of!(Self, stage)) }.cast()
    }

    /// # Safety
    /// The cell is of this type and in place. The outcome is there, and the caller's.
    pub(crate) unsafe fn discard(header: NonNull<Header>) {
        // SAFETY: the cell is of this type and in place.
        let outcome = unsafe { Self::future(header) }.cast::<Outcome<F::Output>>();
        // SAFETY: the outcome is there and the caller's, and nothing drops it again.
        unsafe { outcome.drop_in_place() };
    }

    /// The thread keeps the memory.
    ///
    /// # Safety
    /// The cell is of this type, in place, and in memory of its class. The caller has the only reference, and the stage is empty.
    pub(crate) unsafe fn keep(header: NonNull<Header>) {
        // SAFETY: the caller has the only reference. The stage is empty, and dropping it does nothing.
        unsafe { header.cast::<Self>().drop_in_place() };
        // SAFETY: the memory is of this class, and the cell in it is gone.
        unsafe { const { Self::OF_CLASS }.keep(header.cast()) };
    }
}

impl<F: Future> Whole<LocalCore, F> {
    const VTABLE: VTable = VTable {
        poll: Self::poll,
        abandon: Self::abandon,
        class: Class::SMALLEST,
        outcome: offset_of!(Self, stage),
        discard: Self::discard,
        free: Self::free,
    };

    /// Of a cell in memory of the class.
    const EAGER: VTable = VTable {
        free: Self::keep,
        class: Self::OF_CLASS,
        ..Self::VTABLE
    };

    /// # Safety
    /// As [`build`].
    #[inline(always)]
    unsafe fn new(
        core: NonNull<LocalCore>,
        state: State,
        vtable: &'static VTable,
        mark: Mark,
        future: F,
    ) -> Self {
        // SAFETY: the caller keeps the core until the future has been dropped. It stays longer: a core runs and closes on one
        // thread, and is freed after the run or close that drops the future.
        let reference = unsafe { CoreRef::borrowed(core) };
        Self {
            header: Header {
                state,
                // SAFETY: the core is in place at the call.
                owner: unsafe { core.as_ref() }.owner(),
                core,
                vtable,
                link: Link::new(),
                mark,
            },
            stage: UnsafeCell::new(Stage {
                future: ManuallyDrop::new(Guarded::new(reference, future)),
            }),
        }
    }

    /// # Safety
    /// The cell is of this type and in place. The current thread is the owner, and the future is there.
    #[inline(always)]
    unsafe fn poll(header: NonNull<Header>, context: &mut Context<'_>) -> bool {
        // SAFETY: the cell is of this type and in place.
        let mut future = unsafe { Self::future(header) };
        // SAFETY: the future is there, and the owner, this thread, has it for itself.
        let guarded = unsafe { future.as_mut() };
        // SAFETY: the future stays in its cell until it is dropped there.
        let pinned = unsafe { Pin::new_unchecked(&mut *guarded) };
        match pinned.poll(context) {
            Poll::Ready(outcome) => {
                // SAFETY: `Guarded` has dropped the user's future in place, and the rest of it needs no drop. So the stage is
                // free, and large and aligned enough for an outcome.
                unsafe { future.cast::<Outcome<F::Output>>().write(outcome) };
                true
            }
            Poll::Pending => {
                if guarded.is_kept() {
                    // SAFETY: the cell is in place.
                    unsafe { header.as_ref() }.state.set_registered();
                }
                false
            }
        }
    }

    /// # Safety
    /// The cell is of this type and in place, and the future is there. The current thread is the owner; or no other thread knows of the
    /// task, and the future may be dropped on this thread.
    unsafe fn abandon(header: NonNull<Header>) {
        // SAFETY: the cell is of this type and in place.
        let future = unsafe { Self::future(header) };
        // SAFETY: the future is there, this thread has it for itself, and nothing drops it again.
        unsafe { future.drop_in_place() };
    }

    /// # Safety
    /// The cell is of this type and in place, in a box. The caller has the only reference, and the stage is empty.
    unsafe fn free(header: NonNull<Header>) {
        // SAFETY: a box of this type, and the caller has the only reference.
        drop(unsafe { Box::from_raw(header.cast::<Self>().as_ptr()) });
    }
}

/// Makes a task of a core, and polls it once. If that does not end it, it is as any other task.
///
/// # Safety
/// - As [`build`], for a `Local` caller.
/// - The core is not closed during the call.
#[inline]
#[cfg_attr(feature = "timeline", track_caller)]
pub(crate) unsafe fn poll_at_spawn<F: Future>(
    core: OnOwner<'_, LocalCore>,
    future: F,
) -> FallibleTask<F::Output> {
    let this = NonNull::from(core.get());
    let mark = Mark::spawned::<F>();
    // Each field is written once, where it stays: so this comes behind the allocation.
    let whole = |vtable| {
        // SAFETY: the caller promises the same.
        unsafe { Whole::new(this, State::polled_at_spawn(), vtable, mark, future) }
    };
    let header: NonNull<Header> = match const { Whole::<LocalCore, F>::CLASS } {
        Some(class) => {
            let memory = class.allocate().cast::<Whole<LocalCore, F>>();
            // SAFETY: memory of the class has room for the cell, is aligned for it, and is this function's.
            unsafe { memory.write(whole(const { &Whole::<LocalCore, F>::EAGER })) };
            memory.cast()
        }
        None => {
            let whole = Box::new(whole(const { &Whole::<LocalCore, F>::VTABLE }));
            NonNull::from(Box::leak(whole)).cast()
        }
    };
    let cell = Cell(header);
    // SAFETY: a new task has two references, one for the turn and one for the handle, and its outcome is of this type.
    let handle = unsafe { FallibleTask::local(cell) };
    let waker = lent_waker(cell);
    let polling = mark.polls();
    // SAFETY: the cell is of this type and in place. This is the owner's thread, and the future is there.
    let ended = unsafe { Whole::<LocalCore, F>::poll(header, &mut Context::from_waker(&waker)) };
    drop(polling);
    let of_class = Whole::<LocalCore, F>::MAY_BE_FRESH;
    // SAFETY: this is the owner's thread.
    if !(ended && unsafe { cell.owned() }.finish_at_spawn(of_class)) {
        // SAFETY: the caller keeps the core open. The task is new, its turn was that poll, and `ended` says whether that has left an
        // outcome.
        unsafe { cell.after_first_poll(ended) };
    } else if of_class {
        // SAFETY: the task is fresh, and its handle has not been given out.
        return unsafe { handle.without_place() };
    }
    handle
}

/// Makes a task of a core: an item and the handle. One allocation. A `Local` caller is on the core's thread, and queues the
/// item in the run queue; a `Remote` one pushes it to the inbox.
///
/// # Safety
/// - The core has an owner. It stays in place until the future of the task has been dropped, and an item that another thread
///   then pushes has arrived.
/// - If the future or its output is not `Send`, the output is taken on the owner's thread only.
/// - What the future and its output borrow lives until they have been dropped.
#[inline]
#[cfg_attr(feature = "timeline", track_caller)]
pub(crate) unsafe fn build<F: Future>(
    core: NonNull<LocalCore>,
    future: F,
    side: Side,
) -> (Item, FallibleTask<F::Output>) {
    let vtable = const { &Whole::<LocalCore, F>::VTABLE };
    let mark = Mark::spawned::<F>();
    // SAFETY: the caller promises the same.
    let whole = unsafe { Whole::new(core, State::spawned(side), vtable, mark, future) };
    let cell = Cell(NonNull::from(Box::leak(Box::new(whole))).cast());
    // SAFETY: a new task has two references, one for the item and one for the handle, and its outcome is of this type.
    (Item(cell), unsafe { FallibleTask::local(cell) })
}
