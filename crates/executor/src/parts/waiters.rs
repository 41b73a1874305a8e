//! The threads that wait for a pool, as their pool counts them: to drive it, until all of its tasks have ended, or below another task.

use std::time::Instant;

use terrace_sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::event::{Event, EventListener};
use super::seat::Seats;
use crate::protocol::end::Quiet;
use crate::tuned::PERIOD;

/// The threads that wait for a pool without workers, and may drive it.
///
/// The handshake between these waiters and publishers: a waiter counts itself, fences, listens and looks once more. A
/// publisher makes its item visible, fences, and then reads the count.
#[derive(Default)]
pub(crate) struct ExternalWaiters {
    event: Event,
    /// How many there are, raised before they listen.
    count: AtomicUsize,
    /// Whether the pool has no workers and is no longer being shut down: the waiters drive it.
    may_drive: AtomicBool,
}

impl ExternalWaiters {
    /// Wakes up to `count` of them. Called after the fence of a publish.
    #[inline]
    pub(crate) fn notify(&self, count: usize) {
        // Ordering: Relaxed. It pairs with the `fetch_add` in `enter`: the publisher has fenced
        // before this load, the waiter fences after the increment.
        if self.count.load(Ordering::Relaxed) != 0 {
            self.event.notify_additional(count);
        }
    }

    /// Counts a waiter, which then calls `heavy()`, listens, and looks at the pool.
    pub(crate) fn enter(&self) {
        // Ordering: Relaxed. It pairs with the load in `notify`: the waiter's fence orders this
        // increment before its last look.
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// The waiter no longer listens.
    pub(crate) fn leave(&self) {
        // Ordering: Relaxed, a publisher that still reads the old count notifies in vain.
        self.count.fetch_sub(1, Ordering::Relaxed);
    }

    /// A listener for one notification.
    pub(crate) fn listen(&self) -> EventListener {
        self.event.listen()
    }

    /// Whether the waiters drive the pool.
    pub(crate) fn may_drive(&self) -> bool {
        // Ordering: Relaxed, a waiter that reads an old value takes one task more, or reads the announcement that follows.
        self.may_drive.load(Ordering::Relaxed)
    }

    /// From now on the waiters drive the pool, or leave it to its workers.
    pub(crate) fn set_may_drive(&self, may: bool) {
        // Ordering: Relaxed, as in `may_drive`.
        self.may_drive.store(may, Ordering::Relaxed);
    }
}

/// The threads that wait until every task of a pool has ended: the handshake [`Quiet`], and the event that it notifies.
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
        let soon = Instant::now() + PERIOD;
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

/// Waits of a pool's workers, each with a run of the awaited task on top: the watch takes them for waits all the same, in case that run
/// blocks.
#[derive(Default)]
pub(crate) struct WaitsBeneath(AtomicUsize);

impl WaitsBeneath {
    /// Calls `run`, which does not unwind, on top of a wait.
    pub(crate) fn during<T>(&self, run: impl FnOnce() -> T) -> T {
        // Ordering: Relaxed in all three. The watch looks again and again, and an old value makes it late or early.
        self.0.fetch_add(1, Ordering::Relaxed);
        let ran = run();
        self.0.fetch_sub(1, Ordering::Relaxed);
        ran
    }

    /// Whether there is one; a hint.
    pub(crate) fn any(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }
}

/// A guard around a wait that must not unwind, since the frame below it is in use: ends the process when dropped, and says why. A caller that did not unwind [forgets](std::mem::forget) it.
pub(crate) struct Bomb(pub(crate) &'static str);

impl Drop for Bomb {
    #[cold]
    fn drop(&mut self) {
        eprintln!("terrace: a panic {}", self.0);
        std::process::abort();
    }
}
