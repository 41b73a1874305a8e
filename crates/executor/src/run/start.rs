//! The OS threads of a pool, its workers and spares: how the pool starts them and asks them to end.
//!
//! A pool starts a spare when every worker waits and work is left that no worker may adopt. The spare ends when it
//! finds no more work and has no pinned tasks. There may be as many spares as the system has threads for.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use terrace_sync::thread::Builder;
use terrace_sync::{Arc, weakened};

use super::life::Place;
use super::threadless;
use crate::parts::threads::{Kind, Thread, default_name};
use crate::pool::frames::{self, Borrows, Permit};
use crate::pool::shared::Shared;
use crate::work::order::Scan;

/// Starts or ends workers until there are `wanted`. A worker that ends finishes its poll; this does not wait for it.
/// With no workers, threads that wait drive the pool. The user's function that names the pool's threads may call this.
/// Such a call starts no threads: the call that it is nested in does.
pub(crate) fn set_workers(pool: &Arc<Shared>, wanted: usize) -> io::Result<()> {
    let before = change_workers(pool, None, |_| {
        if wanted > 0 {
            if pool.workers() == 0 {
                pool.reset_alarm();
            }
            // A drain whose time was over may have asked before.
            pool.threads.draining.set(false);
        } else if pool.workers() == 0 && !pool.holders.is_closing() {
            // It may never have had any.
            threadless::register(pool);
        }
        Some(wanted)
    });
    if before == 0 && wanted > 0 {
        // A `shutdown` may wait for threads that stay now.
        pool.threads.ended.notify(usize::MAX);
    }
    let result = if frames::is_naming(&**pool) {
        Ok(())
    } else {
        start_missing(pool, before)
    };
    // There may be more permits now. And a task that was queued while there were no workers has not called the watch.
    let revived = || before == 0 && wanted > 0 && Scan::for_workers(pool).finds_something();
    if pool.has_background() || revived() {
        pool.publish();
    }
    result
}

/// Asks workers to end or to stay, so that as many are left as `wanted` returns under the list's lock; `None` changes nothing. Starts
/// none. If the last worker goes, threads that wait drive the pool. `before` is the number that the pool was to have, or `None` for
/// the present one. Returns it.
pub(super) fn change_workers(
    pool: &Arc<Shared>,
    before: Option<usize>,
    wanted: impl FnOnce(&mut Vec<Thread>) -> Option<usize>,
) -> usize {
    let mut list = pool.threads.list.lock();
    let before = before.unwrap_or_else(|| pool.workers());
    let Some(wanted) = wanted(&mut list) else {
        return before;
    };
    let asked = resize(pool, &list, wanted);
    let registers = before > 0 && wanted == 0 && !pool.holders.is_closing();
    if registers && !weakened!("executor-hosted-unregistered") {
        threadless::register(pool);
    }
    drop(list);
    wake(pool, &asked);
    if wanted == 0 {
        threadless::announce();
        pool.quiet.notify();
    }
    before
}

/// Makes known that the pool is to have `wanted` workers, and asks the present ones to end or to stay. Starts none. Returns the
/// seats of those that were asked to end: the caller [wakes](wake) them without the list's lock, as this may call users' wakers.
#[must_use = "a worker that sleeps does not learn that it has to end"]
pub(super) fn resize(pool: &Shared, list: &[Thread], wanted: usize) -> Vec<usize> {
    let mut asked = Vec::new();
    pool.threads.set_workers(wanted);
    for thread in list.iter().rev().filter(|thread| thread.is_worker()) {
        if staying(pool, list) > wanted && pool.worker_seat(thread.seat).ask_to_end() {
            asked.push(thread.seat);
        }
    }
    if wanted == 0 {
        // A spare ends by itself when it finds no work, but a pinned task, or one that wakes itself
        // without end, would keep it.
        for spare in list.iter().filter(|thread| thread.is_spare()) {
            if pool.worker_seat(spare.seat).ask_to_end() {
                asked.push(spare.seat);
            }
        }
    }
    for thread in list.iter().filter(|thread| thread.is_worker()) {
        // A worker that ends already cannot be kept.
        if staying(pool, list) < wanted {
            pool.worker_seat(thread.seat).ask_to_stay();
        }
    }
    asked
}

