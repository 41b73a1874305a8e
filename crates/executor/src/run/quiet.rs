//! Waiting until every task of a pool has ended.
//!
//! | the pool            | the caller, without a limit                    | with a limit                                      |
//! |---------------------|------------------------------------------------|---------------------------------------------------|
//! | has workers         | blocks; a worker of another pool waits as in `block_on` | blocks                                   |
//! | has none            | drives the pool by a `run` future, in `block_on` | polls a `run` future, and sleeps between two polls |
//!
//! A pool that loses its last worker notifies the waiters, which then drive it.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;

use terrace_sync::Arc;
use terrace_sync::atomic::{AtomicBool, Ordering};
use terrace_sync::thread::{self, Thread};

use super::block_on::block_on;
use super::deadline::wait_for;
use super::driver;
use crate::parts::event::EventListener;
use crate::pool::shared::Shared;
use crate::pool::{frames, runner};
use crate::shutdown::StillRunning;

/// Waits until every task of the pool has ended.
///
/// # Panics
/// Without a deadline, if the caller is a task of this pool.
pub(crate) fn wait_idle(pool: &Shared, deadline: Option<Instant>) -> Result<(), StillRunning> {
    assert!(
        deadline.is_some() || !is_inside(pool),
        "a task waits for the end of all tasks of its own executor, so also for its own end. Pass a limit, await the \
         other tasks, or call this outside of the executor"
    );
    let waiter = pool.quiet.enter();
    loop {
        let listener = waiter.listen();
        let tasks = pool.seats.active();
        if tasks == 0 {
            return Ok(());
        }
        let is_over = || deadline.is_some_and(|deadline| deadline <= Instant::now());
        let next = waiter.looks_at(deadline);
        let notified = !is_over()
            && if pool.workers() > 0 {
                wait_for(listener, next)
            } else {
                drive(pool, listener, next)
            };
        if !notified && !waiter.goes_on(deadline) && pool.seats.active() > 0 {
            let tasks = pool.seats.active();
            return Err(StillRunning::new(0, tasks, pool.dump()));
        }
    }
}

/// Whether the caller is in the middle of a task, or a hook, of the pool.
fn is_inside(pool: &Shared) -> bool {
    runner::is_inside(pool) || runner::is_worker_of(pool) || frames::is_in(pool)
}

/// Runs tasks of the pool until notified; false if the deadline came first.
fn drive(pool: &Shared, listener: EventListener, deadline: Option<Instant>) -> bool {
    let Some(deadline) = deadline else {
        block_on(driver::run(pool, listener));
        return true;
    };
    let wakes = Arc::new(Wakes {
        woken: AtomicBool::new(true),
        thread: thread::current(),
    });
    let waker = Waker::from(Arc::clone(&wakes));
    let mut run = pin!(driver::run(pool, listener));
    loop {
        // Ordering: Acquire, pairs with the Release in `wake`: the poll sees what came before the wake.
        if wakes.woken.swap(false, Ordering::Acquire) {
            if let Poll::Ready(()) = run.as_mut().poll(&mut Context::from_waker(&waker)) {
                return true;
            }
        }
        match deadline.checked_duration_since(Instant::now()) {
            None => return false,
            // This target has no second thread that could wake this one.
            Some(_) if cfg!(target_family = "wasm") && !wakes.is_woken() => return false,
            Some(_) if wakes.is_woken() => {}
            Some(left) => thread::park_timeout(left),
        }
    }
}

/// Wakes a thread that polls a `run` future.
struct Wakes {
    woken: AtomicBool,
    thread: Thread,
}

impl Wakes {
    fn is_woken(&self) -> bool {
        // Ordering: Relaxed. The wake that comes after this look leaves the thread its token.
        self.woken.load(Ordering::Relaxed)
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        // Ordering: Release, pairs with the Acquire in `drive`.
        self.woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}
