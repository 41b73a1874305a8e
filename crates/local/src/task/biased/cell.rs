//! The whole cell, with the future or the outcome in it.

use alloc::boxed::Box;
use core::future::Future;
use core::mem::ManuallyDrop;
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll};

use terrace_queue::Link;
use terrace_sync::cell::UnsafeCell;

use super::{Cell, Handle, Header, VTable};
use crate::LocalCore;
use crate::biased::State;
use crate::task::cell::Guarded;
use crate::task::{CoreRef, Item, Outcome};

/// A cell. One allocation, of its header, and the larger of the guarded future and the outcome.
#[repr(C)]
struct Whole<F: Future> {
    header: Header,
    /// Touched by the home thread as long as the future is there, then by whom the outcome is for.
    stage: UnsafeCell<Stage<F>>,
}

/// First the future, which drops what it guards in place when it ends; then the outcome, if there is one.
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
        // SAFETY: forwarded to the caller.
        unsafe { &raw mut (*whole.as_ptr()).stage }.cast()
    }

    /// # Safety
    /// As for `future`; this is the home thread, and the future is there.
    unsafe fn poll(header: NonNull<Header>, context: &mut Context<'_>) -> bool {
        // SAFETY: forwarded to the caller.
        let future = unsafe { Self::future(header) };
        // SAFETY: it is there, and nobody else's.
        let guarded = unsafe { &mut *future };
        // SAFETY: it stays in its cell, where it is dropped.
        let pinned = unsafe { Pin::new_unchecked(&mut *guarded) };
        match pinned.poll(context) {
            Poll::Ready(outcome) => {
                // SAFETY: the user's future has been dropped in place, and what was around it needs no drop.
                unsafe { future.cast::<Outcome<F::Output>>().write(outcome) };
                true
            }
            Poll::Pending => {
                if guarded.is_kept() {
                    // SAFETY: in place, forwarded to the caller.
                    unsafe { header.as_ref() }.state.set_registered();
                }
                false
            }
        }
    }

    /// # Safety
    /// As for `poll`; or nobody else knows of the task, and the future may be dropped on this thread.
    unsafe fn abandon(header: NonNull<Header>) {
        // SAFETY: forwarded to the caller.
        let future = unsafe { Self::future(header) };
        // SAFETY: it is there, nobody else's, and is dropped once.
        unsafe { future.drop_in_place() };
    }

    /// # Safety
    /// As for `future`.
    unsafe fn outcome(header: NonNull<Header>) -> NonNull<()> {
        // SAFETY: forwarded to the caller.
        let future = unsafe { Self::future(header) };
        // SAFETY: a field of something in place is not null.
        unsafe { NonNull::new_unchecked(future) }.cast()
    }

    /// # Safety
    /// As for `future`; the outcome is there and the caller's.
    unsafe fn discard(header: NonNull<Header>) {
        // SAFETY: forwarded to the caller.
        let outcome: NonNull<Outcome<F::Output>> = unsafe { Self::outcome(header) }.cast();
        // SAFETY: it is there, the caller's, and is dropped once.
        unsafe { outcome.drop_in_place() };
    }

    /// # Safety
    /// As for `future`; nobody else has a reference, and the stage is empty.
    unsafe fn free(header: NonNull<Header>) {
        // SAFETY: made by `build`, as a box of this type.
        drop(unsafe { Box::from_raw(header.cast::<Self>().as_ptr()) });
    }
}

/// Makes a task of a core: an item and the handle. One allocation. `home` says whether the caller is on the core's thread,
/// so that the item is for the run queue; else it is for the inbox.
///
/// # Safety
/// - The core has an owner. It stays in place until the future of the task has been dropped, and an item that is then under
///   way has arrived.
/// - If the future or its output is not `Send`, the output is taken on the home thread only.
/// - What the future and its output borrow lives until they have been dropped.
#[inline]
pub(crate) unsafe fn build<F: Future>(
    core: NonNull<LocalCore>,
    future: F,
    home: bool,
) -> (Item, Handle<Outcome<F::Output>>) {
    // SAFETY: it stays until the future has been dropped, and longer: the future is dropped where the core runs or closes.
    let reference = unsafe { CoreRef::borrowed(core) };
    let whole = Box::new(Whole {
        header: Header {
            state: if home {
                State::at_home()
            } else {
                State::elsewhere()
            },
            // SAFETY: in place.
            home: unsafe { core.as_ref() }.owner(),
            core,
            vtable: const { &Whole::<F>::VTABLE },
            link: Link::new(),
        },
        stage: UnsafeCell::new(Stage {
            future: ManuallyDrop::new(Guarded::new(reference, future)),
        }),
    });
    let cell = Cell(NonNull::from(Box::leak(whole)).cast());
    // SAFETY: just made, with a reference each; the outcome is of this type.
    (Item::of(cell), unsafe { Handle::new(cell) })
}
