//! Calls: tasks that a thread also runs where it waits inside of another task: parts of broadcasts, and children of scopes that only this
//! thread may run.
//!
//! A thread that ends drops those that it has not run, and a thread that
//! queues one later drops it by itself: see [`closed`](crate::closed).

use std::future::Future;
use std::ptr::NonNull;

use terrace_local::Task;
use terrace_local::task::{self, Core, CoreRef, Runnable, Schedule};
use terrace_sync::Arc;

use crate::pinned::{Pinned, another};

impl Pinned {
    /// Queues a task that only this thread may run, from any thread. If the thread drops its tasks first, the task counts as
    /// cancelled. The thread is not told: the caller calls [`tell_of_calls`](Self::tell_of_calls) afterwards. No code of the program runs
    /// in this.
    ///
    /// # Safety
    /// As [`ThreadSpawner::call_borrowing`](crate::ThreadSpawner::call_borrowing).
    #[cfg_attr(feature = "timeline", track_caller)]
    pub(crate) unsafe fn queue_call<T: Send>(
        self: &Arc<Self>,
        future: impl Future<Output = T>,
    ) -> Task<T> {
        let core = CoreRef::Shared(Arc::clone(self));
        // SAFETY: future and output are `Send`, so the task may run and be dropped anywhere; or this thread made the future, and runs
        // and drops it. What they borrow lives for as long (the caller's promise).
        let (runnable, task) = unsafe { task::build(core, future) };
        self.children.push(runnable);
        task
    }

    /// Wakes the thread for calls that were queued. If it has dropped its tasks, the caller drops them.
    pub(crate) fn tell_of_calls(&self) {
        // It fences between the push and the look below.
        self.notify();
        if self.closed.is_set() {
            self.drop_calls();
        }
    }

    /// The thread drops its tasks: from now on each call is dropped. No scope is open on it, so all that is queued are calls.
    pub(crate) fn close_to_calls(&self) {
        self.closed.set();
        self.drop_calls();
    }

    fn drop_calls(&self) {
        while let Some(call) = self.children.pop() {
            drop(call);
        }
    }
}

impl Core for Pinned {}

impl Schedule for Pinned {
    unsafe fn schedule(this: NonNull<Self>, task: Runnable) {
        // SAFETY: the task's reference, out of `Arc::into_raw`, keeps the core up to the push.
        let this = unsafe { another(this.as_ptr()) };
        this.children.push(task);
        this.tell_of_calls();
    }
}
