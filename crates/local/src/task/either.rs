//! [`Either`]: the handle of a task, on whichever of the two cells, in one word.
//!
//! A program may hold many handles, and mostly holds them in a `Vec`. A second word for each, to say what the first one is, cost
//! executors of many threads up to a tenth of a batch. So the lowest bit of the address says it.

use core::future::Future;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::num::NonZeroUsize;
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll, Waker};

#[cfg(feature = "std")]
use super::awaited;
#[cfg(feature = "std")]
use super::id::TaskId;
use super::local::handle::{Handle, TAG, TAGS};
use super::outcome::{Gone, Outcome};
use super::runnable::{Meta, Own};

/// A handle on async-task's cell.
type Shared<T> = async_task::FallibleTask<Outcome<T>, Meta>;
/// A handle on a cell of one thread, or of a task that ended before it had another cell: the address is odd.
type Local<T> = Handle<Outcome<T>>;

/// One of the two handles, as the word that it is. Dropping it cancels the task.
#[repr(transparent)]
pub(super) struct Either<T> {
    address: NonNull<()>,
    _handle: PhantomData<(Shared<T>, Local<T>)>,
}

// SAFETY: it is one of the two handles, and the bound asks both to be Send.
unsafe impl<T> Send for Either<T> where (Shared<T>, Local<T>): Send {}
// SAFETY: it is one of the two handles, and the bound asks both to be Sync.
unsafe impl<T> Sync for Either<T> where (Shared<T>, Local<T>): Sync {}

