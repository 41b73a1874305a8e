//! A runner polls a pool's tasks from a seat: a worker thread, or a `run` future. This file says which of them the current
//! thread is. `schedule.rs` says where a runnable goes.
//!
//! There are two thread-locals, since a worker may drive another executor in the middle of a job. `WORKER` is the
//! worker whose loop runs on the thread; waits use it. `RUNNER` is the innermost worker or driver whose tasks are being
//! polled; spawns use it. `parts::current` holds what tasks themselves can ask.
//!
//! # Kept references
//!
//! References to a pool that a worker keeps. They come from tasks that ended on the worker, and go to tasks that it
//! spawns next.
//!
//! A task of a counted executor holds a reference to its pool. All tasks count on one word, which every worker and spawner
//! writes. A cached reference saves its worker a read-modify-write, and the other workers a cache miss.

use std::cell::Cell;
use std::{iter, mem, ptr};

use terrace_local::settle::{POLLS, settle_after};
use terrace_local::task::Runnable;
use terrace_park::Token;
use terrace_queue::Owner;
use terrace_sync::Arc;

use super::Shared;
use crate::guard::OnDrop;
use crate::parts::current::{Current, replace_current};
use crate::parts::processor::{Awake, Gather, Rotation};
use crate::parts::seat::Seat;
use crate::parts::threads::Kind;
use crate::parts::turns::Fairness;
use crate::protocol::publish::DeferredPublish;
use crate::tuned::KEPT_REFERENCES;

terrace_sync::thread_local! {
    /// The worker whose loop runs on this thread; null on all others. It is null outside of
    /// the loop, so a destructor of another thread-local finds what is right, whether it was made anew or not.
    static WORKER: Cell<*const Runner<'static>> = const { Cell::new(ptr::null()) };
    /// The innermost worker or driver; null where there is none, and outside of polls.
    static RUNNER: Cell<*const Runner<'static>> = const { Cell::new(ptr::null()) };
}

/// A worker, or a `run` future, in its seat.
pub(crate) struct Runner<'p> {
    pub(crate) pool: &'p Shared,
    pub(crate) seat: &'p Seat,
    /// The number of the seat among those of its kind.
    pub(crate) index: usize,
    /// The value that `current` returns to the tasks.
    current: Current,
    pub(super) deferred: DeferredPublish,
    references: Kept<'p>,
    pub(crate) fairness: Fairness,
    pub(crate) rotation: Rotation,
    /// How many tasks out of its slot it has run in a row.
    pub(super) slot_runs: Cell<u32>,
    /// How many jobs run on top of each other in waits: those of others, by waits of last resort, and tasks that are awaited.
    pub(crate) nested_help: Cell<u32>,
    /// Of a worker: false before the loop and after it, in hooks, and while pinned tasks are dropped.
    pub(crate) in_loop: Cell<bool>,
    /// Of a worker: whether its loop is a future of the program.
    pub(crate) polled: Cell<bool>,
    /// Whether it is parked in a poll of that future.
    pub(crate) parked: Cell<bool>,
    /// How often that future has parked, wrapping.
    pub(crate) parkings: Cell<u32>,
    /// Kept while it is.
    asleep: Cell<Option<Awake>>,
    /// The seat's polls when the allocator last put its lists in order. Not at the seat, which a few bytes more would make longer by
    /// an alignment.
    settled: Cell<usize>,
    /// Of a worker: whether it is a spare.
    pub(crate) kind: Kind,
    /// How far a spare has come.
    arrival: Cell<Arrival>,
    /// What it knows of the stream of tasks from outside.
    pub(crate) gather: Gather,
}

/// How far a spare has come on its way to its loop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arrival {
    /// It was started, and may be in its start hook.
    OnItsWay,
    /// It waits in its start hook, or runs a task there.
    InHook,
    /// It has begun its loop, or is no spare.
    Arrived,
}

impl<'p> Runner<'p> {
    /// The worker in the seat with this index. A spare was counted as one that is on its way.
    ///
    /// # Safety
    /// The caller has acquired the seat, and makes no other runner of it before this one is gone.
    pub(crate) unsafe fn worker(pool: &'p Arc<Shared>, index: usize, kind: Kind) -> Self {
        let seat = pool.seats.workers.get(index);
        let mut worker = Self::new(pool, seat, index, Current::of(pool.id, index));
        worker.references.pool = Some(pool);
        if kind == Kind::Spare {
            worker.kind = kind;
            worker.arrival.set(Arrival::OnItsWay);
        }
        worker
    }

    /// The driver in the seat with this index.
    ///
    /// # Safety
    /// As [`worker`](Self::worker).
    pub(crate) unsafe fn driver(pool: &'p Shared, index: usize) -> Self {
        let seat = pool.seats.drivers.get(index);
        let current = Current::of(pool.id, Current::FIRST_DRIVER + index);
        Self::new(pool, seat, index, current)
    }

