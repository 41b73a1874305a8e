//! What is called when there is something to run.

use alloc::boxed::Box;
use core::panic::AssertUnwindSafe;

use crate::unwind::catch_unwind;

/// A function that wakes whoever drives an executor. It is called on whatever thread, and without feature `std` in
/// whatever context, pushes.
pub(crate) struct Hook {
    call: Box<dyn Fn() + Send + Sync>,
    /// Whether the owner's own pushes call it, too.
    pub(crate) for_owner: bool,
}

impl Hook {
    pub(crate) fn new(call: impl Fn() + Send + Sync + 'static, for_owner: bool) -> Self {
        Self {
            call: Box::new(call),
            for_owner,
        }
    }

    /// Calls it. A panic must not unwind into whoever woke a task.
    pub(crate) fn call(&self) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| (self.call)())) {
            crate::drop_payload(payload);
        }
    }
}
