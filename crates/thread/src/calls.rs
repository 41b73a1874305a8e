//! Calls: tasks that a thread also runs where it waits inside of another task: parts of broadcasts, and children of scopes that only this
//! thread may run.
//!
//! A thread that ends drops those that it has not run, and those that wait: it wakes them, which queues them. A thread that
//! queues one later drops it by itself: see [`closed`](crate::closed).

use std::ptr::NonNull;
use std::task::Waker;

use terrace_local::registry::key;
use terrace_local::task::{Core, Register, Runnable, Schedule};

use crate::pinned::Pinned;
use crate::waking::another;

impl Pinned {
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
        for call in self.waiting() {
            call.wake();
        }
        self.drop_calls();
    }

    fn waiting(&self) -> Vec<Waker> {
        let waiting = self.waiting.lock();
        waiting.iter().map(|(_, call)| call.clone()).collect()
    }

    fn drop_calls(&self) {
        while let Some(call) = self.children.pop() {
            drop(call);
        }
    }
}

impl Core for Pinned {
    fn registry(&self) -> Option<&dyn Register> {
        Some(self)
    }
}

impl Register for Pinned {
    unsafe fn insert(&self, waker: &Waker) -> u32 {
        let call = waker.clone();
        let key = key(self.waiting.lock().insert(call));
        // This very poll has closed the thread to calls.
        if self.closed.is_set() {
            waker.wake_by_ref();
        }
        key
    }

    unsafe fn remove(&self, key: u32) -> Option<Waker> {
        self.waiting.lock().try_remove(key as usize)
    }
}

impl Schedule for Pinned {
    unsafe fn schedule(this: NonNull<Self>, task: Runnable) {
        // SAFETY: the task's reference, out of `Arc::into_raw`, keeps the core up to the push.
        let this = unsafe { another(this.as_ptr()) };
        this.children.push(task);
        this.tell_of_calls();
    }
}
