//! Driving an executor from a future: `run` and `tick` of both kinds.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::core::LocalCore;
use crate::driver::Driver;
use crate::task::Item;

/// Runnables polled by `run` between two polls of its own future.
const RUN_BATCH: usize = 200;

/// Waits until a task is queued and polls it.
pub(crate) struct Tick<'c> {
    core: &'c LocalCore,
    driver: Driver<'c, Item>,
}

impl<'c> Tick<'c> {
    /// # Safety
    /// The caller is on the owner's thread.
    pub(crate) unsafe fn new(core: &'c LocalCore) -> Self {
        Self {
            core,
            // SAFETY: forwarded to the caller.
            driver: unsafe { Driver::new(&core.mailbox) },
        }
    }
}

impl Future for Tick<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.driver.wake_up();
        match self.driver.take_or_sleep(context.waker()) {
            Some(task) => {
                // SAFETY: the driver binds this future to the owner's thread.
                unsafe { self.core.run(task) };
                Poll::Ready(())
            }
            None => Poll::Pending,
        }
    }
}

pin_project! {
    /// Runs tasks until `future` is done; sleeps while there is nothing to do.
    pub(crate) struct Run<'c, F> {
        core: &'c LocalCore,
        // Before `driver`: the future's destructor may spawn, and the driver looks last.
        #[pin]
        future: F,
        driver: Driver<'c, Item>,
    }
}

impl<'c, F> Run<'c, F> {
    /// # Safety
    /// The caller is on the owner's thread.
    pub(crate) unsafe fn new(core: &'c LocalCore, future: F) -> Self {
        Self {
            core,
            future,
            // SAFETY: forwarded to the caller.
            driver: unsafe { Driver::new(&core.mailbox) },
        }
    }
}

impl<F: Future> Future for Run<'_, F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        this.driver.wake_up();
        let mut left = RUN_BATCH;
        loop {
            if let Poll::Ready(output) = this.future.as_mut().poll(context) {
                return Poll::Ready(output);
            }
            // What ran may have woken the future: it is polled once more before the driver sleeps, which costs more
            // than such a poll.
            let mut next = this.driver.take_or_sleep(context.waker());
            if next.is_none() {
                return Poll::Pending;
            }
            while let Some(task) = next {
                // SAFETY: the driver binds this future to the owner's thread.
                unsafe { this.core.run(task) };
                left -= 1;
                if left == 0 {
                    // More to do: let the others of this thread have their turn.
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                next = this.driver.take();
            }
        }
    }
}
