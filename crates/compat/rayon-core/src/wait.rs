//! How a thread waits for jobs of a pool.
//!
//! ```text
//! waiter:  seen = rings;  done -> end;  run one piece of own work -> again;  sleep until rings != seen
//! other:   done, or own work of the waiter is queued;  rings += 1;  wake the sleepers
//! ```
//!
//! Rings are counted under the bell's lock, and read without it. Either the waiter reads the other thread's ring in `seen`, and sees
//! what that thread has done; or the count differs when the waiter looks before it sleeps, under the lock.

use std::future::poll_fn;
use std::io::{Write, stderr};
use std::mem;
use std::process::abort;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

use terrace_executor::block_on;
use terrace_thread::Notify;

use crate::locked::lock;

/// Wakes the thread that waits.
#[derive(Default)]
pub(crate) struct Bell {
    /// Rings so far; it wraps. Written under the lock.
    count: AtomicUsize,
    /// Those of waits that are nested on the thread.
    sleepers: Mutex<Vec<Waker>>,
}

impl Bell {
    /// Not inlined: most callers look at a flag or a count first, and seldom come here.
    #[inline(never)]
    pub(crate) fn ring(&self) {
        let sleepers = {
            let mut sleepers = lock(&self.sleepers);
            // Ordering: Release, pairs with the Acquire in `count`: a waiter that reads this ring sees what its thread has done.
            self.count.fetch_add(1, Ordering::Release);
            mem::take(&mut *sleepers)
        };
        sleepers.into_iter().for_each(Waker::wake);
    }

    fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    async fn rung_since(&self, seen: usize) {
        poll_fn(|context| {
            let mut sleepers = lock(&self.sleepers);
            if self.count() != seen {
                return Poll::Ready(());
            }
            if !sleepers
                .iter()
                .any(|known| known.will_wake(context.waker()))
            {
                sleepers.push(context.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }
}

impl Notify for Bell {
    fn notify(&self) {
        self.ring();
    }
}

/// What a thread waits for.
pub(crate) trait WaitFor {
    fn is_done(&self) -> bool;

    /// From now on, or no longer, a thread that queues own work of the waiter rings.
    fn announce(&self, _sleeps: bool) {}
}

/// How a thread looks for own work.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// Where it mostly lies.
    Brief,
    /// Everywhere: the thread is about to sleep.
    Whole,
}

/// Waits, and runs own work, of which `run_one` runs a piece. Jobs borrow from the frame of the caller, so a panic out of the wait ends
/// the process.
pub(crate) fn wait(bell: &Bell, what: &impl WaitFor, run_one: impl Fn(Look) -> bool) {
    let unwinding = AbortsIfDropped;
    loop {
        let seen = bell.count();
        if what.is_done() {
            break;
        }
        if run_one(Look::Brief) {
            continue;
        }
        what.announce(true);
        let ran = run_one(Look::Whole);
        if !ran && !what.is_done() {
            block_on(bell.rung_since(seen));
        }
        what.announce(false);
    }
    mem::forget(unwinding);
}

/// Ends the process if it is dropped by a panic.
pub(crate) struct AbortsIfDropped;

impl Drop for AbortsIfDropped {
    fn drop(&mut self) {
        end_process("a panic in a wait of a pool that other threads rely on");
    }
}

/// Ends the process, and says why if the system takes the message.
pub(crate) fn end_process(why: &str) -> ! {
    let _written = writeln!(stderr(), "{why}: the process ends");
    abort();
}

/// Jobs for other threads that have not ended, and the bell of the thread that waits for them.
pub(crate) struct Left {
    count: AtomicUsize,
    pub(crate) bell: Arc<Bell>,
}

impl Left {
    pub(crate) fn new(count: usize, bell: Arc<Bell>) -> Arc<Self> {
        let count = AtomicUsize::new(count);
        Arc::new(Self { count, bell })
    }

    /// A job has ended.
    pub(crate) fn count_out(&self) {
        // Ordering: AcqRel, pairs with the Acquire in `is_done`: the waiter sees the results of all jobs.
        if self.count.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.bell.ring();
        }
    }
}

impl WaitFor for Left {
    fn is_done(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }
}
