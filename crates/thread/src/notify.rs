//! [`Notify`]: the handle that wakes a thread.

use terrace_sync::Arc;

/// Wakes a thread where it waits.
/// [`set_notify`](crate::set_notify) has an example.
#[doc(alias("Wake", "Unparker"))]
pub trait Notify: Send + Sync {
    /// Makes the thread look at its queues again, now or before it sleeps next.
    /// [`notifier`](crate::notifier) has an example.
    fn notify(&self);
}

impl<N: Notify + ?Sized> Notify for Arc<N> {
    #[inline]
    fn notify(&self) {
        (**self).notify();
    }
}

/// A shared [`Notify`].
pub type NotifyRef = Arc<dyn Notify>;
