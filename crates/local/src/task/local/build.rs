//! [`build`]: the whole cell, with the future or the outcome in it.

use alloc::boxed::Box;
use core::future::Future;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll};

use terrace_queue::Link;
use terrace_sync::cell::UnsafeCell;
use terrace_trace::Mark;

use super::cell::{Cell, FRESH_OUTCOME, Header, Item, LocalCore, VTable};
use super::handle::Handle;
use crate::biased::{Side, State};
use crate::cells::Class;
use crate::on_owner::OnOwner;
use crate::task::core::CoreRef;
use crate::task::guarded::Guarded;
use crate::task::outcome::Outcome;
use crate::thread_id::ThreadNumber;

/// A cell. One allocation, of its header, and the larger of the guarded future and the outcome.
#[repr(C)]
struct Whole<F: Future> {
    header: Header,
    /// Invariant: the owner's while the future is there; then the outcome belongs to the handle, or to the owner if no handle
    /// takes it.
    stage: UnsafeCell<Stage<F>>,
}

/// First the guarded future, which drops the user's future in place when it ends. Then the outcome, if there is one.
#[repr(C)]
union Stage<F: Future> {
    future: ManuallyDrop<Guarded<LocalCore, F>>,
    _outcome: ManuallyDrop<Outcome<F::Output>>,
}

impl<F: Future> Whole<F> {
    const VTABLE: VTable = VTable {
        poll: Self::poll,
        abandon: Self::abandon,
        class: Class::SMALLEST,
        outcome: core::mem::offset_of!(Self, stage),
        discard: Self::discard,
        free: Self::free,
    };

    /// Of a cell in memory of the class.
    const EAGER: VTable = VTable {
        free: Self::keep,
        class: match Self::CLASS {
            Some(class) => class,
            None => Class::SMALLEST,
        },
        ..Self::VTABLE
    };

    /// The class of memory for it, if it was spawned eagerly.
    const CLASS: Option<Class> = Class::of::<Self>();

    /// Whether the task may become fresh.
    const MAY_BE_FRESH: bool =
        Self::CLASS.is_some() && core::mem::offset_of!(Self, stage) == FRESH_OUTCOME;

    #[inline(always)]
    fn new(
        core: NonNull<LocalCore>,
        owner: ThreadNumber,
        state: State,
        vtable: &'static VTable,
        mark: Mark,
        future: Guarded<LocalCore, F>,
    ) -> Self {
        Self {
            header: Header {
                state,
                owner,
                core,
                vtable,
                link: Link::new(),
                mark,
            },
            stage: UnsafeCell::new(Stage {
                future: ManuallyDrop::new(future),
            }),
        }
    }

    /// The stage, as the future. Both of its fields begin where it does.
    ///
    /// # Safety
    /// The cell is of this type and in place.
    #[inline]
    unsafe fn future(header: NonNull<Header>) -> *mut Guarded<LocalCore, F> {
        let whole: NonNull<Self> = header.cast();
        // SAFETY: the cell is of this type and in place, so the field is.
        unsafe { &raw mut (*whole.as_ptr()).stage }.cast()
    }

    /// # Safety
    /// As for `future`. The current thread is the owner, and the future is there.
    unsafe fn poll(header: NonNull<Header>, context: &mut Context<'_>) -> bool {
        // SAFETY: the caller promises the same.
        unsafe { Self::poll_here(header, context) }
    }

