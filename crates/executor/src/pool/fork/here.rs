//! In which fork seat the current thread forks.
//!
//! | the thread                                   | forks in                                    | gives it back            |
//! |----------------------------------------------|---------------------------------------------|--------------------------|
//! | a worker                                     | a seat of its pool, from its first join on  | when it leaves its place |
//! | a guest, in `with_worker`                    | a seat of that pool                         | at the end of the call   |
//! | a guest of one pool inside of another        | the innermost, by a handle of `get_worker` the one that this asks for | at the end of the call |
//! | any other                                    | none: a join runs both halves in order      | –                        |
//!
//! The seats of a thread are a list, from the innermost outwards.

use std::cell::Cell;
use std::ptr;

use super::super::runner::{self, Runner};
use super::super::shared::Shared;
use crate::parts::fork_seat::{By, ForkSeat};

/// A seat of a pool.
pub(crate) type Seat = ForkSeat<Shared>;

terrace_sync::thread_local! {
    /// The innermost seat; null where there is none. Plain data without a destructor, so that it can be read at any time
    /// in the thread's life.
    static FORK: Cell<*const Seat> = const { Cell::new(ptr::null()) };
}

/// The innermost seat of this thread, or null. It is this thread's as long as the code that calls this runs inside of the worker's
/// loop or the guest's call which took the seat.
#[inline(always)]
pub(crate) fn innermost() -> *const Seat {
    FORK.with(Cell::get)
}

/// The innermost seat of this thread; that of the worker whose loop it runs, taken now, if it has none yet. Or null.
#[inline(always)]
pub(crate) fn innermost_or_new() -> *const Seat {
    let seat = innermost();
    if seat.is_null() {
        return take_as_worker();
    }
    seat
}

#[cold]
#[inline(never)]
fn take_as_worker() -> *const Seat {
    runner::with_worker(|worker| match worker {
        Some(worker) if FORK.with(Cell::get).is_null() => {
            let seat = of_worker(worker);
            FORK.with(|fork| fork.set(seat));
            seat
        }
        _ => ptr::null(),
    })
}

/// The seat of this thread's worker, taken now if it has none yet.
fn of_worker(worker: &Runner<'_>) -> *const Seat {
    let pool = worker.pool();
    let seat = worker
        .fork
        .get()
        .unwrap_or_else(|| pool.forks.enter(pool, By::Worker));
    worker.fork.set(Some(seat));
    seat
}

/// The seat in which this thread runs stolen jobs of `pool`, or null: the innermost one, if it is of that pool, or that of its
/// worker, taken now if need be.
pub(crate) fn of_pool(pool: &Shared) -> *const Seat {
    let innermost = innermost_or_new();
    // SAFETY: the seat is this thread's, so the call that took it has not ended.
    if unsafe { innermost.as_ref() }.is_some_and(|seat| seat.is_of(pool)) {
        return innermost;
    }
    of_worker_in(pool)
}

/// The innermost seat that this thread has in `pool`, also beneath seats in others; that of its worker, taken now if need be. Or null.
pub(crate) fn in_pool(pool: &Shared) -> *const Seat {
    match seats().find(|seat| seat.is_of(pool)) {
        Some(seat) => seat,
        None => of_worker_in(pool),
    }
}

/// The seat of this thread's worker, taken now if it has none yet, if it is one of `pool`; else null.
fn of_worker_in(pool: &Shared) -> *const Seat {
    runner::with_worker(|worker| match worker {
        Some(worker) if ptr::eq(worker.pool(), pool) => of_worker(worker),
        _ => ptr::null(),
    })
}

/// The worker leaves its place: it gives its seat back. It runs no code of users any more.
pub(crate) fn leave_as_worker(worker: &Runner<'_>) {
    if let Some(seat) = worker.fork.take() {
        if ptr::eq(innermost(), seat) {
            FORK.with(|fork| fork.set(ptr::null()));
        }
        worker.pool().forks.leave(seat);
    }
}

/// A guest's seat, given back when dropped.
pub(crate) struct Guest<'p> {
    pool: &'p Shared,
    seat: &'p Seat,
}

impl<'p> Guest<'p> {
    /// The thread takes a seat of `pool`, and forks there.
    pub(crate) fn enter(pool: &'p Shared, by: By) -> Self {
        let seat = pool.forks.enter(pool, by);
        seat.outer.set(FORK.with(|fork| fork.replace(seat)));
        Self { pool, seat }
    }

    pub(crate) fn seat(&self) -> &'p Seat {
        self.seat
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        FORK.with(|fork| fork.set(self.seat.outer.replace(ptr::null())));
        self.pool.forks.leave(self.seat);
    }
}

/// The seats of this thread, the innermost first.
fn seats<'s>() -> impl Iterator<Item = &'s Seat> {
    let follow = |seat: *const Seat| {
        // SAFETY: a seat in the list is this thread's, so the call that took it has not ended. The caller uses the reference
        // before it returns to that call.
        unsafe { seat.as_ref() }
    };
    std::iter::successors(follow(innermost()), move |seat| follow(seat.outer.get()))
}

/// Calls `f` with each seat in which this thread may have pushed: those of the list, and that of its worker, which is not in the list
/// where the worker runs a job of its pool inside of a guest's call in another.
fn for_each_seat(f: impl Fn(&Seat)) {
    runner::with_worker(|worker| {
        let mut own = worker.and_then(|worker| worker.fork.get());
        for seat in seats() {
            own = own.filter(|own| !ptr::eq(*own, seat));
            f(seat);
        }
        own.into_iter().for_each(f);
    });
}

/// The thread is about to sleep in a wait: it pushes nothing until [`resume`].
pub(crate) fn pause() {
    for_each_seat(Seat::pause);
}

/// The sleep has ended.
pub(crate) fn resume() {
    for_each_seat(|seat| {
        if seat.resume() {
            seat.pool().publish_forking();
        }
    });
}

/// A worker is about to park, between two jobs.
pub(crate) fn rest(worker: &Runner<'_>) {
    if let Some(seat) = worker.fork.get() {
        seat.rest();
    }
}
