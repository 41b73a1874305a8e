//! Time in ticks of the machine's timer interrupt.

use core::future::Future;
use core::pin::Pin;
use core::sync::atomic::{AtomicU32, Ordering};
use core::task::{Context, Poll};

use atomic_waker::AtomicWaker;

static TICKS: AtomicU32 = AtomicU32::new(0);

/// How many tasks can wait at a time.
pub(crate) const SLOTS: usize = 4;

static WAITING: [AtomicWaker; SLOTS] = [const { AtomicWaker::new() }; SLOTS];

/// The body of the timer interrupt: counts a tick and wakes every task that waits for one.
pub fn tick() {
    TICKS.fetch_add(1, Ordering::Release);
    for waiting in &WAITING {
        // A task that waits is alive, see `Delay::drop`. So the waker is not its last reference, and this frees
        // nothing.
        waiting.wake();
    }
}

/// A waker that outlives its task is the last reference to the task's cell. Its use or drop frees the cell, and the
/// interrupt must not do that.
impl Drop for Delay {
    fn drop(&mut self) {
        drop(WAITING[self.slot].take());
    }
}

/// Ticks since the start.
pub(crate) fn ticks() -> u32 {
    TICKS.load(Ordering::Acquire)
}

/// Waits for some ticks. A slot is for one task at a time.
pub(crate) struct Delay {
    slot: usize,
    until: u32,
}

impl Delay {
    pub(crate) fn new(slot: usize, ticks: u32) -> Self {
        let until = self::ticks() + ticks;
        Self { slot, until }
    }
}

impl Future for Delay {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        WAITING[self.slot].register(context.waker());
        if ticks() >= self.until {
            return Poll::Ready(());
        }
        Poll::Pending
    }
}
