//! What a task knows of its executor.

use core::mem::ManuallyDrop;
use core::panic::AssertUnwindSafe;
use core::ptr::NonNull;

use terrace_queue::{Link, Links};
use terrace_sync::Arc;

use super::{Register, Runnable};
use crate::Payload;
use crate::mailbox::Queueable;
use crate::unwind::catch_unwind;

/// The part of an executor that its tasks reach: where they are queued when woken.
pub trait Core: Send + Sync + 'static {
    /// Queues a task that was woken, or that is to be dropped where the executor runs.
    ///
    /// The task may hold the last reference to this core, and may be run and freed by another thread as soon
    /// as it is queued. What is needed after the push must be copied out of `self` before.
    ///
    /// # Safety
    /// `task` was made with a reference to this core.
    unsafe fn schedule(&self, task: Runnable);

    /// Receives the payload of a panic that no handle will see. A panic in here is swallowed.
    fn unhandled_panic(&self, payload: Payload);

    /// Where tasks register for the time they are pending; `None` for executors that are never dropped.
    fn registry(&self) -> Option<&dyn Register>;
}

/// A task's reference to its core.
#[derive(Clone)]
pub enum CoreRef {
    /// A core that lives for ever: no counting.
    Static(&'static dyn Core),
    /// A counted reference.
    Shared(Arc<dyn Core>),
    /// A core that outlives the task by other means, see [`CoreRef::borrowed`].
    Borrowed(Borrowed),
}

/// The same reference, its type forgotten. (The counted pointers of targets without compare-exchange do not coerce.)
#[inline]
#[must_use]
pub fn erased<C: Core>(core: Arc<C>) -> Arc<dyn Core> {
    let core: *const dyn Core = Arc::into_raw(core);
    // SAFETY: the pointer comes out of `into_raw`; its value has become an unsized view of the same one.
    unsafe { Arc::from_raw(core) }
}

/// See [`CoreRef::borrowed`].
#[derive(Clone, Copy)]
pub struct Borrowed(NonNull<dyn Core>);

// SAFETY: it stands for a shared reference to a core, and `Core: Sync`.
unsafe impl Send for Borrowed {}
// SAFETY: as above.
unsafe impl Sync for Borrowed {}

impl CoreRef {
    /// A reference that counts nothing.
    ///
    /// # Safety
    /// The core stays in place until the future of every task made with this reference has been dropped.
    pub unsafe fn borrowed(core: NonNull<dyn Core>) -> Self {
        Self::Borrowed(Borrowed(core))
    }

    /// The core.
    #[inline]
    pub(crate) fn as_ptr(&self) -> NonNull<dyn Core> {
        match self {
            Self::Static(core) => NonNull::from(*core),
            Self::Shared(core) => NonNull::from(&**core),
            Self::Borrowed(core) => core.0,
        }
    }

    /// Hands over a payload that nobody else will see.
    ///
    /// # Safety
    /// A borrowed core is still in place.
    pub(crate) unsafe fn unhandled_panic(&self, payload: Payload) {
        // SAFETY: counted and static cores are alive, a borrowed one by the caller's promise.
        let core = unsafe { self.as_ptr().as_ref() };
        // Handlers come from users, and this runs in destructors, where async-task would abort the process.
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| core.unhandled_panic(payload))) {
            crate::drop_payload(payload);
        }
    }
}

/// What each task cell holds beside its future.
pub struct Meta {
    pub(crate) core: CoreRef,
    /// For the inbox of a core.
    link: Link,
}

impl Meta {
    pub(crate) fn new(core: CoreRef) -> Self {
        Self {
            core,
            link: Link::new(),
        }
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
        NonNull::from(&task.metadata().link)
    }
}

impl Queueable for Runnable {
    type Links = RunnableLinks;
}
