//! What a task ends with.

use core::mem::ManuallyDrop;
use core::panic::AssertUnwindSafe;

use super::CoreRef;
use crate::Payload;
use crate::unwind::catch_unwind;

/// A task's output or the payload of its panic, until the handle takes it.
///
/// If nobody does, the destructor catches what the output's destructor throws, since `async-task` would abort
/// the process, and hands payloads to the core's handler.
pub struct Outcome<T> {
    /// Taken by `into_result` or by `drop`, whichever comes first.
    result: ManuallyDrop<Result<T, Payload>>,
    /// Where an undelivered payload goes; `None` where there cannot be one. Counted, because the handle may
    /// free the task cell, and the core with it, before it drops the outcome.
    core: Option<CoreRef>,
}

impl<T> Outcome<T> {
    /// An output. The core is referenced only if the output has a destructor that might panic.
    pub(crate) fn done(value: T, core: &CoreRef) -> Self {
        let core = core::mem::needs_drop::<T>().then(|| core.clone());
        Self {
            result: ManuallyDrop::new(Ok(value)),
            core,
        }
    }

    /// A panic.
    pub(crate) fn panicked(payload: Payload, core: &CoreRef) -> Self {
        Self {
            result: ManuallyDrop::new(Err(payload)),
            core: Some(core.clone()),
        }
    }

    /// Delivers it.
    pub(crate) fn into_result(self) -> Result<T, Payload> {
        let mut this = ManuallyDrop::new(self);
        drop(this.core.take());
        // SAFETY: `this` is not dropped, so this is the only time that the result is taken.
        unsafe { ManuallyDrop::take(&mut this.result) }
    }
}

impl<T> Drop for Outcome<T> {
    fn drop(&mut self) {
        let Some(core) = self.core.take() else {
            // Without a core the output needs no destructor.
            return;
        };
        // SAFETY: `into_result` forgets `self`, so the result is still there, and this is its last use.
        let result = unsafe { ManuallyDrop::take(&mut self.result) };
        let payload = match result {
            Ok(value) => catch_unwind(AssertUnwindSafe(|| drop(value))).err(),
            Err(payload) => Some(payload),
        };
        if let Some(payload) = payload {
            // SAFETY: tasks with a borrowed core are detached from the start and hand over their panics before
            // they end, so that the core of an outcome with a payload is counted or static.
            unsafe { core.unhandled_panic(payload) };
        }
    }
}
