//! A reference that travels with `Send` tasks and is used on one thread only.

use terrace_local::{ThreadNumber, thread_id};

/// A value of one thread, in the hands of tasks that stay on that thread but must be `Send` to be spawned on every
/// kind.
#[derive(Clone)]
pub(crate) struct Here<T> {
    thread: ThreadNumber,
    value: T,
}

// SAFETY: `get` checks the thread. What is not reached through it is cloned and dropped anywhere, which `new` asks for.
unsafe impl<T> Send for Here<T> {}
// SAFETY: as above.
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
