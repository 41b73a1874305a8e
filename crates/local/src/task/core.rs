//! What a task knows of its executor.

use alloc::boxed::Box;
use core::mem::ManuallyDrop;
use core::panic::AssertUnwindSafe;
use core::ptr::NonNull;

use terrace_queue::{Link, Links};
use terrace_sync::Arc;

use super::{Register, Runnable};
use crate::Payload;
use crate::unwind::catch_unwind;

/// Receives the payloads of panics that no handle will see: of detached tasks, of outputs' destructors. Counted, and one
/// word in size.
#[derive(Clone)]
pub struct PanicHandler(Arc<Handler>);

type Handler = Box<dyn Fn(Payload) + Send + Sync>;

impl PanicHandler {
    /// A handler.
    pub fn new(handler: impl Fn(Payload) + Send + Sync + 'static) -> Self {
        Self(Arc::new(Box::new(handler)))
    }

    /// Hands over a payload. A panic of the handler is caught and dropped.
    pub fn call(&self, payload: Payload) {
        contain(|| (self.0)(payload));
    }
}

/// Calls what must not unwind: async-task would abort the process, or the caller is a destructor or finishes a task.
pub(super) fn contain(f: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        crate::drop_payload(payload);
    }
}

/// The part of an executor that its tasks reach.
pub trait Core: Send + Sync + Sized + 'static {
    /// Takes back the counted reference of a task whose future has been dropped.
    ///
    /// # Safety
    /// `this` came out of `Arc::into_raw`, and is given back once.
    #[inline]
    unsafe fn release(this: NonNull<Self>) {
        // SAFETY: forwarded to the caller.
        drop(unsafe { Arc::from_raw(this.as_ptr()) });
    }

    /// Who gets the payloads of panics that no handle will see; without one they are dropped, the panic hook having
    /// reported them.
    fn panic_handler(&self) -> Option<PanicHandler> {
        None
    }

    /// Where tasks register for the time they are pending.
    fn registry(&self) -> Option<&dyn Register> {
        None
    }

    /// Whether [`ended`](Self::ended) is called.
    const COUNTS: bool = false;

    /// The future of a task has just been dropped: called once for each, on the thread that dropped it.
    fn ended(&self) {}
}

/// A core of tasks on async-task's cells: where they are queued when woken.
pub trait Schedule: Core {
    /// Queues a task that was woken, or that is to be dropped where the executor runs.
    ///
    /// What keeps `this` in place may go with the push: another thread may run and free the task, and end the executor, as
    /// soon as it is queued. What is needed after the push is copied out before; hence a pointer rather than a
    /// reference, which would have to stay valid to the end of the call.
    ///
    /// # Safety
    /// `task` was made with a reference to `this`, and its future has not been dropped.
    unsafe fn schedule(this: NonNull<Self>, task: Runnable);

    /// The same for a task that was woken while it was polled, called by whoever polled it: mostly it has yielded.
    ///
    /// # Safety
    /// As [`schedule`](Self::schedule).
    #[inline]
    unsafe fn schedule_again(this: NonNull<Self>, task: Runnable) {
        // SAFETY: forwarded to the caller.
        unsafe { Self::schedule(this, task) }
    }
}

/// A task's reference to its core.
pub enum CoreRef<C: Core> {
    /// A core that lives for ever: no counting.
    Static(&'static C),
    /// A counted reference.
    Shared(Arc<C>),
    /// A core that outlives the task by other means, see [`CoreRef::borrowed`].
    Borrowed(Borrowed<C>),
}

/// See [`CoreRef::borrowed`].
pub struct Borrowed<C>(NonNull<C>);

impl<C: Core> CoreRef<C> {
    /// A reference that counts nothing.
    ///
    /// # Safety
    /// The core stays in place until the future of every task made with this reference has been dropped. A core that
    /// counts or has a registry, or whose tasks may panic in their poll, their destructor or their output's, stays until the call
    /// that dropped the future, of the runnable's or the item's `run` or `drop`, returns.
    #[inline]
    pub unsafe fn borrowed(core: NonNull<C>) -> Self {
        Self::Borrowed(Borrowed(core))
    }

    /// The core, and whether the pointer is a counted reference, as of `Arc::into_raw`.
    #[inline]
    pub(super) fn into_raw(self) -> (NonNull<C>, bool) {
        match self {
            Self::Static(core) => (NonNull::from(core), false),
            Self::Borrowed(core) => (core.0, false),
            Self::Shared(core) => {
                // SAFETY: the pointer of an `Arc` is not null.
                let core = unsafe { NonNull::new_unchecked(Arc::into_raw(core).cast_mut()) };
                (core, true)
            }
        }
    }
}

/// What each of async-task's cells holds beside its future: the core, of the type that the cell's schedule function knows. The
/// reference to it is the future's, so this is good as long as that lives, which is as long as the task can be scheduled.
pub struct Meta {
    core: NonNull<()>,
    /// For the inbox of a core.
    link: Link,
}

// SAFETY: it stands for a reference to a core, and cores are Send and Sync.
unsafe impl Send for Meta {}
// SAFETY: as above.
unsafe impl Sync for Meta {}

impl Meta {
    #[inline]
    pub(super) fn new<C: Core>(core: NonNull<C>) -> Self {
        Self {
            core: core.cast(),
            link: Link::new(),
        }
    }

    /// The core of a task that was built with a `CoreRef<C>`.
    #[inline]
    pub(super) fn core<C>(&self) -> NonNull<C> {
        self.core.cast()
    }
}

/// Finds the link of a [`Runnable`]. There is one of a task at a time, and while it is queued its cell stays in place.
pub struct RunnableLinks(());

// SAFETY: a runnable is a pointer of its own to its cell, where the metadata stays until the runnable is gone. None of
// the three runs a schedule function, a future or a waker.
unsafe impl Links for RunnableLinks {
    type Item = Runnable;

    #[inline]
    fn into_raw(task: Runnable) -> NonNull<()> {
        task.into_raw()
    }

    #[inline]
    unsafe fn from_raw(raw: NonNull<()>) -> Runnable {
        // SAFETY: forwarded to the caller.
        unsafe { Runnable::from_raw(raw) }
    }

    #[inline]
    unsafe fn link(raw: NonNull<()>) -> NonNull<Link> {
        // SAFETY: forwarded to the caller; it is not dropped, so this one does not count.
        let task = ManuallyDrop::new(unsafe { Runnable::from_raw(raw) });
        NonNull::from(Self::link_of(&task))
    }
}

impl RunnableLinks {
    #[inline]
    pub(super) fn link_of(task: &Runnable) -> &Link {
        &task.metadata().link
    }
}

/// Hands over a payload that nobody else will see.
pub(super) fn unhandled(handler: Option<PanicHandler>, payload: Payload) {
    match handler {
        None => crate::drop_payload(payload),
        Some(handler) => {
            handler.call(payload);
            release_handler(handler);
        }
    }
}

/// Drops a reference to a handler: it may be the last one, and what the handler holds is the user's.
pub(super) fn release_handler(handler: PanicHandler) {
    contain(|| drop(handler));
}
