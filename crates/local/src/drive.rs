//! [`Run`] and [`Tick`]: the futures that drive an executor.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::driver::Driver;
use crate::on_owner::OnOwner;
use crate::task::local::cell::Item;
use crate::task::local::cell::LocalCore;

/// Runnables that one poll of `run` polls at most.
const RUN_BATCH: usize = 200;
/// So often one poll of `run` polls its own future at most. One that queues a task in each of its polls, and waits for something else,
/// lets the thread sleep.
const OWN_POLLS: u32 = 64;

/// Calls the on-ready hook when a driver goes and leaves tasks queued.
struct NotifyOfRest<'c>(OnOwner<'c, LocalCore>);

impl Drop for NotifyOfRest<'_> {
    fn drop(&mut self) {
        self.0.notify_of_rest();
    }
}

/// Waits until a task is queued and polls it.
pub(crate) struct Tick<'c> {
    core: OnOwner<'c, LocalCore>,
    driver: Driver<'c, Item>,
    _rest: NotifyOfRest<'c>,
}

impl<'c> Tick<'c> {
    pub(crate) fn new(core: OnOwner<'c, LocalCore>) -> Self {
        Self {
            core,
            driver: Driver::new(core.mailbox()),
            _rest: NotifyOfRest(core),
        }
    }
}

impl Future for Tick<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.driver.wake_up();
        match self.driver.take_or_sleep(context.waker()) {
            Some(task) => {
                self.core.run(task);
                Poll::Ready(())
            }
            None => {
                self.core.rest();
                Poll::Pending
            }
        }
    }
}

pin_project! {
    /// Runs tasks until `future` is done; sleeps while there is nothing to do.
    pub(crate) struct Run<'c, F> {
        core: OnOwner<'c, LocalCore>,
        // Before `driver`, so that it is dropped first: its destructor may spawn, and the driver looks last.
        #[pin]
        future: F,
        driver: Driver<'c, Item>,
        rest: NotifyOfRest<'c>,
    }
}

impl<'c, F> Run<'c, F> {
    pub(crate) fn new(core: OnOwner<'c, LocalCore>, future: F) -> Self {
        Self {
            core,
            future,
            driver: Driver::new(core.mailbox()),
            rest: NotifyOfRest(core),
        }
    }
}

impl<F: Future> Future for Run<'_, F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        this.driver.wake_up();
        let mut left = RUN_BATCH;
        let mut own_polls = OWN_POLLS;
        loop {
            this.core.begin_turn();
            if let Poll::Ready(output) = this.future.as_mut().poll(context) {
                return Poll::Ready(output);
            }
            own_polls -= 1;
            let mut next = this.driver.take_or_sleep(context.waker());
            // A task that runs may wake the future. So the loop polls it once more before the driver sleeps: a sleep costs
            // more than a poll.
            let polls_again = next.is_some() && own_polls > 0;
            while let Some(task) = next {
                this.core.run(task);
                left -= 1;
                if left == 0 {
                    this.core.settle();
                    // More to do: other futures of this thread have their turn first.
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                next = if polls_again {
                    this.driver.take()
                } else {
                    this.driver.take_or_sleep(context.waker())
                };
            }
            if !polls_again {
                this.core.rest();
                return Poll::Pending;
            }
        }
    }
}
