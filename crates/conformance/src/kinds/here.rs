//! A reference that travels with `Send` tasks and is used on one thread only.

use terrace_local::{ThreadNumber, thread_id};

/// A value of one thread, in the hands of tasks that stay on that thread but must be `Send` to be spawned on every
/// kind.
#[derive(Clone)]
pub(crate) struct Here<T> {
    thread: ThreadNumber,
    value: T,
}

// SAFETY: only `get` gives access to the value, and it checks the thread. Clones and drops may run on any thread, which
// `new` asks for.
unsafe impl<T> Send for Here<T> {}
// SAFETY: a shared reference reaches the value only through `get`, which checks the thread, or by a
// clone, which `new` allows on any thread.
unsafe impl<T> Sync for Here<T> {}

impl<T> Here<T> {
    /// # Safety
    /// The value may be cloned and dropped on any thread.
    pub(crate) unsafe fn new(value: T) -> Self {
        let thread = thread_id();
        Self { thread, value }
    }

    /// The value; ends the process on another thread than its own.
    pub(crate) fn get(&self) -> &T {
        if thread_id() != self.thread {
            // A panic could be caught together with those that behaviours provoke.
            eprintln!("a task of a single-thread executor is on another thread");
            std::process::abort();
        }
        &self.value
    }
}
