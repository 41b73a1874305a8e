//! A runner polls a pool's tasks from a seat: a worker thread, or a `run` future. This file says which of them the current
//! thread is, and where a runnable goes.
//!
//! There are two thread-locals, since a worker may drive another executor in the middle of a job. `WORKER` is the
//! worker whose loop runs on the thread; waits use it. `RUNNER` is the innermost worker or driver whose tasks are being
//! polled; spawns use it. `parts::current` holds what tasks themselves can ask.

use std::cell::Cell;
use std::ptr;

use terrace_local::task::Runnable;
use terrace_queue::Owner;
use terrace_sync::Arc;

use super::shared::Shared;
use crate::parts::current::{Current, replace_current};
use crate::parts::eager;
use crate::parts::fairness::Fairness;
use crate::parts::ref_cache::RefCache;
use crate::parts::seat::Seat;
use crate::parts::trace_index;
use crate::protocol::deferred_publish::DeferredPublish;
use crate::protocol::lifo_slot::IN_A_ROW;
use crate::protocol::publish::Publish;

terrace_sync::thread_local! {
    /// The worker whose loop runs on this thread; null on all others. Plain data without a destructor,
    /// so that it can be read at any time in the thread's life.
    static WORKER: Cell<*const Runner<'static>> = const { Cell::new(ptr::null()) };
    /// The innermost worker or driver; null where there is none. Plain data, for the same reason.
    static RUNNER: Cell<*const Runner<'static>> = const { Cell::new(ptr::null()) };
}

