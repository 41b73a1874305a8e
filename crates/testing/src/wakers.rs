//! A waker that counts.

use std::pin::Pin;
use std::task::{Context, Poll, Wake, Waker};

use terrace_sync::Arc;
use terrace_sync::atomic::{AtomicUsize, Ordering};

/// Counts the wakes of its wakers.
#[derive(Debug, Default)]
pub struct Wakes(AtomicUsize);

impl Wakes {
    /// None yet.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// A waker whose wakes are counted.
    #[must_use]
    pub fn waker(self: &Arc<Self>) -> Waker {
        Waker::from(Arc::clone(self))
    }

    /// Polls `future` with that waker.
    pub fn poll<F: Future + ?Sized>(self: &Arc<Self>, future: Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(&self.waker()))
    }

    /// How many there were since the last call.
    pub fn taken(&self) -> usize {
        // Ordering: Acquire, as in `count`.
        self.0.swap(0, Ordering::Acquire)
    }

    /// How many there were.
    #[must_use]
    pub fn count(&self) -> usize {
        // Ordering: Acquire, pairs with the wake: what the waking thread did before is seen.
        self.0.load(Ordering::Acquire)
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Ordering: Release, pairs with `count`.
        self.0.fetch_add(1, Ordering::Release);
    }
}