/// An [`Either`], taken apart.
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
    pub(super) fn shared(task: Shared<T>, runnable: Own) -> (Own, Self) {
        let raw = runnable.into_raw();
        // SAFETY: `raw` came out of a runnable in the line above, and is given back once.
        let runnable = unsafe { Own::from_raw(raw) };
        let address = Self::word(&task);
        assert!(
            address == raw.as_ptr() && address.addr() & TAG == 0,
            "async-task lays its handles out otherwise than this version of terrace-local knows"
        );
        // SAFETY: the word of a handle, which the next line forgets. It is not null, being the runnable's.
        let this = unsafe { Self::of(address) };
        core::mem::forget(task);
        (runnable, this)
    }

    #[inline]
    pub(super) fn local(task: Local<T>) -> Self {
        let task = ManuallyDrop::new(task);
        // SAFETY: the word of a handle that is not dropped. It is not null, being tagged.
        let this = unsafe { Self::of(Self::word(&*task)) };
        debug_assert!(this.is_local());
        this
    }

    /// The bits of a handle.
    #[inline]
    fn word<H>(handle: &H) -> *mut () {
        const { assert!(size_of::<H>() == size_of::<*mut ()>()) };
        // SAFETY: both handles consist of one pointer, whose size the line above checks.
        unsafe { core::mem::transmute_copy(handle) }
    }

    /// # Safety
    /// The word of one of the two handles, not null, and tagged if it is the local one. Nothing else uses the handle.
    #[inline]
    unsafe fn of(address: *mut ()) -> Self {
        Self {
            // SAFETY: the caller says that it is not null.
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
            // SAFETY: the word is a handle's, and the tag says that it is the local one's.
            Kind::Local(unsafe { this.cast().as_ref() })
        } else {
            // SAFETY: the word is a handle's, and the missing tag says that it is async-task's.
            Kind::Shared(unsafe { this.cast().as_ref() })
        }
    }

    #[inline]
    fn as_kind_mut(&mut self) -> Kind<&mut Shared<T>, &mut Local<T>> {
        let is_local = self.is_local();
        let this = NonNull::from(self);
        if is_local {
            // SAFETY: the word is a handle's, and the tag says that it is the local one's.
            Kind::Local(unsafe { this.cast().as_mut() })
        } else {
            // SAFETY: the word is a handle's, and the missing tag says that it is async-task's.
            Kind::Shared(unsafe { this.cast().as_mut() })
        }
    }

    #[inline]
    pub(super) fn into_kind(self) -> Kind<Shared<T>, Local<T>> {
        let this = ManuallyDrop::new(self);
        match this.as_kind() {
            // SAFETY: `this` is neither dropped nor used again, so the copy is the only handle.
            Kind::Shared(task) => Kind::Shared(unsafe { core::ptr::read(task) }),
            // SAFETY: `this` is neither dropped nor used again, so the copy is the only handle.
            Kind::Local(task) => Kind::Local(unsafe { core::ptr::read(task) }),
        }
    }

    /// The address of the task's cell; `None` if there is none.
    pub(super) fn cell(&self) -> Option<NonZeroUsize> {
        let address = self.address.as_ptr().addr();
        if address <= TAGS {
            return None;
        }
        NonZeroUsize::new(address & !TAG)
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

impl<T> Either<T> {
    /// The outcome of a task that ended in the call that spawned it, if nothing has taken it.
    #[inline]
    pub(super) fn take_fresh(&mut self) -> Option<Outcome<T>> {
        match self.as_kind_mut() {
            Kind::Local(task) => task.take_fresh(),
            Kind::Shared(_) => None,
        }
    }

    /// Cancels the task, and polls for the end with a waker that does nothing. The handle stays.
    pub(super) fn begin_cancel(&mut self) -> Poll<Option<Outcome<T>>> {
        let context = &mut Context::from_waker(Waker::noop());
        let cancelled = match self.as_kind_mut() {
            Kind::Local(task) => {
                task.cancel();
                return task.poll_end(context);
            }
            Kind::Shared(task) => {
                // async-task's handle is cancelled by a future that has it. So such a future gets a copy for one poll.
                // SAFETY: the copy replaces the handle where the future ends, below. Else it is forgotten with its future,
                // which has lent nothing out.
                let copy = unsafe { core::ptr::read(task) };
                let mut cancel = ManuallyDrop::new(copy.cancel());
                // SAFETY: the future stays in its place until it ends or is forgotten.
                let pinned = unsafe { Pin::new_unchecked(&mut *cancel) };
                pinned.poll(context)
            }
        };
        if cancelled.is_ready() {
            // The future has dropped the copy, so the original is not dropped.
            core::mem::forget(core::mem::replace(
                self,
                Self::local(Handle::empty(Gone::Cancelled)),
            ));
        }
        cancelled
    }

    /// Polls for the end: the outcome if there is one, else [`why`](Self::why) says what happened.
    #[inline]
    pub(super) fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<Option<Outcome<T>>> {
        match self.as_kind_mut() {
            Kind::Local(task) => task.poll_end(context),
            Kind::Shared(task) => {
                let polled = Pin::new(task).poll(context);
                match polled {
                    #[cfg(feature = "std")]
                    Poll::Pending => awaited::note(self.cell().map(TaskId::of_cell), context),
                    #[cfg(not(feature = "std"))]
                    Poll::Pending => {}
                    Poll::Ready(Some(_)) => self.remember(Gone::Taken),
                    Poll::Ready(None) => self.remember(Gone::Cancelled),
                }
                polled
            }
        }
    }

    /// Keeps why there is no outcome any more: async-task's handle does not say it a second time.
    #[inline(never)]
    fn remember(&mut self, why: Gone) {
        *self = Self::local(Handle::empty(why));
    }

    /// Why there was no outcome, after a poll.
    #[cold]
    pub(super) fn why(&self) -> Gone {
        match self.as_kind() {
            Kind::Local(task) => task.why_empty(),
            Kind::Shared(_) => unreachable!("a handle that saw its end became an empty one"),
        }
    }
}

impl<T> Either<T> {
    /// Drops the handle. Called once, by the destructor.
    fn end(&mut self) {
        #[cfg(feature = "std")]
        awaited::forget(self.cell().map(TaskId::of_cell));
        match self.as_kind_mut() {
            // SAFETY: the destructor is the last use of the word.
            Kind::Shared(task) => unsafe { core::ptr::drop_in_place(task) },
            // SAFETY: the destructor is the last use of the word.
            Kind::Local(task) => unsafe { core::ptr::drop_in_place(task) },
        }
    }
}

impl<T> Drop for Either<T> {
    #[inline]
    fn drop(&mut self) {
        if self.address.as_ptr().addr() <= TAGS {
            // There is no cell.
            return;
        }
        self.end();
    }
}
