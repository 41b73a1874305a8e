//! Where a woken task is queued: the methods that `terrace-local`'s task cell asks of its executor.

use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use terrace_local::task::{Core, PanicHandler, Register, Runnable, Schedule};
use terrace_sync::Arc;

use super::place::{self, Cause, Owed};
use super::runner;
use super::shared::Shared;
use crate::parts::lanes::Lane;
use crate::protocol::publish::Publish;

/// The same pool as the core of tasks of a static executor: it is never dropped, so that they need not register.
#[repr(transparent)]
pub(crate) struct Unregistered(Shared);

impl Shared {
    /// This pool as the core of tasks that do not register.
    pub(crate) fn unregistered(&self) -> &Unregistered {
        // SAFETY: `Unregistered` is a transparent wrapper of `Shared`.
        unsafe { &*std::ptr::from_ref(self).cast::<Unregistered>() }
    }

    /// A counted reference to itself, for a caller that is going to give away the reference that keeps the pool alive.
    /// Cheaper than [`arc`](Self::arc), which first checks that a reference exists.
    ///
    /// # Safety
    /// `this` came out of `Arc::into_raw`, and the reference that it stands for still exists.
    #[inline]
    unsafe fn another_reference(this: NonNull<Self>) -> Arc<Self> {
        // SAFETY: `this` came out of `Arc::into_raw` (the caller's promise), and this reference is not dropped.
        let known = ManuallyDrop::new(unsafe { Arc::from_raw(this.as_ptr()) });
        Arc::clone(&known)
    }

    /// Queues a task that was spawned, from any thread that keeps the pool alive.
    #[inline]
    pub(crate) fn push_spawned(&self, task: Runnable) {
        if let Err(task) = self.push_here(task, Cause::Spawned) {
            self.inject(task);
        }
    }

    /// Queues a task if the thread is a worker or driver of the pool; else gives it back.
    // Into each caller, which knows the cause.
    #[inline(always)]
    fn push_here(&self, task: Runnable, cause: Cause) -> Result<(), Runnable> {
        match place::place(self, task, cause)? {
            Owed::Publish => self.publish(),
            Owed::PublishUnlessWatched => self.publish_unless_watched(),
            Owed::Nothing => {}
        }
        Ok(())
    }

    /// Queues a task from a thread that is neither worker nor driver of the pool, and that keeps the pool alive.
    fn inject(&self, task: Runnable) {
        self.injector.push(task);
        self.publish();
    }

    /// Queues a runnable of a foreign cell, from any thread that keeps the pool alive.
    #[inline(always)]
    pub(crate) fn push_foreign(&self, task: Runnable, cause: Cause) {
        if let Err(task) = self.push_here(task, cause) {
            self.inject(task);
            // A thread with a seat keeps the pool open.
            self.drop_if_closed();
        }
    }

    /// Queues a task of a lane that is not the normal one, from any thread that keeps the pool alive.
    fn push_on(&self, lane: Lane, task: Runnable) {
        task.mark().queued_on_lane(lane == Lane::High);
        if lane == Lane::High {
            self.injector.note_rival();
            self.lanes.high.push(task);
            return self.publish();
        }
        self.lanes.background.push(task);
        match self.lanes.permits.after_push(self.permits()) {
            Publish::Now => self.publish(),
            Publish::Later => {}
        }
    }
}

impl Core for Shared {
    fn panic_handler(&self) -> Option<PanicHandler> {
        self.handler.clone()
    }

    fn registry(&self) -> Option<&dyn Register> {
        Some(&self.registry)
    }

    #[inline]
    unsafe fn release(this: NonNull<Self>) {
        // SAFETY: `this` is the task's reference, which came out of `Arc::into_raw`. The task gives
        // it up by this call.
        let reference = unsafe { Arc::from_raw(this.as_ptr()) };
        runner::keep_reference(reference);
    }

    const COUNTS: bool = true;

    #[inline]
    unsafe fn ended(&self) {
        runner::count_end(self);
    }

    fn abandoned(&self) {
        runner::count_end(self);
    }
}