    fn new(pool: &'p Shared, seat: Option<&'p Seat>, index: usize, current: Current) -> Self {
        let seat = seat.expect("an acquired seat exists");
        // A seat goes on counting from one runner to the next. How far the one before was is not known, so this one begins at a multiple.
        let polls = seat.counts.polls.get();
        Self {
            pool,
            seat,
            index,
            current,
            deferred: DeferredPublish::default(),
            references: Kept {
                pool: None,
                count: Cell::new(0),
            },
            fairness: Fairness::new(index),
            rotation: Rotation::default(),
            slot_runs: Cell::new(0),
            nested_help: Cell::new(0),
            in_loop: Cell::new(false),
            polled: Cell::new(false),
            parked: Cell::new(false),
            parkings: Cell::new(0),
            asleep: Cell::new(None),
            settled: Cell::new(polls - polls % POLLS),
            kind: Kind::Worker,
            arrival: Cell::new(Arrival::Arrived),
            gather: Gather::new(),
        }
    }

    /// The worker is going to wait. A spare that waits in its start hook is not on its way any more. It may wait for a
    /// task that another spare has to run, and a task that it runs as the last resort may block it.
    pub(crate) fn waits(&self) {
        if self.arrival.get() == Arrival::OnItsWay {
            self.arrival.set(Arrival::InHook);
            self.pool.threads.in_hooks.rise();
            self.pool.threads.starting.fall();
        }
    }

    /// The worker is parked in a poll from now on.
    pub(crate) fn parks(&self, asleep: Awake) {
        self.asleep.set(Some(asleep));
        self.parked.set(true);
        self.parkings.set(self.parkings.get().wrapping_add(1));
    }

    /// The worker is parked in a poll no more.
    pub(crate) fn unparks(&self) {
        self.parked.set(false);
        drop(self.asleep.take());
        terrace_trace::unpark();
    }

    /// Ends the park in a poll: the token with which the worker searches then.
    #[cold]
    pub(crate) fn end_park(&self) -> Token {
        self.unparks();
        self.pool.idle.end_park(self.index)
    }

    /// The worker begins its loop.
    pub(crate) fn arrives(&self) {
        match self.arrival.replace(Arrival::Arrived) {
            Arrival::OnItsWay => self.pool.threads.starting.fall(),
            Arrival::InHook => self.pool.threads.in_hooks.fall(),
            Arrival::Arrived => {}
        }
    }

    /// Whether it is a `run` future.
    #[inline]
    pub(crate) fn is_driver(&self) -> bool {
        self.current.is_driver()
    }

    /// The owner's side of its ring.
    #[inline]
    pub(crate) fn ring(&self) -> Owner<'_, Runnable> {
        // SAFETY: a seat has one runner at a time (the promise of `worker` and `driver`). A runner is not `Sync`, so no
        // two threads call this at once. The ring's operations do not call this.
        unsafe { self.seat.ring.owner() }
    }

    /// Calls `f`, during which this is the innermost runner of the thread.
    #[inline]
    pub(crate) fn enter<T>(&self, f: impl FnOnce() -> T) -> T {
        let outer = RUNNER.with(|runner| runner.replace(self.erased()));
        // Dropped after the outer runner was put back.
        let _current = replace_current(Some(self.current));
        let _leave = OnDrop(|| RUNNER.with(|runner| runner.set(outer)));
        f()
    }

    /// Calls `f`, during which the thread is this worker.
    pub(crate) fn on_thread<T>(&self, f: impl FnOnce() -> T) -> T {
        WORKER.with(|worker| worker.set(self.erased()));
        terrace_trace::worker(self.pool.id.0.get(), self.index);
        let _leave = OnDrop(|| WORKER.with(|worker| worker.set(ptr::null())));
        f()
    }

    fn erased(&self) -> *const Runner<'static> {
        ptr::from_ref(self).cast()
    }

    /// Publishes a task that has yielded and was deferred.
    // Into each caller: mostly no task was deferred.
    #[inline(always)]
    pub(crate) fn flush(&self) {
        self.deferred.flush(|| self.pool.publish());
    }

    /// Counts a poll in a turn of its own.
    #[inline]
    pub(crate) fn count_poll(&self) {
        self.seat.counts.polls.add(1);
    }

    /// It is about to sleep, or lets other futures of its thread have their turn. See [`settle_after`].
    #[inline]
    pub(crate) fn settle(&self) {
        let polls = self.seat.counts.polls.get();
        if settle_after(polls.wrapping_sub(self.settled.get())) {
            self.settled.set(polls);
        }
    }
}

