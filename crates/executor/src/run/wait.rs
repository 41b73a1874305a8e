//! The one wait: what a thread runs while it waits for something of its own.
//!
//! Scopes and `block_on` use it, on workers and off. The waiter first looks whether the wait is over. Then it runs the
//! thread's pinned tasks (no other thread can run them) and its own work. Then it spins shortly, then it sleeps. It
//! adopts no job of others: such a job may want a lock that the waiter holds, and would bury the wait under itself.
//!
//! One exception keeps small pools from deadlock. If every live worker of the pool waits like this and work is
//! takeable, a waiter starts a spare. If no thread can start, and in hooks, the waiter runs exactly one job of others.
//! See `super::stand_in`.

use std::time::Duration;

use terrace_local::task::awaited;
use terrace_local::{cells, thread_id};
use terrace_park::Restricted;
use terrace_sync::thread::{park, yield_now};
use terrace_sync::weakened;
use terrace_thread::internal::{self, Locals};
use terrace_trace::inspect::{self, Began};

use super::stand_in::{self, LastResort, Place};
use super::threadless::{self, Drives, Listening, ThreadlessPools};
use crate::parts::processor::{Awake, spin};
use crate::pool::fork::{pause_forking, resume_forking};
use crate::pool::frames;
use crate::pool::runner::{self, Runner};
use crate::tuned::CALL;
use crate::work::Scan;

/// What a thread waits for, and which work of its own it may run until then.
pub(crate) trait WaitFor {
    /// Whether the wait is over.
    fn is_done(&self) -> bool;
    /// Runs one piece of own work; false if there is none.
    fn run_one(&mut self) -> bool;
    /// Whether `run_one` would find something; valid after a fence.
    fn has_work(&self) -> bool;
    /// The waiter is about to sleep: from now on, a thread that makes own work for it has to wake it, or
    /// leave the work to a sentinel. Ends with a `heavy()` fence or an equivalent.
    fn announce_sleep(&mut self);
    /// The thread is awake again.
    fn end_sleep(&mut self);
    /// What the wait is called in a report.
    const NAME: &'static str;
    /// How long the waiter looks around before it sleeps.
    fn patience(&self) -> Duration {
        CALL
    }
}

/// Which of the thread's own tasks a wait may run.
///
/// A wait inside a local task runs no other local task on top of it. The upper task could wait for the lower one, which
/// cannot go on. It could find a value borrowed that the lower one has borrowed. And if many tasks wait, the stack
/// would hold all of them. Children that are pinned to the thread are no such tasks, and run in every wait. There is
/// one exception: the future that the wait polls may await another task of this very thread. No other thread can run
/// that task, so the wait does.
struct LocalTasks {
    /// Set if the wait began inside a local task: the thread's count of awaited tasks at the last look.
    inside: Option<u32>,
}

impl LocalTasks {
    fn new() -> Self {
        Self {
            inside: internal::inside_task(),
        }
    }

    /// The waiter calls this before it runs own work and pinned children.
    fn before_own(&mut self) {
        if self.inside.is_some() {
            self.inside = internal::inside_task();
        }
    }

    /// The waiter calls this after it ran them: they may have awaited a task of this thread.
    fn after_own(&mut self) {
        if self.inside.is_some() && internal::inside_task() != self.inside {
            self.inside = None;
        }
    }

    fn locals(&self) -> Locals {
        match self.inside {
            Some(_) => Locals::Leave,
            None => Locals::Run,
        }
    }

    fn has_work(&self) -> bool {
        internal::has_work_for(self.locals())
    }

    fn tick(&self) -> bool {
        internal::tick_for(self.locals())
    }
}

