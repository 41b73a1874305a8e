//! How a worker waits in the middle of a job, and threads that stand in for a sleeping worker, and wait like it.
//!
//! While all live workers of a pool wait, and there is work that no worker may adopt, one of them is the last resort. It starts a spare.
//! Where none can start, and in hooks, it runs one job of others. Such jobs nest at most [`NESTED_HELP`] deep, and as many levels more
//! for tasks that workers hold in their rings. They nest as deep as they come where the pool starts no spares, or is being dropped.
//!
//! A thread that stands in counts as the worker, by its place in the sleeping protocol (`Idle::hold`). So the pool has no thread more at
//! work than before, and wakes none. The thread takes no tasks of the pool. When it sleeps in a wait, it waits as the worker would.

use std::cell::Cell;
use std::ptr;

use terrace_park::Held;
use terrace_sync::thread::yield_now;
use terrace_thread::internal::thread_waker;

use super::life;
use crate::parts::forks::By;
use crate::pool::{Shared, runner};
use crate::tuned::NESTED_HELP;
use crate::work::found::Taken;
use crate::work::{self, Scan};

/// A waiter of a pool. It helps while all live workers of the pool wait, and there is work that no worker may adopt.
pub(super) struct LastResort<'w> {
    pub(super) pool: &'w Shared,
    /// How many jobs of others run on top of each other on its stack.
    pub(super) nested_help: &'w Cell<u32>,
    /// A spare runs the start hook, too. If the hook waits, each spare would start the next. So a worker in a hook runs the job itself.
    pub(super) in_hook: bool,
}

impl<'w> LastResort<'w> {
    /// Sleeps once by `sleep`, in the place of this worker. That returns true if all live workers wait, and there is work: then the
    /// waiter helps. A waiter that cannot help sleeps again.
    pub(super) fn sleep(
        &self,
        worker: usize,
        sleep: impl Fn(&Scan<'_, '_>) -> bool,
        run: impl FnOnce(Taken<'w>),
    ) {
        let scan = Scan::in_wait(self.pool);
        if sleep(&scan) && !self.helps(run) {
            // It is another waiter's turn: the scan passes the turn on once this one waits again.
            sleep(&scan.exhausted(worker));
        }
    }

    /// Starts a spare, or runs one job by `run`, or finds that none is left. False if it can do nothing, so that another waiter has to
    /// help: it is too deep, or the only job that it saw is one that it has forked itself.
    fn helps(&self, run: impl FnOnce(Taken<'w>)) -> bool {
        let pool = self.pool;
        let start_spare = || life::start_spare(&pool.arc());
        if !self.in_hook && start_spare() {
            return true;
        }
        let depth = self.nested_help.get();
        // Without spares there is no other help: the jobs nest as deep as they come. A pool that is being dropped starts none any more.
        let limit = if pool.threads.config.spares && !pool.holders.is_closing() {
            NESTED_HELP
        } else {
            u32::MAX / 2
        };
        let taken = if depth < limit {
            work::last_resort_take(pool)
        } else if depth < 2 * limit {
            // A task at a seat mostly ends a wait rather than adding one.
            pool.seats.steal_one(0).map(Taken::task)
        } else {
            None
        };
        let Some(taken) = taken else {
            // A job that this thread has forked is for another waiter: it lies inside of the thread's own wait.
            let for_others = pool.forks.has_job_of_this_thread();
            return (depth < limit && !for_others) || (self.in_hook && start_spare());
        };
        self.nested_help.set(depth + 1);
        run(taken);
        self.nested_help.set(depth);
        true
    }
}

terrace_sync::thread_local! {
    /// The place in which this thread stands in, or null. Plain data without a destructor, so that it can be read at any time in the
    /// thread's life.
    static PLACE: Cell<*const Place<'static>> = const { Cell::new(ptr::null()) };
}

/// A worker's place, on the stack of the thread that stands in.
pub(super) struct Place<'p> {
    pool: &'p Shared,
    /// Whose place it is.
    worker: usize,
    /// Taken when the place is given back.
    held: Cell<Option<Held>>,
    nested_help: Cell<u32>,
    /// See [`stand_in`].
    before_sleep: &'p dyn Fn() -> bool,
}

impl Place<'_> {
    /// Whether the thread has to look again before it sleeps. May run code of users.
    pub(super) fn before_sleep(&self) -> bool {
        (self.before_sleep)()
    }

    /// Sleeps as the worker would in `R`, unless `ready` sees a reason not to. `park` sleeps until the thread is notified.
    pub(super) fn sleep(&self, ready: impl Fn() -> bool, park: impl Fn()) {
        let idle = &self.pool.idle;
        let resort = LastResort {
            pool: self.pool,
            nested_help: &self.nested_help,
            in_hook: false,
        };
        let sleep = |scan: &Scan<'_, '_>| {
            let begin = |held: &Held| idle.begin_wait(held, scan, thread_waker());
            let is_last = self.with_held(begin) == Some(true);
            let is_ready = ready();
            if is_ready {
                yield_now();
            } else if !is_last {
                park();
            }
            self.with_held(|held| idle.end_wait(held));
            is_last && !is_ready
        };
        resort.sleep(self.worker, sleep, |taken| {
            taken.found.run_as_guest(self.pool);
        });
    }

    /// Calls `f`, which runs no code of users, with the place, unless the worker has got it back.
    fn with_held<T>(&self, f: impl FnOnce(&Held) -> T) -> Option<T> {
        let held = self.held.take()?;
        let result = f(&held);
        self.held.set(Some(held));
        Some(result)
    }

    /// The worker gets its place back.
    fn give_back(&self) {
        let scan = Scan::for_workers(self.pool);
        if let Some(held) = self.held.take() {
            self.pool.idle.unhold(held, &scan);
        }
        self.pool.attend(|| scan.finds_something());
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        PLACE.with(|place| place.set(ptr::null()));
        self.give_back();
    }
}

/// Whether this thread is a worker, or stands in for one: it waits as workers do.
pub(super) fn is_worker_or_stands_in() -> bool {
    runner::with_worker(|worker| worker.is_some())
        || with_place(|place| place.is_some_and(|place| place.with_held(|_| ()).is_some()))
}

/// As which kind of thread this one takes a fork seat of `pool` by a call: a worker of `pool` may be inside of a call in another one.
pub(super) fn kind_in(pool: &Shared) -> By {
    if runner::is_worker_of(pool) {
        return By::Worker;
    }
    let stands_in =
        |place: &Place<'_>| ptr::eq(place.pool, pool) && place.with_held(|_| ()).is_some();
    match with_place(|place| place.is_some_and(stands_in)) {
        true => By::StandIn,
        false => By::Guest,
    }
}

/// The thread waits for the end of all workers of `pool`, or for a part of each. If it stands in for one, that one gets its place back
/// now.
pub(crate) fn give_way(pool: &Shared) {
    with_place(|place| {
        if let Some(place) = place.filter(|place| ptr::eq(place.pool, pool)) {
            place.give_back();
        }
    });
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
        worker,
        held: Cell::new(Some(held)),
        nested_help: Cell::new(0),
        before_sleep,
    };
    PLACE.with(|current| current.set(ptr::from_ref(&place).cast()));
    let result = f(worker);
    drop(place);
    Ok(result)
}
