//! The threads that wait until every task of a pool has ended.

use std::time::{Duration, Instant};

use super::event::{Event, EventListener};
use super::seat::Seats;
use crate::protocol::quiet::Quiet;

/// The handshake `protocol::quiet`, and the event that it notifies.
#[derive(Default)]
pub(crate) struct QuietWaiters {
    handshake: Quiet,
    event: Event,
}

impl QuietWaiters {
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

    /// How many threads wait; a hint.
    pub(crate) fn waiting(&self) -> usize {
        self.handshake.waiters()
    }

    /// Counts a waiter in, until the guard is dropped.
    pub(crate) fn enter(&self) -> QuietWaiter<'_> {
        QuietWaiter {
            is_seen: self.handshake.enter(),
            waiters: self,
        }
    }
}

/// A thread that waits; counted out when dropped.
pub(crate) struct QuietWaiter<'p> {
    waiters: &'p QuietWaiters,
    /// Whether each ender sees the waiter.
    is_seen: bool,
}

/// How long a waiter sleeps that enders may not see.
const UNSEEN: Duration = Duration::from_millis(1);

impl QuietWaiter<'_> {
    /// A listener for the next notification. The waiter then looks whether a task is left.
    pub(crate) fn listen(&self) -> EventListener {
        self.waiters.event.listen()
    }

    /// When the waiter looks without a notification, if its time is over at `deadline`.
    pub(crate) fn looks_at(&self, deadline: Option<Instant>) -> Option<Instant> {
        if self.is_seen {
            return deadline;
        }
        let soon = Instant::now() + UNSEEN;
        Some(deadline.map_or(soon, |deadline| deadline.min(soon)))
    }

    /// Whether a sleep up to [`looks_at`](Self::looks_at) was not the last one.
    pub(crate) fn goes_on(&self, deadline: Option<Instant>) -> bool {
        !self.is_seen && deadline.is_none_or(|deadline| Instant::now() < deadline)
    }
}

impl Drop for QuietWaiter<'_> {
    fn drop(&mut self) {
        self.waiters.handshake.leave();
    }
}
