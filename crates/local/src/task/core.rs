//! A task's view of its executor.

use alloc::boxed::Box;
use core::ptr::NonNull;

use terrace_sync::Arc;

use super::runnable::Runnable;
use crate::registry::Register;
use crate::unwind::{Callback, Contained, Payload, contain, drop_payload};

/// Receives the payloads of panics that no handle sees: of detached tasks, and of outputs' destructors. Counted, and one word
/// in size.
#[derive(Clone)]
pub struct PanicHandler(Arc<Callback<dyn Fn(Payload) + Send + Sync>>);

impl PanicHandler {
    /// A handler.
    pub fn new(handler: impl Fn(Payload) + Send + Sync + 'static) -> Self {
        Self(Arc::new(Contained(Some(Box::new(handler)))))
    }

    /// Hands over a payload. Catches and drops a panic of the handler.
    pub fn call(&self, payload: Payload) {
        if let Some(handler) = &self.0.0 {
            contain(|| handler(payload));
        }
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
        // SAFETY: the caller gives back, once, what came out of `Arc::into_raw`.
        drop(unsafe { Arc::from_raw(this.as_ptr()) });
    }

    /// The handler that gets the payloads of panics which no handle sees. Without one the task drops them; the panic hook has
    /// reported them before.
    fn panic_handler(&self) -> Option<PanicHandler> {
        None
    }

    /// Where tasks register for the time they are pending.
    fn registry(&self) -> Option<&dyn Register> {
        None
    }

    /// Whether tasks call [`ended`](Self::ended) and [`abandoned`](Self::abandoned).
    const COUNTS: bool = false;

    /// The future of a task has ended, and has just been dropped. Each task calls this or [`abandoned`](Self::abandoned), once. One
    /// that ends in [`poll_at_spawn`](super::poll_at_spawn) calls neither, as its spawner counts it.
    ///
    /// # Safety
    /// Called from the last poll of a task of the executor.
    unsafe fn ended(&self) {}

    /// The future of a task has just been dropped, before it ended. Called on the thread that dropped it.
    fn abandoned(&self) {}
}

/// A core of tasks on async-task's cells: where woken tasks are queued.
pub trait Schedule: Core {
    /// Queues a task that was woken, or whose future is to be dropped where the executor runs.
    ///
    /// The reference that keeps `this` in place may go with the push. As soon as the task is queued, another thread may
    /// run and free it, and end the executor. So an implementation copies out beforehand what it needs after the push.
    /// For the same reason it gets a pointer rather than a reference, which would have to stay valid to the end of the
    /// call.
    ///
    /// # Safety
    /// `task` was made with a reference to `this`, and its future has not been dropped.
    unsafe fn schedule(this: NonNull<Self>, task: Runnable);

    /// The same for a task that was woken during its poll, called by the thread that polled it: mostly it has yielded.
    ///
    /// # Safety
    /// As [`schedule`](Self::schedule).
    #[inline]
    unsafe fn schedule_again(this: NonNull<Self>, task: Runnable) {
        // SAFETY: the contract of this method is that of `schedule`.
        unsafe { Self::schedule(this, task) }
    }
}

/// A task's reference to its core.
pub enum CoreRef<C: Core> {
    /// A core that is never freed: no counting.
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
    /// The core stays in place until the future of every task made with this reference has been dropped. In two cases
    /// it stays longer, until the call that dropped the future returns (`run` or `drop` of the runnable or item). One
    /// is that the core counts or has a registry. The other is that tasks may panic in their poll, their destructor or
    /// their output's destructor.
    #[inline]
    pub unsafe fn borrowed(core: NonNull<C>) -> Self {
        Self::Borrowed(Borrowed(core))
    }

    /// Whether [`into_ptr`](Self::into_ptr) returns a counted reference, as `Arc::into_raw` does.
    #[inline]
    pub(super) fn is_counted(&self) -> bool {
        matches!(self, Self::Shared(_))
    }

    /// The core.
    #[inline]
    pub(super) fn into_ptr(self) -> NonNull<C> {
        match self {
            Self::Static(core) => NonNull::from(core),
            Self::Borrowed(core) => core.0,
            // SAFETY: the pointer of an `Arc` is not null.
            Self::Shared(core) => unsafe { NonNull::new_unchecked(Arc::into_raw(core).cast_mut()) },
        }
    }
}

/// Hands over a payload that no handle will see.
pub(super) fn unhandled(handler: Option<PanicHandler>, payload: Payload) {
    match handler {
        None => drop_payload(payload),
        Some(handler) => handler.call(payload),
    }
}
