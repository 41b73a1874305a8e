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
use std::mem;
use std::process::abort;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

use terrace_executor::block_on;

use crate::member::Member;
use crate::queue::lock;
use crate::registry::Registry;

/// Wakes the thread that waits.
#[derive(Default)]
pub(crate) struct Bell {
    /// Rings so far; it wraps. Written under the lock.
    count: AtomicUsize,
    /// Those of waits that are nested on the thread.
    sleepers: Mutex<Vec<Waker>>,
}

impl Bell {
    /// The bell of the current thread: that of its place, or a new one.
    pub(crate) fn here(member: Option<&Member>) -> Arc<Self> {
        member.map_or_else(Arc::default, |member| Arc::clone(&member.place().bell))
    }

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

/// What a thread waits for.
pub(crate) trait WaitFor {
    fn is_done(&self) -> bool;

    /// Runs one piece of own work, beside what [`Member::help`] runs.
    fn run_one(&self) -> bool {
        false
    }

    /// From now on, or no longer, a thread that queues own work rings.
    fn announce(&self, _sleeps: bool) {}
}

/// Waits. Jobs borrow from the frame of the caller, so a panic out of the wait ends the process.
pub(crate) fn wait(member: Option<&Member>, bell: &Bell, what: &impl WaitFor) {
    let unwinding = AbortsIfDropped;
    loop {
        let seen = bell.count();
        if what.is_done() {
            break;
        }
        if member.is_some_and(Member::help) || what.run_one() {
            continue;
        }
        what.announce(true);
        let ran = what.run_one();
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
        eprintln!("a panic in a wait of a pool that other threads rely on: the process ends");
        abort();
    }
}

/// The end of a call that another thread runs.
pub(crate) struct Called {
    done: AtomicBool,
    bell: Arc<Bell>,
}

impl Called {
    pub(crate) fn new(bell: Arc<Bell>) -> Arc<Self> {
        Arc::new(Self {
            done: AtomicBool::new(false),
            bell,
        })
    }

    pub(crate) fn set(&self) {
        // Ordering: Release, pairs with the Acquire in `is_done`: the caller sees the result.
        self.done.store(true, Ordering::Release);
        self.bell.ring();
    }

    pub(crate) fn bell(&self) -> &Bell {
        &self.bell
    }
}

impl WaitFor for Called {
    fn is_done(&self) -> bool {
        self.done.load(Ordering::Acquire)
    }
}

/// Hands the payload of a panic to the handler of the pool, or ends the process.
pub(crate) fn contain(registry: &Registry, f: impl FnOnce()) {
    let Err(payload) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)) else {
        return;
    };
    match &registry.panic_handler {
        Some(handler) => {
            let unwinding = AbortsIfDropped;
            handler(payload);
            mem::forget(unwinding);
        }
        None => {
            eprintln!(
                "a panic in a job that no thread waits for, and no panic handler: the process ends"
            );
            abort();
        }
    }
}
