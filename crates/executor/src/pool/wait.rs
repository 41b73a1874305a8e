//! The one wait: how a thread that waits for something of its own keeps working meanwhile.
//!
//! Used by scopes and by `block_on`, on workers and off. In order: what it waits for, the thread's
//! pinned tasks (nobody else can run them), its own work, then a short spin, then sleep. It adopts
//! no foreign work: a foreign body may want a lock that the waiter holds, and would bury the wait
//! under itself. The one exception keeps small pools from deadlock: where every live worker of the
//! pool waits like this and work is takeable, a spare worker is started; where no thread can
//! start, the waiter runs exactly one foreign job, nested at most [`MAX_NESTED_HELP`] deep, and as many
//! levels more for tasks that workers hold in their rings.

use terrace_park::Restricted;
use terrace_sync::thread::yield_now;

use super::lanes::Lane;
use super::outside::{self, Workerless};
use super::search::{Found, Scan};
use super::spin::spin;
use super::worker::Worker;
use super::{Looking, context};

/// How deep foreign jobs may nest on a waiter's stack where no spare worker can be started.
pub(crate) const MAX_NESTED_HELP: u32 = 8;

/// What a thread waits for, and what it may run meanwhile.
pub(crate) trait Own {
    /// Whether the wait is over.
    fn is_done(&self) -> bool;
    /// Runs one piece of own work; false if there is none.
    fn run_one(&mut self) -> bool;
    /// Whether `run_one` would find something; valid after a fence.
    fn has_work(&self) -> bool;
    /// The thread is about to sleep: whoever makes own work from now on has to wake it. Ends with
    /// a `heavy()` fence or what serves as one.
    fn announce_sleep(&mut self);
    /// The thread is awake again.
    fn end_sleep(&mut self);
}

/// Waits until `own` is done, and meanwhile runs the work of pools without workers.
pub(crate) fn wait(own: &mut impl Own, mut workerless: Workerless<'_>) {
    // Whether the thread was notified of a pool without workers, and has not looked at it since.
    let mut notified = false;
    loop {
        // Nobody else looks at this worker's slot before a guard does.
        context::with(|worker| worker.map(Worker::empty_slot));
        if own.is_done() {
            if notified {
                workerless.pass_on();
            }
            return;
        }
        workerless.refresh();
        // One pinned task, then one of the own: neither starves the other.
        let pinned = terrace_thread::has_work() && terrace_thread::tick();
        if own.run_one() || pinned {
            if std::mem::take(&mut notified) {
                workerless.pass_on();
            }
            workerless.have_a_turn();
            continue;
        }
        notified = false;
        if workerless.run_one() || spin(|| anything(own)) {
            continue;
        }
        outside::subscribe();
        // A background task gives its permit back for the time it sleeps.
        let lent = context::lend_permit();
        own.announce_sleep();
        notified = context::with(|worker| match worker {
            Some(worker) => sleep_on_worker(worker, own, &workerless),
            None => sleep_outside(own, &workerless),
        });
        drop(lent);
        own.end_sleep();
    }
}

fn anything(own: &impl Own) -> bool {
    own.is_done() || own.has_work() || terrace_thread::has_work()
}

/// Sleeps on the thread's own parker. Whether it was notified of a pool without workers.
fn sleep_outside(own: &impl Own, workerless: &Workerless<'_>) -> bool {
    // Pools without workers wake through their event; the listeners have to stand before the last
    // look.
    let outside = workerless.listen();
    if anything(own) || outside.has_work() {
        // Something came in the last moment, or is announced by a thread that has not pushed it yet.
        yield_now();
    } else {
        terrace_trace::park(terrace_trace::EXTERNAL);
        terrace_thread::park();
        terrace_trace::unpark(terrace_trace::EXTERNAL);
    }
    outside.end()
}

/// Sleeps in `R`: woken by what it waits for, by pinned tasks, and by the rule of last resort. Whether it was
/// notified of a pool without workers.
fn sleep_on_worker(worker: &Worker, own: &impl Own, workerless: &Workerless<'_>) -> bool {
    let pool = &**worker.pool();
    let outside = workerless.listen();
    let ready = || anything(own) || outside.has_work();
    let mut scan = Scan {
        pool,
        looking: Looking::ToWake,
        exhausted: None,
        heeds_closing: false,
    };
    terrace_trace::park(worker.index());
    if let Restricted::LastResort = pool.idle.wait_restricted(worker.index(), &scan, ready) {
        if !last_resort(worker) {
            // Another waiter's turn, which `scan` passes on once this one is back in `R`.
            scan.exhausted = Some(worker.index());
            match pool.idle.wait_restricted(worker.index(), &scan, ready) {
                Restricted::Ready | Restricted::Woken | Restricted::LastResort => {}
            }
        }
    }
    terrace_trace::unpark(worker.index());
    outside.end()
}

/// Every live worker of the pool waits and there is work that none of them may adopt. False if this one can do
/// nothing about it.
fn last_resort(worker: &Worker) -> bool {
    let pool = worker.pool();
    if pool.start_spare() {
        return true;
    }
    let depth = worker.nested_help.get();
    let found = if depth < MAX_NESTED_HELP {
        pool.find_any()
    } else if depth < 2 * MAX_NESTED_HELP {
        // What workers hold is mostly what some of them wait for, and ends waits rather than adding one.
        pool.pop_held().map(Found::Task)
    } else {
        None
    };
    let Some(found) = found else {
        return depth < MAX_NESTED_HELP;
    };
    worker.nested_help.set(depth + 1);
    // Whatever lane the waiter is on.
    context::in_lane(Lane::Normal, || found.run(pool));
    worker.nested_help.set(depth);
    true
}
