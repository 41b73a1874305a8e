//! [`Hook`]: what a push calls.

use alloc::boxed::Box;

use crate::unwind::contain;

/// A function that wakes the event loop or the thread which drives an executor. The thread that pushes calls it, or without
/// feature `std` the context that does.
pub(crate) struct Hook {
    /// There until it is dropped.
    call: Option<Box<dyn Fn() + Send + Sync>>,
}

impl Hook {
    pub(crate) fn new(call: impl Fn() + Send + Sync + 'static) -> Self {
        Self {
            call: Some(Box::new(call)),
        }
    }

    /// Calls it. A panic must not unwind into a thread that wakes a task.
    pub(crate) fn call(&self) {
        if let Some(call) = &self.call {
            contain(call);
        }
    }
}

impl Drop for Hook {
    /// Drops the user's closure. A wake may do so, where nothing must unwind.
    fn drop(&mut self) {
        let call = self.call.take();
        contain(|| drop(call));
    }
}
