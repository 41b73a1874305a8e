//! [`Driver`]: one `run` or `tick` in progress, between its polls.

use core::task::Waker;

use terrace_sync::weakened;

use crate::mailbox::{Mailbox, Queueable};
use crate::on_owner::OnOwner;
use crate::wait_list::Waiter;

/// A driver of a mailbox, on the owner's thread. Awake when it is made.
///
/// Its drop, in any state, leaves no work unseen. It passes on to the next driver a wake that it does not follow, and
/// work that it leaves.
pub struct Driver<'a, R: Queueable> {
    mailbox: OnOwner<'a, Mailbox<R>>,
    /// Leaves the list after the destructor below has passed the wake on.
    waiter: Waiter<'a>,
}

impl<'a, R: Queueable> Driver<'a, R> {
    /// A driver of `mailbox`.
    #[inline]
    #[must_use]
    pub fn new(mailbox: OnOwner<'a, Mailbox<R>>) -> Self {
        Self {
            mailbox,
            waiter: Waiter::new(mailbox.waiters()),
        }
    }

    /// The driver was polled, so it is awake and looks at the queues before it sleeps again.
    #[inline]
    pub fn wake_up(&mut self) {
        self.waiter.wake_up();
    }

    /// The next runnable.
    #[inline]
    pub fn take(&mut self) -> Option<R> {
        self.mailbox.pop()
    }

    /// The next runnable. If there is none, the driver sleeps until a push wakes `waker`.
    #[inline]
    pub fn take_or_sleep(&mut self, waker: &Waker) -> Option<R> {
        self.take().or_else(|| self.sleep(waker))
    }

    /// Announces the sleep and looks once more. No users' code runs in between.
    fn sleep(&mut self, waker: &Waker) -> Option<R> {
        let mailbox = self.mailbox;
        let mut found = None;
        self.waiter.sleep_unless(waker, || {
            if !weakened!("local-sleep-look") {
                found = mailbox.pop();
            }
            found.is_some()
        });
        found
    }
}

impl<R: Queueable> Drop for Driver<'_, R> {
    #[inline]
    fn drop(&mut self) {
        self.waiter.wake_up();
        // A thread that woke this driver pushed before, and this look sees what it pushed: see `WaitList::wake_one`.
        let left = !self.mailbox.is_empty();
        if left && !weakened!("local-pass-on") {
            self.mailbox.wake_driver();
        }
    }
}
