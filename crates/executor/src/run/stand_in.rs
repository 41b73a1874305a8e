//! Threads that stand in for a sleeping worker: the pool has no thread more at work than before, and wakes none.
//!
//! Such a thread counts as the worker, by its place in the sleeping protocol (`Idle::hold`). It takes no tasks of the pool. When it
//! sleeps in a wait, it waits as a worker does in the middle of a job: for its own work, and as the last resort.

use std::cell::Cell;
use std::ptr;

use terrace_park::Held;
use terrace_sync::thread::yield_now;

use super::last_resort::{Help, LastResort};
use crate::pool::runner;
use crate::pool::shared::Shared;
use crate::work::scan::Scan;

terrace_sync::thread_local! {
    /// The place in which this thread stands in, or null. Plain data without a destructor, so that it can be read at any time in the
    /// thread's life.
    static PLACE: Cell<*const Place<'static>> = const { Cell::new(ptr::null()) };
}

/// A worker's place, on the stack of the thread that stands in.
pub(super) struct Place<'p> {
    pool: &'p Shared,
    /// Taken by the drop.
    held: Option<Held>,
    nested_help: Cell<u32>,
    /// See [`stand_in`].
    before_sleep: &'p dyn Fn() -> bool,
}

impl Place<'_> {
    fn held(&self) -> &Held {
        self.held
            .as_ref()
            .expect("a place is held until it is dropped")
    }

    /// Whether the thread has to look again before it sleeps. May run code of users.
    pub(super) fn before_sleep(&self) -> bool {
        (self.before_sleep)()
    }

    /// Sleeps as the worker would in `R`, unless `ready` sees a reason not to. `park` sleeps until the thread is notified; `waker`
    /// notifies it.
    pub(super) fn sleep(
        &self,
        ready: impl Fn() -> bool,
        waker: impl Fn() -> std::task::Waker,
        park: impl Fn(),
    ) {
        let idle = &self.pool.idle;
        let scan = Scan::in_wait(self.pool);
        let is_last = idle.begin_wait(self.held(), &scan, waker());
        if ready() {
            idle.end_wait(self.held());
            yield_now();
            return;
        }
        if !is_last {
            park();
            idle.end_wait(self.held());
            return;
        }
        idle.end_wait(self.held());
        let resort = LastResort {
            pool: self.pool,
            nested_help: &self.nested_help,
            in_hook: false,
        };
        if resort.help(|taken| taken.found.run_as_guest(self.pool)) == Help::Unable {
            // Another waiter has to help: `scan` passes the turn on, now that this thread waits again.
            let scan = scan.exhausted(self.held().worker());
            let is_last = idle.begin_wait(self.held(), &scan, waker());
            debug_assert!(!is_last, "an exhausted waiter is no last resort");
            if !ready() {
                park();
            }
            idle.end_wait(self.held());
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        PLACE.with(|place| place.set(ptr::null()));
        let pool = self.pool;
        let scan = Scan::for_workers(pool);
        if let Some(held) = self.held.take() {
            pool.idle.unhold(held, &scan);
        }
        pool.attend(|| scan.finds_something());
    }
}

/// Calls `f` with the place in which this thread stands in, if it does.
pub(super) fn with_place<T>(f: impl FnOnce(Option<&Place<'_>>) -> T) -> T {
    // SAFETY: `stand_in` sets the pointer, on this very thread, to a place whose drop resets it. `f` cannot keep the reference.
    f(unsafe { PLACE.with(Cell::get).as_ref() })
}

/// Calls `f` in the place of a sleeping worker of `pool`. Hands `f` back if none sleeps, or if this thread has a place of its own: as
/// a worker, in a `run` future, or in another call of this function. A wait inside of `f` calls `before_sleep` before each sleep, and
/// does not sleep if that is true.
pub(crate) fn stand_in<T, F: FnOnce(usize) -> T>(
    pool: &Shared,
    before_sleep: &dyn Fn() -> bool,
    f: F,
) -> Result<T, F> {
    let is_free = runner::with_worker(|worker| worker.is_none())
        && runner::is_none()
        && PLACE.with(Cell::get).is_null();
    if !is_free {
        return Err(f);
    }
    let Some(held) = pool.idle.hold(&Scan::for_workers(pool)) else {
        return Err(f);
    };
    let worker = held.worker();
    let place = Place {
        pool,
        held: Some(held),
        nested_help: Cell::new(0),
        before_sleep,
    };
    PLACE.with(|current| current.set(ptr::from_ref(&place).cast()));
    let result = f(worker);
    drop(place);
    Ok(result)
}