impl Schedule for Shared {
    unsafe fn schedule(this: NonNull<Self>, task: Runnable) {
        // SAFETY: the task's reference keeps the pool alive up to the push. After a push that succeeds, the worker, or
        // the thread that polls the driver, keeps the pool alive.
        if let Err(task) = unsafe { this.as_ref() }.push_here(task, Cause::Woken) {
            // SAFETY: the task's reference, which has not been pushed, came out of `Arc::into_raw`.
            let pool = unsafe { Self::another_reference(this) };
            pool.inject(task);
        }
    }

    unsafe fn schedule_again(this: NonNull<Self>, task: Runnable) {
        // The task has yielded, so it goes to the back of the queue.
        // SAFETY: the task's reference keeps the pool alive up to the push. After a push that succeeds, the worker, or
        // the thread that polls the driver, keeps the pool alive.
        if let Err(task) = unsafe { this.as_ref() }.push_here(task, Cause::Yielded) {
            // SAFETY: the task's reference, which has not been pushed, came out of `Arc::into_raw`.
            let pool = unsafe { Self::another_reference(this) };
            pool.inject(task);
        }
    }
}

impl Core for Unregistered {
    fn panic_handler(&self) -> Option<PanicHandler> {
        self.0.handler.clone()
    }

    const COUNTS: bool = true;

    #[inline]
    unsafe fn ended(&self) {
        runner::count_end(&self.0);
    }

    fn abandoned(&self) {
        runner::count_end(&self.0);
    }
}

impl Schedule for Unregistered {
    unsafe fn schedule(this: NonNull<Self>, task: Runnable) {
        // SAFETY: the pool of these tasks is never dropped.
        let pool = &unsafe { this.as_ref() }.0;
        if let Err(task) = pool.push_here(task, Cause::Woken) {
            pool.inject(task);
        }
    }

    unsafe fn schedule_again(this: NonNull<Self>, task: Runnable) {
        // SAFETY: the pool of these tasks is never dropped.
        let pool = &unsafe { this.as_ref() }.0;
        if let Err(task) = pool.push_here(task, Cause::Yielded) {
            pool.inject(task);
        }
    }
}

/// A counted reference to the pool, as one to another core of its tasks.
///
/// # Safety
/// `W` is a transparent wrapper of [`Shared`].
pub(crate) unsafe fn wrapped<W>(pool: Arc<Shared>) -> Arc<W> {
    let pool = Arc::into_raw(pool).cast::<W>();
    // SAFETY: the pointer comes out of `into_raw` of an `Arc<Shared>`, which `W` wraps transparently (the caller's promise).
    unsafe { Arc::from_raw(pool) }
}

/// The pool as the core of tasks of one lane: of the high lane if `HIGH`, else of the background lane.
#[repr(transparent)]
pub(crate) struct OnLane<const HIGH: bool>(Shared);

impl<const HIGH: bool> OnLane<HIGH> {
    /// A reference that counts.
    pub(crate) fn counted(pool: Arc<Shared>) -> Arc<Self> {
        // SAFETY: this type wraps `Shared` transparently.
        unsafe { wrapped(pool) }
    }
}

impl<const HIGH: bool> Core for OnLane<HIGH> {
    fn panic_handler(&self) -> Option<PanicHandler> {
        Core::panic_handler(&self.0)
    }

    fn registry(&self) -> Option<&dyn Register> {
        Core::registry(&self.0)
    }

    const COUNTS: bool = true;

    #[inline]
    unsafe fn ended(&self) {
        runner::count_end(&self.0);
    }

    fn abandoned(&self) {
        runner::count_end(&self.0);
    }
}

impl<const HIGH: bool> Schedule for OnLane<HIGH> {
    unsafe fn schedule(this: NonNull<Self>, task: Runnable) {
        let lane = if HIGH { Lane::High } else { Lane::Background };
        // SAFETY: the task's reference keeps the pool alive up to the push.
        let pool = unsafe { &this.as_ref().0 };
        // That reference goes with the push, so the push needs another one.
        pool.arc().push_on(lane, task);
    }
}
