//! The number under which the hooks of `terrace-trace` know the current thread.

use std::cell::Cell;

terrace_sync::thread_local! {
    /// Of the worker whose loop runs on this thread. Plain data without a destructor, so that it can be read at any time in
    /// the thread's life.
    static INDEX: Cell<usize> = const { Cell::new(terrace_trace::EXTERNAL) };
}

/// The number.
#[inline]
pub(crate) fn get() -> usize {
    if !terrace_trace::ENABLED {
        return terrace_trace::EXTERNAL;
    }
    INDEX.with(Cell::get)
}

/// The thread has this number from now on.
pub(crate) fn set(index: usize) {
    if terrace_trace::ENABLED {
        INDEX.with(|current| current.set(index));
    }
}
