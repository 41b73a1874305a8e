//! Driving an executor from a future: `run` and `tick` of both kinds.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use crate::core::LocalCore;
use crate::driver::Driver;

/// Runnables polled by `run` between two polls of its own future.
const RUN_BATCH: usize = 200;

/// Waits until a task is queued and polls it.
///
/// # Safety
/// The returned future stays on the owner's thread.
pub(crate) async unsafe fn tick(core: &LocalCore) {
    // SAFETY: forwarded to the caller.
    let mut driver = unsafe { Driver::new(&core.mailbox) };
    poll_fn(|context| {
        driver.wake_up();
        match driver.take_or_sleep(context.waker()) {
            Some(task) => {
                // SAFETY: forwarded to the caller.
                unsafe { core.run(task) };
                Poll::Ready(())
            }
            None => Poll::Pending,
        }
    })
    .await;
}

/// Runs tasks until `future` is done; sleeps while there is nothing to do.
///
/// # Safety
/// The returned future stays on the owner's thread.
pub(crate) async unsafe fn run<T>(core: &LocalCore, future: impl Future<Output = T>) -> T {
    // SAFETY: forwarded to the caller.
    let mut driver = unsafe { Driver::new(&core.mailbox) };
    // Dropped before the driver: its destructor may spawn, and the driver looks last.
    let mut future = pin!(future);
    poll_fn(|context| {
        driver.wake_up();
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            return Poll::Ready(output);
        }
        for _ in 0..RUN_BATCH {
            match driver.take_or_sleep(context.waker()) {
                // SAFETY: forwarded to the caller.
                Some(task) => unsafe { core.run(task) },
                None => return Poll::Pending,
            }
        }
        // More to do: let the others of this thread have their turn.
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}
