//! [`Either`]: the handle of a task, on whichever of the two cells, in one word.
//!
//! A program may hold many handles, and mostly holds them in a `Vec`: a second word for each, to tell what the first one is, cost
//! executors of many threads up to a tenth of a batch. So the lowest bit of the address tells.

use core::future::Future;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll};

use super::biased::{Handle, TAG};
use super::{Meta, Outcome, Runnable};

/// A handle on async-task's cell.
type Shared<T> = async_task::FallibleTask<Outcome<T>, Meta>;
/// A handle on a cell of one thread: the address is odd.
type Local<T> = Handle<Outcome<T>>;

/// One of the two handles, as the word that it is. Dropping it cancels the task.
#[repr(transparent)]
pub(super) struct Either<T> {
    address: NonNull<()>,
    _handle: PhantomData<(Shared<T>, Local<T>)>,
}

// SAFETY: it is one of the two handles, which both say so.
unsafe impl<T> Send for Either<T> where (Shared<T>, Local<T>): Send {}
// SAFETY: as above.
unsafe impl<T> Sync for Either<T> where (Shared<T>, Local<T>): Sync {}

/// [`Either`], as what it is.
pub(super) enum Kind<S, L> {
    Shared(S),
    Local(L),
}

impl<T> Either<T> {
    /// The handle of the task that `runnable` is of.
    ///
    /// # Panics
    /// If async-task's handle is not the address of its cell. It is in all of version 4.
    #[inline]
    pub(super) fn shared(task: Shared<T>, runnable: Runnable) -> (Runnable, Self) {
        let raw = runnable.into_raw();
        // SAFETY: just made of a runnable, which is taken back once.
        let runnable = unsafe { Runnable::from_raw(raw) };
        let address = Self::word(&task);
        assert!(
            address == raw.as_ptr() && address.addr() & TAG == 0,
            "async-task lays its handles out otherwise than this version of terrace-local knows"
        );
        // SAFETY: the word of a handle, which is forgotten; not null, being that of the runnable.
        let this = unsafe { Self::of(address) };
        core::mem::forget(task);
        (runnable, this)
    }

    #[inline]
    pub(super) fn local(task: Local<T>) -> Self {
        let task = ManuallyDrop::new(task);
        // SAFETY: the word of a handle, which is forgotten; not null, being tagged.
        let this = unsafe { Self::of(Self::word(&*task)) };
        debug_assert!(this.is_local());
        this
    }

    /// The bits of a handle.
    #[inline]
    fn word<H>(handle: &H) -> *mut () {
        const { assert!(size_of::<H>() == size_of::<*mut ()>()) };
        // SAFETY: of the size of a pointer, which is all that either handle consists of.
        unsafe { core::mem::transmute_copy(handle) }
    }

    /// # Safety
    /// The word of one of the two handles, not null, and tagged if it is the local one; it is used by nobody else.
    #[inline]
    unsafe fn of(address: *mut ()) -> Self {
        Self {
            // SAFETY: forwarded to the caller.
            address: unsafe { NonNull::new_unchecked(address) },
            _handle: PhantomData,
        }
    }

    #[inline]
    fn is_local(&self) -> bool {
        self.address.as_ptr().addr() & TAG != 0
    }

    /// The handle. It never becomes the other one.
    #[inline]
    fn as_kind(&self) -> Kind<&Shared<T>, &Local<T>> {
        let this = NonNull::from(self);
        if self.is_local() {
            // SAFETY: its word, and the tag tells whose.
            Kind::Local(unsafe { this.cast().as_ref() })
        } else {
            // SAFETY: as above.
            Kind::Shared(unsafe { this.cast().as_ref() })
        }
    }

    #[inline]
    fn as_kind_mut(&mut self) -> Kind<&mut Shared<T>, &mut Local<T>> {
        let is_local = self.is_local();
        let this = NonNull::from(self);
        if is_local {
            // SAFETY: its word, and the tag tells whose.
            Kind::Local(unsafe { this.cast().as_mut() })
        } else {
            // SAFETY: as above.
            Kind::Shared(unsafe { this.cast().as_mut() })
        }
    }

    #[inline]
    pub(super) fn into_kind(self) -> Kind<Shared<T>, Local<T>> {
        let this = ManuallyDrop::new(self);
        match this.as_kind() {
            // SAFETY: `this` is not used any more.
            Kind::Shared(task) => Kind::Shared(unsafe { core::ptr::read(task) }),
            // SAFETY: as above.
            Kind::Local(task) => Kind::Local(unsafe { core::ptr::read(task) }),
        }
    }

    /// Whether the task is done, cancelled or has panicked.
    #[inline]
    pub(super) fn is_finished(&self) -> bool {
        match self.as_kind() {
            Kind::Shared(task) => task.is_finished(),
            Kind::Local(task) => task.is_finished(),
        }
    }
}

impl<T> Future for Either<T> {
    type Output = Option<Outcome<T>>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.as_kind_mut() {
            Kind::Shared(task) => Pin::new(task).poll(context),
            Kind::Local(task) => Pin::new(task).poll(context),
        }
    }
}

impl<T> Drop for Either<T> {
    #[inline]
    fn drop(&mut self) {
        match self.as_kind_mut() {
            // SAFETY: this is the last use.
            Kind::Shared(task) => unsafe { core::ptr::drop_in_place(task) },
            // SAFETY: as above.
            Kind::Local(task) => unsafe { core::ptr::drop_in_place(task) },
        }
    }
}