/// A worker, or a `run` future, in its seat.
pub(crate) struct Runner<'p> {
    pool: &'p Shared,
    seat: &'p Seat,
    /// The number of the seat among those of its kind.
    index: usize,
    /// The value that `current` returns to the tasks.
    current: Current,
    deferred: DeferredPublish,
    /// Only a worker uses it: the user may forget a driver, which would leak the references.
    references: RefCache<Shared>,
    pub(crate) fairness: Fairness,
    /// How many tasks out of its slot it has run in a row.
    slot_runs: Cell<u32>,
    /// How many jobs of others run on top of each other, by waits of last resort.
    pub(crate) nested_help: Cell<u32>,
    /// Of a worker: false before the loop and after it, in hooks, and while pinned tasks are dropped.
    pub(crate) in_loop: Cell<bool>,
    /// How far a spare has come.
    arrival: Cell<Arrival>,
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
    /// The worker in the seat with this index.
    ///
    /// # Safety
    /// The caller has acquired the seat, and makes no other runner of it before this one is gone.
    pub(crate) unsafe fn worker(pool: &'p Shared, index: usize) -> Self {
        let seat = pool.seats.workers.get(index);
        Self::new(pool, seat, index, Current::of(pool.id, index))
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
        Self {
            pool,
            seat: seat.expect("an acquired seat exists"),
            index,
            current,
            deferred: DeferredPublish::default(),
            references: RefCache::new(),
            fairness: Fairness::new(index),
            slot_runs: Cell::new(0),
            nested_help: Cell::new(0),
            in_loop: Cell::new(false),
            arrival: Cell::new(Arrival::Arrived),
        }
    }

    /// The worker is a spare, which was counted as one that is on its way.
    pub(crate) fn spare(self) -> Self {
        self.arrival.set(Arrival::OnItsWay);
        self
    }

    /// The worker is going to wait. A spare that waits in its start hook is not on its way any more. It may wait for a
    /// task that another spare has to run, and a task that it runs as the last resort may block it.
    pub(crate) fn waits(&self) {
        if self.arrival.get() == Arrival::OnItsWay {
            self.arrival.set(Arrival::InHook);
            self.pool.threads.spare_waits();
        }
    }

    /// The worker begins its loop.
    pub(crate) fn arrives(&self) {
        match self.arrival.replace(Arrival::Arrived) {
            Arrival::OnItsWay => self.pool.threads.spare_started(),
            Arrival::InHook => self.pool.threads.spare_ends_wait(),
            Arrival::Arrived => {}
        }
    }

    #[inline]
    pub(crate) fn pool(&self) -> &'p Shared {
        self.pool
    }

    #[inline]
    pub(crate) fn seat(&self) -> &'p Seat {
        self.seat
    }

    #[inline]
    pub(crate) fn index(&self) -> usize {
        self.index
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
        /// Puts the outer runner back.
        struct Leave(*const Runner<'static>);

        impl Drop for Leave {
            fn drop(&mut self) {
                RUNNER.with(|runner| runner.set(self.0));
            }
        }

        let outer = RUNNER.with(|runner| runner.replace(self.erased()));
        // Dropped after the outer runner was put back.
        let _current = replace_current(Some(self.current));
        let _leave = Leave(outer);
        f()
    }

    /// Calls `f`, during which the thread is this worker.
    pub(crate) fn on_thread<T>(&self, f: impl FnOnce() -> T) -> T {
        /// The thread is no worker any more.
        struct Leave;

        impl Drop for Leave {
            fn drop(&mut self) {
                WORKER.with(|worker| worker.set(ptr::null()));
                trace_index::set(terrace_trace::EXTERNAL);
            }
        }

        WORKER.with(|worker| worker.set(self.erased()));
        trace_index::set(self.index);
        let _leave = Leave;
        f()
    }

    fn erased(&self) -> *const Runner<'static> {
        ptr::from_ref(self).cast()
    }

    /// Takes the task in its slot, unless [`IN_A_ROW`] such tasks ran in a row: then other tasks
    /// have a turn.
    #[inline]
    pub(crate) fn pop_slot(&self) -> Option<Runnable> {
        let row = self.slot_runs.get();
        if row == IN_A_ROW {
            self.slot_runs.set(0);
            return None;
        }
        let task = self.seat.lifo.take();
        self.slot_runs.set(if task.is_some() { row + 1 } else { 0 });
        task
    }

    /// Takes the next task out of its slot or ring, if no other source has a turn before. It finds what a search would
    /// find, at less cost. It publishes a deferred task unless it takes the head of the ring.
    #[inline]
    pub(crate) fn next_at_hand(&self) -> Option<Runnable> {
        if self.seat.lifo.is_empty() {
            if !self.may_run_local() {
                return None;
            }
            let task = self.ring().pop()?;
            self.fairness.ring_ran();
            return Some(task);
        }
        let row = self.slot_runs.get();
        if row == IN_A_ROW || !self.may_run_local() {
            return None;
        }
        self.flush();
        let task = self.seat.lifo.take()?;
        self.slot_runs.set(row + 1);
        self.fairness.slot_ran();
        Some(task)
    }

    /// Whether it may take from its own slot or ring now.
    #[inline]
    fn may_run_local(&self) -> bool {
        self.fairness.may_run_local() && self.pool.lanes.high.is_empty()
    }

    /// Publishes a task that has yielded and was deferred.
    #[inline]
    pub(crate) fn flush(&self) {
        self.deferred.flush(|| self.pool.publish());
    }

    /// Moves the task in its slot to the ring or the injector, and publishes it. The worker calls this before it waits
    /// in the middle of a poll, or ends.
    pub(crate) fn empty_slot(&self) {
        self.seat.lifo.empty(|task| {
            self.ring().push_or_overflow(task, &self.pool.injector);
            self.pool.publish();
        });
    }

    /// Moves all tasks at its seat into the injector, and returns their number. The caller publishes them.
    pub(crate) fn hand_over(&self) -> usize {
        let mut moved = 0;
        let mut inject = |task| {
            self.pool.injector.push(task);
            moved += 1;
        };
        self.seat.lifo.empty(&mut inject);
        let ring = self.ring();
        while let Some(task) = ring.pop() {
            inject(task);
        }
        moved
    }

    /// Polls a task in the loop of this runner, whose next turn follows.
    #[inline]
    pub(crate) fn run_turn(&self, task: Runnable) {
        self.deferred.allow();
        eager::begin_turn();
        poll_task(task);
    }

    /// A task that was spawned goes to the back of the ring.
    #[inline]
    fn queue_spawned(&self, task: Runnable) -> Owed {
        self.push(task);
        Owed::Publish
    }

    /// A task that yielded goes to the back of the ring, behind published tasks.
    #[inline]
    fn queue_yielded(&self, task: Runnable) -> Owed {
        // On an overflow the tasks before it, which were published, have moved out of the ring.
        if self.push(task) == Pushed::Overflowed {
            return Owed::Publish;
        }
        match self.deferred.pushed() {
            Publish::Now => Owed::Publish,
            Publish::Later => Owed::Nothing,
        }
    }

    /// A worker with an empty ring puts a woken task into its slot. Else the task goes to the back of the ring and
    /// waits its turn. If it did not, the worker would run each of many chains of wakes to its end. The memory that one
    /// chain leaves would be cold for the next.
    #[inline]
    fn queue_woken(&self, task: Runnable) -> Owed {
        if self.is_driver() || !self.seat.ring.is_empty() {
            self.push(task);
        } else if let Some(displaced) = self.seat.lifo.put(task) {
            self.push(displaced);
        } else {
            terrace_trace::local_schedule(trace_index::get());
            return Owed::PublishUnlessWatched;
        }
        Owed::Publish
    }

    /// Queues `task` into its ring.
    #[inline]
    fn push(&self, task: Runnable) -> Pushed {
        terrace_trace::local_schedule(trace_index::get());
        if self.ring().push_or_overflow(task, &self.pool.injector) {
            Pushed::Overflowed
        } else {
            Pushed::Alone
        }
    }
}

/// What a push into a runner's ring moved.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pushed {
    /// The task alone, into the ring.
    Alone,
    /// The ring was full: it moved tasks into the injector.
    Overflowed,
}

/// Why a runnable is queued.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// It was spawned.
    Spawned,
    /// Another task, or none, has woken it.
    Woken,
    /// It has woken itself in its poll.
    Yielded,
}

