//! The outcome of a task.

use core::mem::ManuallyDrop;
use core::panic::AssertUnwindSafe;

use super::core::{PanicHandler, unhandled};
use crate::unwind::{Payload, catch_unwind};

/// A task's output or the payload of its panic, until the handle takes it.
///
/// If no handle does, its destructor hands payloads to the executor's handler. It catches a panic of the output's
/// destructor, because `async-task` would abort the process. It holds that handler rather than the executor, which may
/// be gone when a handle is dropped.
pub struct Outcome<T> {
    /// `into_result` or `drop` takes it, once.
    result: ManuallyDrop<Result<T, Payload>>,
    handler: Option<PanicHandler>,
}

/// Why a task that has ended has no outcome for its handle.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Gone {
    /// Its future was dropped before it was done.
    Cancelled,
    /// The handle took it before.
    Taken,
}

impl Gone {
    /// The panic of a thread that awaits the task all the same. It begins with the words of `async-task`, which tests of programs expect.
    #[cold]
    pub(crate) fn panic(self) -> ! {
        match self {
            Self::Cancelled => panic!(
                "Task polled after completion: its executor dropped it before it was done, as an executor does that is dropped, \
                 closed or shut down; with `Task::fallible` this is `None` instead of a panic"
            ),
            Self::Taken => panic!(
                "Task polled after completion: its output, or its panic, was taken before, and there is one; with \
                 `Task::fallible` this is `None` instead of a panic"
            ),
        }
    }
}

impl<T> Outcome<T> {
    /// An output. Asks for the handler only if the output has a destructor, which might panic.
    #[inline]
    pub(super) fn done(value: T, handler: impl FnOnce() -> Option<PanicHandler>) -> Self {
        let handler = if core::mem::needs_drop::<T>() {
            handler()
        } else {
            None
        };
        Self {
            result: ManuallyDrop::new(Ok(value)),
            handler,
        }
    }

    /// A panic.
    pub(super) fn panicked(payload: Payload, handler: Option<PanicHandler>) -> Self {
        Self {
            result: ManuallyDrop::new(Err(payload)),
            handler,
        }
    }

    /// Whether it is an output, and no panic.
    #[inline]
    pub(super) fn is_output(&self) -> bool {
        self.result.is_ok()
    }

    /// Delivers it.
    #[inline]
    pub(super) fn into_result(self) -> Result<T, Payload> {
        let mut this = ManuallyDrop::new(self);
        if core::mem::needs_drop::<T>() || this.result.is_err() {
            // Any other one has no handler.
            drop(this.handler.take());
        }
        // SAFETY: `this` is not dropped, so this is the only time that the result is taken.
        unsafe { ManuallyDrop::take(&mut this.result) }
    }
}

impl<T> Drop for Outcome<T> {
    #[inline]
    fn drop(&mut self) {
        if !core::mem::needs_drop::<T>() && self.result.is_ok() {
            return;
        }
        // SAFETY: `into_result` forgets `self`, so the result is still there, and this is its last use.
        let result = unsafe { ManuallyDrop::take(&mut self.result) };
        let payload = match result {
            Ok(value) => catch_unwind(AssertUnwindSafe(|| drop(value))).err(),
            Err(payload) => Some(payload),
        };
        if let Some(payload) = payload {
            unhandled(self.handler.take(), payload);
        }
    }
}
