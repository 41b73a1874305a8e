//! Runs of tasks, on the owner's thread.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use crate::cells;
use crate::core::eager::A_TURN;
use crate::mailbox::Driver;
use crate::on_owner::OnOwner;
use crate::task::local::cell::{Item, LocalCore};

/// So often one poll of `run` polls its own future at most. One that queues a task in each of its polls, and waits for something else,
/// lets the thread sleep.
const OWN_POLLS: u32 = 64;

impl LocalCore {
    /// Polls one task if the current thread is the owner and one is queued. Panics of tasks stay in their handles.
    pub fn try_tick(&self) -> bool {
        self.on_owner().is_some_and(OnOwner::tick)
    }
}

impl OnOwner<'_, LocalCore> {
    /// Polls one task; false if none is queued. If another one is queued afterwards, calls the on-ready hook: so an event loop that
    /// ticks a limited number of times learns of the rest.
    #[inline]
    pub(crate) fn tick(self) -> bool {
        match self.mailbox().pop() {
            Some(task) => {
                self.run(task);
                self.notify_of_rest();
                true
            }
            None => {
                self.begin_turn();
                cells::give_back();
                false
            }
        }
    }

    /// Runs one task, which came out of this core's mailbox.
    #[inline]
    pub(crate) fn run(self, task: Item) {
        // No close frees the core while this call is entered.
        let _entered = self.enter();
        self.begin_turn();
        // SAFETY: the task came out of this core's mailbox.
        unsafe { task.run(self) };
    }
}

/// A `run` or `tick` in progress. When it goes and leaves tasks queued, it calls the on-ready hook, and its driver passes wakes on.
pub(crate) struct Drive<'c> {
    core: OnOwner<'c, LocalCore>,
    driver: Driver<'c, Item>,
}

impl Drop for Drive<'_> {
    fn drop(&mut self) {
        self.core.notify_of_rest();
    }
}

impl<'c> Drive<'c> {
    pub(crate) fn new(core: OnOwner<'c, LocalCore>) -> Self {
        let driver = Driver::new(core.mailbox());
        Self { core, driver }
    }

    /// Polls one task. Pending until one is queued.
    pub(crate) fn poll_tick(&mut self, context: &Context<'_>) -> Poll<()> {
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

    /// Runs tasks until `future` is done; sleeps while there is nothing to do.
    pub(crate) fn poll_run<F: Future>(
        &mut self,
        mut future: Pin<&mut F>,
        context: &mut Context<'_>,
    ) -> Poll<F::Output> {
        self.driver.wake_up();
        let mut left = A_TURN;
        let mut own_polls = OWN_POLLS;
        loop {
            self.core.begin_turn();
            if let Poll::Ready(output) = future.as_mut().poll(context) {
                return Poll::Ready(output);
            }
            own_polls -= 1;
            let mut next = self.driver.take_or_sleep(context.waker());
            // A task that runs may wake the future. So the loop polls it once more before the driver sleeps: a sleep costs
            // more than a poll.
            let polls_again = next.is_some() && own_polls > 0;
            while let Some(task) = next {
                self.core.run(task);
                left -= 1;
                if left == 0 {
                    self.core.settle();
                    // More to do: other futures of this thread have their turn first.
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                next = if polls_again {
                    self.core.mailbox().pop()
                } else {
                    self.driver.take_or_sleep(context.waker())
                };
            }
            if !polls_again {
                self.core.rest();
                return Poll::Pending;
            }
        }
    }
}