/// Waits until `own` is done, and runs the tasks of the pools without workers that it `drives` until then.
pub(crate) fn wait<W: WaitFor>(own: &mut W, drives: Drives<'_>) {
    let mut threadless = ThreadlessPools::new(drives);
    let _waiting = inspect::waits(W::NAME);
    let _outside = awaited::outside();
    let mut local = LocalTasks::new();
    let mut before = None;
    loop {
        // No other thread looks at this worker's slot before a sentinel does.
        let parkings = runner::with_worker(|worker| {
            let worker = worker?;
            worker.empty_slot();
            Some(worker.parkings.get())
        });
        let before = *before.get_or_insert(parkings);
        if own.is_done() {
            return;
        }
        if parkings != before {
            // `own` has parked this worker: it polls the worker's loop.
            wait_in_park(own, &mut local, &mut threadless);
            continue;
        }
        threadless.refresh();
        // The waiter runs one pinned task, then one piece of own work: neither starves the other. Either may await a
        // task of this thread: a pinned child is part of the scope that the thread waits for.
        local.before_own();
        let pinned = local.tick();
        let ran = own.run_one();
        local.after_own();
        if ran || pinned {
            threadless.have_a_turn();
            continue;
        }
        if stand_in::with_place(|place| place.is_some_and(Place::before_sleep)) {
            continue;
        }
        // From here on the thread is blocked for the background tasks that it is in the middle of.
        let lent = frames::lend();
        if threadless.run_one() || (spin_pays() && spin(own.patience(), || anything(own, &local))) {
            continue;
        }
        cells::give_back();
        threadless::subscribe();
        own.announce_sleep();
        pause_forking();
        // The program may wait beside its worker's future, between two polls.
        leave_park();
        // Pools without workers wake through their event, so the thread listens before its last look.
        let listening = Listening::to(&threadless);
        let ready = || anything(own, &local) || listening.has_work();
        runner::with_worker(|worker| match worker {
            Some(worker) => sleep_on_worker(worker, ready),
            None => sleep_off_workers(ready),
        });
        let notified = listening.end();
        resume_forking();
        own.end_sleep();
        // The thread serves the notification before it runs users' code, which may take long or unwind. It either looks
        // at the pools now, or tells another thread to.
        if notified > 0 && !weakened!("executor-notification-kept") {
            threadless.serve(notified, anything(own, &local));
        }
        drop(lent);
    }
}

/// One round of a wait for a future that polls this worker's loop (`Builder::worker_main`). The worker sleeps in the park that the loop
/// has made, so that publishers find it there. What the loop does not run, the thread runs out of that park.
fn wait_in_park(
    own: &mut impl WaitFor,
    local: &mut LocalTasks,
    threadless: &mut ThreadlessPools<'_>,
) {
    threadless.refresh();
    local.before_own();
    let ran = own.run_one();
    local.after_own();
    if ran {
        return;
    }
    threadless::subscribe();
    own.announce_sleep();
    let listening = Listening::to(threadless);
    let others = listening.has_work();
    // Each wake of the worker, and of `own`, unparks the thread afterwards (`life::WorkerNotify`). The loop runs pinned tasks.
    if !others && !own.is_done() && !own.has_work() {
        park();
    }
    let notified = listening.end();
    own.end_sleep();
    if others || notified > 0 {
        leave_park();
        threadless.serve(notified, false);
    }
}

/// The worker is not parked in a poll any more, if it was: it is going to wait, or to run something, beside its loop.
fn leave_park() {
    runner::with_worker(|worker| {
        let Some(worker) = worker.filter(|worker| worker.parked.get()) else {
            return;
        };
        worker.stop_search(&mut Some(worker.end_park()));
    });
}

/// Whether the thread that woke this one last can run while it spins, as far as is known.
fn spin_pays() -> bool {
    runner::with_worker(|worker| match worker {
        Some(worker) => !worker.pool.idle.shares_processor(worker.index),
        None => !terrace_thread::internal::shares_processor(),
    })
}

fn anything(own: &impl WaitFor, local: &LocalTasks) -> bool {
    own.is_done() || own.has_work() || local.has_work()
}

/// Sleeps on the thread's own parker.
fn sleep_off_workers(ready: impl Fn() -> bool) {
    let sleep = || {
        terrace_trace::park();
        terrace_thread::park();
        terrace_trace::unpark();
    };
    stand_in::with_place(|place| match place {
        Some(place) => place.sleep(ready, sleep),
        // Work came in the last moment, or a pusher has announced it and not pushed it yet.
        None if ready() => yield_now(),
        None => sleep(),
    });
}

/// Sleeps in `R`. Its own event wakes it, pinned tasks do, and the rule of last resort.
fn sleep_on_worker(worker: &Runner<'_>, ready: impl Fn() -> bool) {
    let pool = worker.pool;
    worker.waits();
    terrace_trace::park();
    worker.seat.asleep.set(Began::here(thread_id));
    let sleep = |scan: &Scan<'_, '_>| {
        let _asleep = Awake::pause();
        let ended = pool.idle.wait_restricted(worker.index, scan, &ready);
        matches!(ended, Restricted::LastResort)
    };
    let resort = LastResort {
        pool,
        nested_help: &worker.nested_help,
        in_hook: !worker.in_loop.get(),
    };
    resort.sleep(worker.index, sleep, |taken| {
        worker.enter(|| taken.found.run(pool));
    });
    terrace_trace::unpark();
}