/// What a thread that has queued a runnable owes the sleepers.
#[derive(Clone, Copy, PartialEq, Eq)]
#[must_use = "what was queued has to be published"]
pub(crate) enum Owed {
    /// A publish.
    Publish,
    /// A publish unless a sentinel watches: the task lies in the slot.
    PublishUnlessWatched,
    /// Nothing: the runner next takes the head of its ring, or publishes the task before it does
    /// anything else.
    Nothing,
}

/// Queues a runnable at the seat of this thread's runner. Gives it back if the thread is neither worker nor driver of
/// `pool`; the caller then queues it into the injector.
// Into each caller, which knows the cause.
#[inline(always)]
pub(crate) fn place(pool: &Shared, task: Runnable, cause: Cause) -> Result<Owed, Runnable> {
    // The match stands outside of the closures, so that each caller gets the code of its cause alone.
    match cause {
        Cause::Spawned => with_runner_of(pool, |runner| match runner {
            Some(runner) => Ok(runner.queue_spawned(task)),
            None => Err(task),
        }),
        Cause::Woken => with_runner_of(pool, |runner| match runner {
            Some(runner) => Ok(runner.queue_woken(task)),
            None => Err(task),
        }),
        Cause::Yielded => with_runner_of(pool, |runner| match runner {
            Some(runner) => Ok(runner.queue_yielded(task)),
            None => Err(task),
        }),
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
fn with_runner<T>(f: impl FnOnce(Option<&Runner<'_>>) -> T) -> T {
    let runner = RUNNER.with(Cell::get);
    // SAFETY: `enter` alone sets the pointer, on this very thread. It borrows the runner until it has put the outer one
    // back. `f` gets the runner with a lifetime that it cannot name, so the reference does not leave `f`.
    f(unsafe { runner.as_ref() })
}

/// Whether the thread is in the middle of no runner's poll or loop.
#[inline]
pub(super) fn is_none() -> bool {
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

/// Whether the current thread is a worker of `pool`.
#[inline]
pub(crate) fn is_worker_of(pool: *const Shared) -> bool {
    with_worker(|worker| worker.is_some_and(|worker| ptr::eq(worker.pool, pool)))
}

/// A worker of `pool` calls this before it waits for the others to end: no sentinel will be left to look at its slot.
pub(crate) fn empty_slot_in(pool: &Shared) {
    if is_worker_of(pool) {
        with_worker(|worker| worker.map(Runner::empty_slot));
    }
}

/// Counts a task of `pool` that is being spawned.
#[inline]
pub(crate) fn count_spawn(pool: &Shared) {
    with_runner_of(pool, |runner| match runner {
        Some(runner) => runner.seat.count.spawn(),
        None => pool.seats.remote.spawn_shared(),
    });
}

/// Counts a task of `pool` whose future has been dropped.
#[inline]
pub(crate) fn count_end(pool: &Shared) {
    with_runner_of(pool, |runner| match runner {
        Some(runner) => runner.seat.count.end(),
        None => pool.seats.remote.end_shared(),
    });
}

/// Takes a reference to `pool` out of the current worker's cache, if the thread is a worker of that pool.
#[inline]
pub(crate) fn take_reference(pool: &Shared) -> Option<Arc<Shared>> {
    with_runner_of(pool, |runner| runner?.references.take())
}

/// Gives back a task's reference to a pool: into the current worker's cache, if the thread is a
/// worker of that pool.
#[inline]
pub(crate) fn keep_reference(reference: Arc<Shared>) {
    with_runner(|runner| match runner {
        Some(runner) if ptr::eq(runner.pool, &*reference) && !runner.is_driver() => {
            runner.references.keep(reference);
        }
        _ => drop(reference),
    });
}

/// Polls a task once, on any thread. A panic does not come out of it: the task's cell keeps it for the handle.
pub(crate) fn run_task(task: Runnable) {
    // The poll is not a turn of the innermost runner's loop.
    with_runner(|runner| runner.map(|runner| runner.deferred.forbid()));
    poll_task(task);
}

/// Calls `poll`, which polls a task of `pool` in the middle of the poll of another one.
///
/// # Panics
/// If the thread is not [in the middle of a runner](is_inside) of that pool.
#[inline]
pub(crate) fn poll_inside<T>(pool: &Shared, poll: impl FnOnce() -> T) -> T {
    with_runner_of(pool, |runner| {
        let runner = runner.expect("the caller has seen the runner");
        runner.deferred.suspend(|| traced(poll))
    })
}

/// Whether the thread is in the middle of a runner of `pool`.
#[inline]
pub(crate) fn is_inside(pool: &Shared) -> bool {
    with_runner_of(pool, |runner| runner.is_some())
}

/// Polls a task in the loop of a runner, or where there is none.
#[inline]
pub(super) fn poll_task(task: Runnable) {
    traced(|| task.run());
}

/// Calls `poll`, which polls a task.
#[inline(always)]
fn traced<T>(poll: impl FnOnce() -> T) -> T {
    let worker = trace_index::get();
    terrace_trace::run_begin(worker);
    let polled = poll();
    terrace_trace::run_end(worker);
    polled
}
