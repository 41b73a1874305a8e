//! A gate that one task waits at, and that any thread or task opens.

use std::future::poll_fn;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Waker};

/// One task waits until the gate opens; one opening lets one wait pass. Costs the same for every contender: a lock, a
/// flag, and the contender's own waker.
#[derive(Default)]
pub struct Gate {
    open: AtomicBool,
    waiter: Mutex<Option<Waker>>,
}

impl Gate {
    /// Lets the next wait, or the one under way, pass.
    pub fn open(&self) {
        // Ordering: Release, pairs with the swap in `pass`; the lock orders it with the registration.
        self.open.store(true, Ordering::Release);
        let waiter = self.waiter.lock().expect("no holder panics").take();
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    }

    /// Waits until opened, then closes again.
    pub async fn pass(&self) {
        poll_fn(|context| {
            let mut waiter = self.waiter.lock().expect("no holder panics");
            // Ordering: Acquire, pairs with the store in `open`.
            if self.open.swap(false, Ordering::AcqRel) {
                return Poll::Ready(());
            }
            *waiter = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Whether a task waits here.
    pub fn is_waited_for(&self) -> bool {
        self.waiter.lock().expect("no holder panics").is_some()
    }
}
