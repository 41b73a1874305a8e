//! What a task ends with.

use core::mem::ManuallyDrop;
use core::panic::AssertUnwindSafe;

use super::PanicHandler;
use super::core::{release_handler, unhandled};
use crate::Payload;
use crate::unwind::catch_unwind;

/// A task's output or the payload of its panic, until the handle takes it.
///
/// If nobody does, the destructor catches what the output's destructor throws, since `async-task` would abort
/// the process, and hands payloads to the executor's handler. It holds that handler rather than the executor, which may
/// be gone when a handle is dropped.
pub struct Outcome<T> {
    /// Taken by `into_result` or by `drop`, whichever comes first.
    result: ManuallyDrop<Result<T, Payload>>,
    handler: Option<PanicHandler>,
}

impl<T> Outcome<T> {
    /// An output. The handler is asked for only if the output has a destructor that might panic.
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

    /// Delivers it.
    #[inline]
    pub(super) fn into_result(self) -> Result<T, Payload> {
        let mut this = ManuallyDrop::new(self);
        drop(this.handler.take());
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
        let handler = self.handler.take();
        if let Some(payload) = payload {
            unhandled(handler, payload);
        } else if let Some(handler) = handler {
            release_handler(handler);
        }
    }
}