/// Calls `f` with the worker whose loop runs on the current thread, if there is one.
#[inline]
pub(crate) fn with_worker<T>(f: impl FnOnce(Option<&Runner<'_>>) -> T) -> T {
    let worker = WORKER.with(Cell::get);
    // SAFETY: `on_thread` alone sets the pointer, on this very thread. It borrows the runner until it has reset the
    // pointer. `f` gets the runner with a lifetime that it cannot name, so the reference does not leave `f`.
    f(unsafe { worker.as_ref() })
}

// Into each caller, which mostly needs one field.
#[inline(always)]
pub(crate) fn with_runner<T>(f: impl FnOnce(Option<&Runner<'_>>) -> T) -> T {
    let runner = RUNNER.with(Cell::get);
    // SAFETY: `enter` alone sets the pointer, on this very thread. It borrows the runner until it has put the outer one
    // back. `f` gets the runner with a lifetime that it cannot name, so the reference does not leave `f`.
    f(unsafe { runner.as_ref() })
}

/// Whether the thread is in the middle of no runner's poll or loop.
#[inline]
pub(crate) fn is_none() -> bool {
    RUNNER.with(Cell::get).is_null()
}

/// Calls `f` with the innermost runner, if it is of `pool`.
#[inline(always)]
pub(crate) fn with_runner_of<T>(
    pool: *const Shared,
    f: impl FnOnce(Option<&Runner<'_>>) -> T,
) -> T {
    with_runner(|runner| f(runner.filter(|runner| ptr::eq(runner.pool, pool))))
}

/// Calls `f` with the worker whose loop runs on the current thread, if it is of `pool`.
#[inline]
pub(crate) fn with_worker_of<T>(
    pool: *const Shared,
    f: impl FnOnce(Option<&Runner<'_>>) -> T,
) -> T {
    with_worker(|worker| f(worker.filter(|worker| ptr::eq(worker.pool, pool))))
}

/// Whether the current thread is a worker of `pool`.
#[inline]
pub(crate) fn is_worker_of(pool: *const Shared) -> bool {
    with_worker_of(pool, |worker| worker.is_some())
}

/// Whether the thread is in the middle of a runner of `pool`.
#[inline]
pub(crate) fn is_inside(pool: &Shared) -> bool {
    with_runner_of(pool, |runner| runner.is_some())
}

/// Counts a task of `pool` that is being spawned.
#[inline]
pub(crate) fn count_spawn(pool: &Shared) {
    with_runner_of(pool, |runner| match runner {
        Some(runner) => runner.seat.count.spawned.add(1),
        None => pool.seats.remote.spawned.rise(),
    });
}

/// Counts a task of `pool` whose future has been dropped. The caller keeps the pool alive: the end may let a thread go that drops
/// the executor.
#[inline]
pub(crate) fn count_end(pool: &Shared) {
    with_runner_of(pool, |runner| match runner {
        Some(runner) => runner.seat.count.ended.add(1),
        None => pool.seats.remote.ended.rise(),
    });
    pool.quiet.ended(&pool.seats);
}

/// Takes a reference to `pool` out of the current worker's cache, if the thread is a worker of that pool.
#[inline]
fn take_reference(pool: &Shared) -> Option<Arc<Shared>> {
    with_runner_of(pool, |runner| runner?.references.take())
}

/// A task's reference to `pool`: out of the current worker's cache, or a new one.
#[inline]
pub(crate) fn reference(pool: &Arc<Shared>) -> Arc<Shared> {
    take_reference(pool).unwrap_or_else(|| Arc::clone(pool))
}

/// As [`reference()`], of a pool that is in use.
#[inline]
pub(crate) fn reference_to(pool: &Shared) -> Arc<Shared> {
    take_reference(pool).unwrap_or_else(|| pool.arc())
}

/// Gives back a task's reference to a pool: into the current worker's cache, if the thread is a
/// worker of that pool.
#[inline]
pub(crate) fn keep_reference(reference: Arc<Shared>) {
    with_runner(|runner| match runner {
        Some(runner) => runner.references.keep(reference),
        None => drop(reference),
    });
}

/// References to its pool that a worker keeps.
struct Kept<'p> {
    /// The pool of a worker. A driver keeps none: the user may forget it, which would leak them.
    pool: Option<&'p Arc<Shared>>,
    /// How many there are, beside that one.
    count: Cell<usize>,
}

impl Kept<'_> {
    /// Takes a reference out.
    #[inline]
    fn take(&self) -> Option<Arc<Shared>> {
        let left = self.count.get().checked_sub(1)?;
        let pool = Arc::as_ptr(self.pool?);
        self.count.set(left);
        // SAFETY: the pointer comes from a living reference to the same pool, and `keep` has forgotten `count` references, of which this
        // one is no longer counted.
        Some(unsafe { Arc::from_raw(pool) })
    }

    /// Keeps `reference`, if it is one to the worker's pool.
    #[inline]
    fn keep(&self, reference: Arc<Shared>) {
        if !self.pool.is_some_and(|pool| Arc::ptr_eq(pool, &reference)) {
            return drop(reference);
        }
        mem::forget(reference);
        self.count.set(self.count.get() + 1);
        if self.count.get() > KEPT_REFERENCES {
            self.give_back(KEPT_REFERENCES / 2);
        }
    }

    #[cold]
    fn give_back(&self, count: usize) {
        iter::from_fn(|| self.take()).take(count).for_each(drop);
    }
}

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        self.give_back(KEPT_REFERENCES);
    }
}
