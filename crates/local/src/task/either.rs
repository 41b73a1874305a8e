//! [`Either`]: the handle of a task, on whichever of the two cells, in one word.
//!
//! A program may hold many handles, and mostly holds them in a `Vec`: a second word for each, to tell what the first one is, cost
//! executors of many threads up to a tenth of a batch. So the lowest bit of the address tells.

use core::future::Future;
use core::mem::ManuallyDrop;
use core::pin::Pin;
use core::task::{Context, Poll};

use super::biased::Handle;
use super::{Meta, Outcome, Runnable};

/// A handle on async-task's cell.
type Shared<T> = async_task::FallibleTask<Outcome<T>, Meta>;
/// A handle on a cell of one thread: the address is odd.
type Local<T> = Handle<Outcome<T>>;

/// One of the two handles. Dropping it cancels the task.
#[repr(C)]
pub(super) union Either<T> {
    shared: ManuallyDrop<Shared<T>>,
    local: ManuallyDrop<Local<T>>,
    address: usize,
}

/// [`Either`], taken apart.
pub(super) enum Kind<S, L> {
    Shared(S),
    Local(L),
}

impl<T> Either<T> {
    /// The handle of the task that `runnable` is of.
    ///
    /// # Panics
    /// If async-task's handle is not the address of its cell. It has been since version 1.
    #[inline]
    pub(super) fn shared(task: Shared<T>, runnable: Runnable) -> (Runnable, Self) {
        const { assert!(size_of::<Shared<T>>() == size_of::<usize>()) };
        let raw = runnable.into_raw();
        // SAFETY: just made of a runnable, which is taken back once.
        let runnable = unsafe { Runnable::from_raw(raw) };
        let this = Self {
            shared: ManuallyDrop::new(task),
        };
        assert!(
            this.address() == raw.as_ptr().addr() && !this.is_local(),
            "async-task lays its handles out otherwise than this version of terrace-local knows"
        );
        (runnable, this)
    }

    #[inline]
    pub(super) fn local(task: Local<T>) -> Self {
        const { assert!(size_of::<Local<T>>() == size_of::<usize>()) };
        let this = Self {
            local: ManuallyDrop::new(task),
        };
        debug_assert!(this.is_local());
        this
    }

    #[inline]
    fn address(&self) -> usize {
        // SAFETY: all fields are one word, and both handles are a pointer and nothing else.
        unsafe { self.address }
    }

    #[inline]
    fn is_local(&self) -> bool {
        self.address() & super::biased::TAG != 0
    }

    #[inline]
    pub(super) fn as_kind(&mut self) -> Kind<&mut Shared<T>, &mut Local<T>> {
        if self.is_local() {
            // SAFETY: the tag tells.
            Kind::Local(unsafe { &mut self.local })
        } else {
            // SAFETY: as above.
            Kind::Shared(unsafe { &mut self.shared })
        }
    }

    #[inline]
    pub(super) fn into_kind(self) -> Kind<Shared<T>, Local<T>> {
        let mut this = ManuallyDrop::new(self);
        if this.is_local() {
            // SAFETY: the tag tells, and `this` is not used any more.
            Kind::Local(unsafe { ManuallyDrop::take(&mut this.local) })
        } else {
            // SAFETY: as above.
            Kind::Shared(unsafe { ManuallyDrop::take(&mut this.shared) })
        }
    }

    /// Whether the task is done, cancelled or has panicked.
    #[inline]
    pub(super) fn is_finished(&self) -> bool {
        if self.is_local() {
            // SAFETY: the tag tells.
            unsafe { &self.local }.is_finished()
        } else {
            // SAFETY: as above.
            unsafe { &self.shared }.is_finished()
        }
    }
}

impl<T> Future for Either<T> {
    type Output = Option<Outcome<T>>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.as_kind() {
            Kind::Shared(task) => Pin::new(task).poll(context),
            Kind::Local(task) => Pin::new(task).poll(context),
        }
    }
}

impl<T> Drop for Either<T> {
    #[inline]
    fn drop(&mut self) {
        if self.is_local() {
            // SAFETY: the tag tells, and this is the last use.
            unsafe { ManuallyDrop::drop(&mut self.local) };
        } else {
            // SAFETY: as above.
            unsafe { ManuallyDrop::drop(&mut self.shared) };
        }
    }
}
