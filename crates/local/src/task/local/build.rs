//! [`build`]: the whole cell, with the future or the outcome in it.

use alloc::boxed::Box;
use core::future::Future;
use core::mem::ManuallyDrop;
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll};

use terrace_queue::Link;
use terrace_sync::cell::UnsafeCell;

use super::cell::{Cell, Header, Item, LocalCore, VTable};
use super::handle::Handle;
use crate::biased::{Side, State};
use crate::task::core::CoreRef;
use crate::task::guarded::Guarded;
use crate::task::outcome::Outcome;

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
        outcome: Self::outcome,
        discard: Self::discard,
        free: Self::free,
    };

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
    /// As for `future`.
    unsafe fn outcome(header: NonNull<Header>) -> NonNull<()> {
        // SAFETY: the cell is of this type and in place.
        let future = unsafe { Self::future(header) };
        // SAFETY: a field of something in place is not null.
        unsafe { NonNull::new_unchecked(future) }.cast()
    }

    /// # Safety
    /// As for `future`. The outcome is there, and the caller's.
    unsafe fn discard(header: NonNull<Header>) {
        // SAFETY: the cell is of this type and in place.
        let outcome: NonNull<Outcome<F::Output>> = unsafe { Self::outcome(header) }.cast();
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

/// Makes a task of a core: an item and the handle. One allocation. A `Local` caller is on the core's thread, and queues the
/// item in the run queue; a `Remote` one pushes it to the inbox.
///
/// # Safety
/// - The core has an owner. It stays in place until the future of the task has been dropped, and an item that another thread
///   then pushes has arrived.
/// - If the future or its output is not `Send`, the output is taken on the owner's thread only.
/// - What the future and its output borrow lives until they have been dropped.
#[inline]
pub(crate) unsafe fn build<F: Future>(
    core: NonNull<LocalCore>,
    future: F,
    side: Side,
) -> (Item, Handle<Outcome<F::Output>>) {
    // SAFETY: the caller keeps the core until the future has been dropped. It stays longer: a core runs and closes on one
    // thread, and is freed after the run or close that drops the future.
    let reference = unsafe { CoreRef::borrowed(core) };
    let whole = Box::new(Whole {
        header: Header {
            state: State::spawned(side),
            // SAFETY: the core is in place at the call.
            owner: unsafe { core.as_ref() }.owner(),
            core,
            vtable: const { &Whole::<F>::VTABLE },
            link: Link::new(),
        },
        stage: UnsafeCell::new(Stage {
            future: ManuallyDrop::new(Guarded::new(reference, future)),
        }),
    });
    let cell = Cell(NonNull::from(Box::leak(whole)).cast());
    // SAFETY: a new task has two references, one for the item and one for the handle, and its outcome is of this type.
    (Item::of(cell), unsafe { Handle::new(cell) })
}
