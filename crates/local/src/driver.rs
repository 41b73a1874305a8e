//! [`Driver`]: one `run` or `tick` in progress, between its polls.

use core::marker::PhantomData;
use core::task::Waker;

use crate::mailbox::{Mailbox, Queueable};
use crate::sleepers::SeatRef;

/// A driver of a mailbox, on the owner's thread. Awake when it is made.
///
/// Dropped in whatever state, it leaves no work unseen: a wake that it will not follow, and work that it leaves, are the
/// next driver's.
pub struct Driver<'a, R: Queueable> {
    mailbox: &'a Mailbox<R>,
    /// Kept from the first sleep on.
    seat: Option<SeatRef>,
    /// Whether it sleeps, or slept and was woken.
    asleep: bool,
    /// Bound to the owner's thread.
    _owner: PhantomData<*mut ()>,
}

impl<'a, R: Queueable> Driver<'a, R> {
    /// A driver of `mailbox`.
    ///
    /// # Safety
    /// The caller is on the owner's thread.
    pub unsafe fn new(mailbox: &'a Mailbox<R>) -> Self {
        Self {
            mailbox,
            seat: None,
            asleep: false,
            _owner: PhantomData,
        }
    }

    /// The driver was polled, so it is awake and will look at the queues before it sleeps again.
    pub fn wake_up(&mut self) {
        if let (true, Some(seat)) = (self.asleep, self.seat) {
            self.asleep = false;
            // SAFETY: a driver stays on the owner's thread, and the seat is its own.
            unsafe { self.mailbox.end_sleep(seat) };
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
        // SAFETY: a driver stays on the owner's thread, and the seat is its own.
        let found = unsafe { self.mailbox.sleep(&mut self.seat, waker) };
        self.asleep = found.is_none();
        found
    }
}

impl<R: Queueable> Drop for Driver<'_, R> {
    fn drop(&mut self) {
        self.wake_up();
        // Whoever woke this driver pushed before, and what it pushed is seen here: see `Sleepers::wake_one`.
        // SAFETY: a driver stays on the owner's thread.
        let left = !unsafe { self.mailbox.is_empty() };
        if left && !cfg!(terrace_weaken = "local-pass-on") {
            self.mailbox.wake_driver();
        }
        if let Some(seat) = self.seat {
            // SAFETY: as above; the seat is this driver's, which is awake and ends here.
            unsafe { self.mailbox.leave(seat) };
        }
    }
}