/// Wakes the workers that were asked to end.
pub(super) fn wake(pool: &Shared, asked: &[usize]) {
    for seat in asked {
        pool.idle.wake_worker(*seat);
    }
}

/// Workers that were not asked to end.
pub(super) fn staying(pool: &Shared, list: &[Thread]) -> usize {
    let staying = |thread: &&Thread| thread.is_worker() && !pool.is_asked_to_end(thread.seat);
    list.iter().filter(staying).count()
}

/// Starts workers while there are too few. If the system starts no more, the pool keeps as many as it has. `before` is
/// the number that it was to have before.
fn start_missing(pool: &Arc<Shared>, before: usize) -> io::Result<()> {
    let missing =
        |list: &[Thread]| !pool.holders.is_closing() && staying(pool, list) < pool.workers();
    loop {
        let list = pool.threads.list.lock();
        if staying(pool, &list) > 0 {
            // Not before there is a worker: the function that names threads may wait for the pool.
            threadless::unregister(pool);
        }
        if !missing(&list) {
            return Ok(());
        }
        drop(list);
        if let Err(error) = start_thread(pool, Kind::Worker, missing) {
            // A pool that had no workers before stays as it was, registered or not.
            change_workers(pool, Some(before), |list| {
                missing(list).then(|| staying(pool, list))
            });
            return Err(error);
        }
    }
}

/// Starts a spare worker; false if it cannot start a thread, and after the end of the last thread of the pool: a shutdown
/// may have returned by then.
pub(crate) fn start_spare(pool: &Arc<Shared>) -> bool {
    // The function that names threads may wait, as all users' code may: the start of a spare would call it again. A
    // pool that is being dropped starts no more threads, but the jobs that its workers are in still end. The closer
    // raises the flag before it takes the lock to collect the threads that it joins.
    let wanted = |_: &[Thread]| !pool.holders.is_closing();
    pool.threads.config.spares
        && !frames::is_naming(&**pool)
        && start_thread(pool, Kind::Spare, wanted).is_ok_and(|started| {
            // The function that names threads may have asked for more workers. If the system starts none, the pool keeps those it has.
            let _started = start_missing(pool, pool.workers());
            started
        })
}

/// Starts a thread, if it is still `wanted` when its name is known; true if it was.
fn start_thread(
    pool: &Arc<Shared>,
    kind: Kind,
    wanted: impl Fn(&[Thread]) -> bool,
) -> io::Result<bool> {
    let config = &pool.threads.config;
    pool.injector.note_rival();
    let index = pool.seats.workers.acquire();
    let mut builder = Builder::new().name(thread_name(pool, index));
    if let Some(size) = config.stack_size {
        builder = builder.stack_size(size);
    }
    let mut list = pool.threads.list.lock();
    // Dropping the handle of a thread that has finished forgets it.
    list.retain(|thread| !thread.is_finished());
    let is_wanted = wanted(&list);
    let place = is_wanted.then(|| Place::take(pool, &mut list, index, kind));
    let Some(place) = place.flatten() else {
        drop(list);
        pool.seats.workers.release(index);
        return Ok(false);
    };
    // Before the thread starts, which counts it down.
    pool.threads.coming.rise();
    let own = place.clone();
    let begun = move || {
        own.pool.threads.has_come();
        own.live();
        own.pool.threads.let_others_begin();
    };
    match builder.spawn(begun) {
        Ok(handle) => {
            if let Some(entry) = place.entry(&mut list) {
                entry.thread = Some(handle.thread());
                entry.handle = Some(handle);
            }
            Ok(true)
        }
        Err(error) => {
            place.unlist(&mut list);
            // The calls below may call users' wakers, so they hold no lock.
            drop(list);
            pool.threads.has_come();
            place.abandon();
            Err(error)
        }
    }
}

/// The name of the thread with this index. It calls the user's code without a lock.
fn thread_name(pool: &Shared, index: usize) -> String {
    let asked = || (pool.threads.config.thread_name)(index);
    let named = || catch_unwind(AssertUnwindSafe(asked));
    match frames::enter(pool, Borrows::Naming, Permit::None, named) {
        // The standard library refuses a name with a NUL.
        Ok(name) => name.replace('\0', "\u{fffd}"),
        Err(payload) => {
            pool.report(payload);
            default_name(index)
        }
    }
}