    /// # Safety
    /// As for `poll`.
    #[inline(always)]
    unsafe fn poll_here(header: NonNull<Header>, context: &mut Context<'_>) -> bool {
        // SAFETY: the cell is of this type and in place.
        let future = unsafe { Self::future(header) };
        // SAFETY: the future is there, and the owner, this thread, has it for itself.
        let guarded = unsafe { &mut *future };
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
    /// As for `future`. The future is there. The current thread is the owner; or no other thread knows of the task, and the
    /// future may be dropped on this thread.
    unsafe fn abandon(header: NonNull<Header>) {
        // SAFETY: the cell is of this type and in place.
        let future = unsafe { Self::future(header) };
        // SAFETY: the future is there, this thread has it for itself, and nothing drops it again.
        unsafe { future.drop_in_place() };
    }

    /// # Safety
    /// As for `future`. The outcome is there, and the caller's.
    unsafe fn discard(header: NonNull<Header>) {
        // SAFETY: the cell is of this type and in place.
        let outcome: *mut Outcome<F::Output> = unsafe { Self::future(header) }.cast();
        // SAFETY: the outcome is there and the caller's, and nothing drops it again.
        unsafe { outcome.drop_in_place() };
    }

    /// # Safety
    /// As for `future`. The caller has the only reference, and the stage is empty.
    unsafe fn free(header: NonNull<Header>) {
        // SAFETY: `build` made it as a box of this type, and the caller has the only reference.
        drop(unsafe { Box::from_raw(header.cast::<Self>().as_ptr()) });
    }
}

impl<F: Future> Whole<F> {
    /// As `free`, for a cell of [`EAGER`](Self::EAGER). The thread keeps the memory.
    ///
    /// # Safety
    /// As for `free`.
    unsafe fn keep(header: NonNull<Header>) {
        let Some(class) = Self::CLASS else {
            unreachable!("the cell was made in memory of a class")
        };
        // SAFETY: the caller has the only reference. The stage is empty, and dropping it does nothing.
        unsafe { header.cast::<Self>().drop_in_place() };
        // SAFETY: `poll_at_spawn` allocated it of this class, and the cell in it is gone.
        unsafe { class.keep(header.cast()) };
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
) -> Handle<Outcome<F::Output>> {
    let this = NonNull::from(core.get());
    let mark = Mark::spawned::<F>();
    // Each field is written once, where it stays: so this comes behind the allocation.
    let whole = |vtable| {
        // SAFETY: the caller keeps the core until the future has been dropped, and longer, as in `build`.
        let reference = unsafe { CoreRef::borrowed(this) };
        let future = Guarded::new(reference, future);
        Whole::new(
            this,
            core.owner(),
            State::polled_at_spawn(),
            vtable,
            mark,
            future,
        )
    };
    let header: NonNull<Header> = match const { Whole::<F>::CLASS } {
        Some(class) => {
            let memory = class.allocate().cast::<Whole<F>>();
            // SAFETY: memory of the class has room for the cell, is aligned for it, and is this function's.
            unsafe { memory.write(whole(const { &Whole::<F>::EAGER })) };
            memory.cast()
        }
        None => {
            let whole = Box::new(whole(const { &Whole::<F>::VTABLE }));
            NonNull::from(Box::leak(whole)).cast()
        }
    };
    let cell = Cell(header);
    let unwound = Unwound::<F>(cell, PhantomData);
    let poll = |context: &mut Context<'_>| {
        let _polling = mark.polls();
        // SAFETY: the cell is of this type and in place. This is the owner's thread, and the future is there.
        unsafe { Whole::<F>::poll_here(header, context) }
    };
    // SAFETY: the caller keeps the core open. The task is new, and its handle is here.
    let fresh = unsafe { cell.poll_at_spawn(Whole::<F>::MAY_BE_FRESH, poll) };
    core::mem::forget(unwound);
    // SAFETY: a new task has two references, one for the turn and one for the handle, and its outcome is of this type.
    let handle = unsafe { Handle::new(cell) };
    if fresh {
        // SAFETY: the call above says so, and the handle has not been given out.
        return unsafe { handle.without_place() };
    }
    handle
}

/// The task of a first poll that unwinds: its handle goes, too.
struct Unwound<F: Future>(Cell, PhantomData<F>);

impl<F: Future> Drop for Unwound<F> {
    #[cold]
    fn drop(&mut self) {
        // SAFETY: `poll_at_spawn` made this for its poll, with the handle's reference. The outcome is of this type.
        drop(unsafe { Handle::<Outcome<F::Output>>::new(self.0) });
    }
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
) -> (Item, Handle<Outcome<F::Output>>) {
    // SAFETY: the caller keeps the core until the future has been dropped. It stays longer: a core runs and closes on one
    // thread, and is freed after the run or close that drops the future.
    let reference = unsafe { CoreRef::borrowed(core) };
    // SAFETY: the core is in place at the call.
    let owner = unsafe { core.as_ref() }.owner();
    let guarded = Guarded::new(reference, future);
    let mark = Mark::spawned::<F>();
    let vtable = const { &Whole::<F>::VTABLE };
    let whole = Box::new(Whole::new(
        core,
        owner,
        State::spawned(side),
        vtable,
        mark,
        guarded,
    ));
    let cell = Cell(NonNull::from(Box::leak(whole)).cast());
    // SAFETY: a new task has two references, one for the item and one for the handle, and its outcome is of this type.
    (Item::of(cell), unsafe { Handle::new(cell) })
}
