//! Where a task goes that is to run: what `terrace-local`'s task cell asks of its executor.

use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use terrace_local::task::{Core, PanicHandler, Register, Runnable, Schedule};
use terrace_park::Wake;
use terrace_sync::Arc;

use super::context::Placed;
use super::{LANE, Shared, context};

/// The same pool as the core of tasks of a static executor: it is never dropped, so that they need not register.
#[repr(transparent)]
pub(crate) struct Unregistered(Shared);

impl Shared {
    /// This pool as the core of tasks that do not register.
    pub(crate) fn unregistered(&self) -> &Unregistered {
        // SAFETY: `Unregistered` is a transparent wrapper of `Shared`.
        unsafe { &*std::ptr::from_ref(self).cast::<Unregistered>() }
    }

    /// A counted reference to itself, for who is going to give away the one by which it is known to live. Cheaper than
    /// [`arc`](Self::arc), which looks whether there is one.
    ///
    /// # Safety
    /// `this` came out of `Arc::into_raw`, of a reference that there is at this time.
    #[inline]
    unsafe fn another_reference(this: NonNull<Self>) -> Arc<Self> {
        // SAFETY: the caller's; and this one is not dropped.
        let known = ManuallyDrop::new(unsafe { Arc::from_raw(this.as_ptr()) });
        Arc::clone(&known)
    }

    /// Queues a task from any thread that keeps the pool alive.
    #[inline]
    pub(crate) fn push_task(&self, task: Runnable) {
        context::push_local(self, task);
        self.publish();
    }

    /// Queues a task from a thread that is neither worker nor driver of the pool, and keeps it alive.
    fn inject(&self, task: Runnable) {
        context::inject(self, task);
        self.publish();
    }

    /// Queues a task that has yielded; gives it back on a thread that is neither worker nor driver.
    #[inline]
    fn push_again(&self, task: Runnable) -> Result<(), Runnable> {
        if context::push_again(self, task)? {
            self.publish();
        }
        Ok(())
    }

    /// Queues a task that another one woke; gives it back on a thread that is neither worker nor driver.
    #[inline]
    fn push_woken(&self, task: Runnable) -> Result<(), Runnable> {
        match context::push_woken(self, task)? {
            Placed::Queue => self.publish(),
            Placed::Slot => {
                if self.idle.publish_paced(LANE, false) != Wake::Guarded {
                    self.notify_outside(1);
                }
            }
        }
        Ok(())
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
        // SAFETY: forwarded to the caller.
        let reference = unsafe { Arc::from_raw(this.as_ptr()) };
        context::keep_reference(reference);
    }

    const COUNTS: bool = true;

    #[inline]
    fn ended(&self) {
        self.count_end();
    }
}

impl Schedule for Shared {
    unsafe fn schedule(this: NonNull<Self>, task: Runnable) {
        // SAFETY: the task refers to its pool, which is alive up to the push, and longer where that succeeds: the worker, or
        // who polls the driver, keeps it alive.
        if let Err(task) = unsafe { this.as_ref() }.push_woken(task) {
            // SAFETY: the task's, which has not been pushed.
            let pool = unsafe { Self::another_reference(this) };
            pool.inject(task);
        }
    }

    unsafe fn schedule_again(this: NonNull<Self>, task: Runnable) {
        // To the back of the queue: it has yielded.
        // SAFETY: as in `schedule`.
        if let Err(task) = unsafe { this.as_ref() }.push_again(task) {
            // SAFETY: as in `schedule`.
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
    fn ended(&self) {
        self.0.count_end();
    }
}

impl Schedule for Unregistered {
    unsafe fn schedule(this: NonNull<Self>, task: Runnable) {
        // SAFETY: the pool of these tasks is never dropped.
        let pool = &unsafe { this.as_ref() }.0;
        if let Err(task) = pool.push_woken(task) {
            pool.inject(task);
        }
    }

    unsafe fn schedule_again(this: NonNull<Self>, task: Runnable) {
        // SAFETY: the pool of these tasks is never dropped.
        let pool = &unsafe { this.as_ref() }.0;
        if let Err(task) = pool.push_again(task) {
            pool.inject(task);
        }
    }
}
