//! [`Driver`]: one `run` or `tick` in progress, between its polls.

use core::marker::PhantomData;
use core::task::Waker;

use crate::mailbox::{Mailbox, Sleep};

/// A driver of a mailbox, on the owner's thread. Awake when it is made.
///
/// Dropped in whatever state, it leaves no work unseen: a wake that it will not follow, and work that it leaves, are the
/// next driver's.
pub struct Driver<'a, R> {
    mailbox: &'a Mailbox<R>,
    /// Set while it is registered as sleeping, also when a push has taken its waker meanwhile.
    key: Option<u64>,
    /// Bound to the owner's thread.
    _owner: PhantomData<*mut ()>,
}

impl<'a, R> Driver<'a, R> {
    /// A driver of `mailbox`.
    ///
    /// # Safety
    /// The caller is on the owner's thread.
    pub unsafe fn new(mailbox: &'a Mailbox<R>) -> Self {
        Self {
            mailbox,
            key: None,
            _owner: PhantomData,
        }
    }

    /// The driver was polled, so it is awake and will look at the queues before it sleeps again.
    pub fn wake_up(&mut self) {
        if let Some(key) = self.key.take() {
            self.mailbox.end_sleep(key);
        }
    }

    /// The next runnable.
    #[inline]
    pub fn take(&mut self) -> Option<R> {
        // SAFETY: a driver stays on the owner's thread.
        unsafe { self.mailbox.pop() }
    }

    /// The next runnable; if there is none, the driver sleeps until a push wakes `waker`.
    #[inline]
    pub fn take_or_sleep(&mut self, waker: &Waker) -> Option<R> {
        self.take().or_else(|| self.sleep(waker))
    }

    fn sleep(&mut self, waker: &Waker) -> Option<R> {
        self.wake_up();
        // The clone is the user's code, and comes before the announcement.
        let waker = waker.clone();
        // SAFETY: a driver stays on the owner's thread.
        match unsafe { self.mailbox.sleep(waker) } {
            Sleep::Found(runnable) => Some(runnable),
            Sleep::Asleep(key) => {
                self.key = Some(key);
                None
            }
        }
    }
}

impl<R> Drop for Driver<'_, R> {
    fn drop(&mut self) {
        self.wake_up();
        if cfg!(terrace_weaken = "local-pass-on") {
            return;
        }
        // Whoever took the waker pushed before, and both took the drivers' lock: what it pushed is seen here.
        // SAFETY: a driver stays on the owner's thread.
        if !unsafe { self.mailbox.is_empty() } {
            self.mailbox.wake_driver();
        }
    }
}
