//! The threads that wait until every task of a pool has ended.

use super::event::{Event, EventListener};
use super::seat::Seats;
use crate::protocol::quiet::Quiet;

/// The handshake `protocol::quiet`, and the event that it notifies.
pub(crate) struct QuietWaiters {
    handshake: Quiet,
    event: Event,
}

impl QuietWaiters {
    /// No waiter.
    pub(crate) fn new() -> Self {
        Self {
            handshake: Quiet::new(),
            event: Event::new(),
        }
    }

    /// The calling thread has counted a task's end at one of `seats`.
    #[inline]
    pub(crate) fn ended(&self, seats: &Seats) {
        if self.handshake.ended(|| seats.active() == 0) {
            self.notify();
        }
    }

    /// All waiters look again.
    #[cold]
    pub(crate) fn notify(&self) {
        self.event.notify(usize::MAX);
    }

    /// Counts a waiter in, until the guard is dropped.
    pub(crate) fn enter(&self) -> QuietWaiter<'_> {
        self.handshake.enter();
        QuietWaiter(self)
    }
}

/// A thread that waits; counted out when dropped.
pub(crate) struct QuietWaiter<'p>(&'p QuietWaiters);

impl QuietWaiter<'_> {
    /// A listener for the next notification. The waiter then looks whether a task is left.
    pub(crate) fn listen(&self) -> EventListener {
        self.0.event.listen()
    }
}

impl Drop for QuietWaiter<'_> {
    fn drop(&mut self) {
        self.0.handshake.leave();
    }
}
