//! The OS threads of a pool, its workers and spares: how the pool starts them and asks them to end, and the life of one, from its place in
//! the pool to its end. `DESIGN.md` has the table of that life.
//!
//! A pool starts a spare when every worker waits and work is left that no worker may adopt. The spare ends when it
//! finds no more work and has no pinned tasks. There may be as many spares as the system has threads for.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use terrace_sync::atomic::Ordering;
use terrace_sync::thread::Builder;
use terrace_sync::time::CpuClock;
use terrace_sync::{Arc, weakened};
use terrace_thread::{Notify, ThreadSpawner, internal};

use super::threadless;
use super::worker::run_polled;
use crate::parts::processor::Awake;
use crate::parts::threads::{Hook, Kind, Thread, default_name};
use crate::pool::Shared;
use crate::pool::fork::leave_fork_seat;
use crate::pool::frames::{self, Borrows, Permit};
use crate::pool::runner::Runner;
use crate::work::{Scan, bystander_has_work};

/// Wakes one worker, whether it searches, parks, or waits. If the program polls the worker's loop, it may do so by `block_on`, whose
/// sleep in the loop's park ends by an unpark (`wait::wait_in_park`).
struct WorkerNotify {
    pool: Arc<Shared>,
    index: usize,
}

impl Notify for WorkerNotify {
    fn notify(&self) {
        let idle = &self.pool.idle;
        idle.wake_worker(self.index);
        if self.pool.threads.config.main.is_some() {
            idle.unpark_thread(self.index);
        }
    }
}

/// What a worker or spare has in its pool: a seat, an entry in the list of threads, and its part of the counts. From [`take`](Self::take)
/// on it counts as live and running, until [`live`](Self::live) or [`abandon`](Self::abandon) counts it out. Its drop does nothing.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) pool: Arc<Shared>,
    /// Its entry in the list.
    pub(super) thread: Arc<Thread>,
}

impl Place {
    /// Takes the place with the seat `index`, which the caller has acquired, and lists it, without a thread so far. `None` for a spare
    /// that no thread of the pool needs any more.
    pub(super) fn take(
        pool: &Arc<Shared>,
        list: &mut Vec<Arc<Thread>>,
        index: usize,
        kind: Kind,
    ) -> Option<Self> {
        if kind == Kind::Spare {
            if list.iter().all(|thread| thread.has_ended()) {
                return None;
            }
            pool.threads.starting.rise();
        }
        for thread in list.iter().filter(|thread| thread.seat == index) {
            thread.gone.set(true);
        }
        pool.worker_seat(index).reset();
        pool.idle.ensure(index);
        // It counts as live before it runs, so that the pool does not look stuck until then.
        pool.idle.adopt_live(index);
        pool.holders.enter();
        let thread = Arc::new(Thread {
            seat: index,
            kind,
            ..Thread::default()
        });
        pool.threads.left.rise();
        list.push(Arc::clone(&thread));
        let pool = Arc::clone(pool);
        Some(Self { pool, thread })
    }

    /// No thread will run in this place, which is off the list. May call users' wakers: the caller holds no lock.
    pub(super) fn abandon(&self) {
        let (pool, seat) = (&self.pool, self.thread.seat);
        // Before users' wakers: one of them may wait until the other threads have ended.
        self.count_out();
        if self.thread.kind == Kind::Spare {
            pool.threads.starting.fall();
        }
        pool.leave_holders();
        pool.idle.abandon_live(seat, &Scan::for_workers(pool));
        pool.seats.workers.release(seat);
    }

    fn count_out(&self) {
        self.pool.threads.left.fall();
        // Ordering: Release, pairs with the Acquire in `Thread::has_ended`: a thread that sees the flag sees the count above.
        self.thread.out.store(true, Ordering::Release);
        self.pool.threads.ended.notify(usize::MAX);
    }

    /// The calling thread is the worker in this place, from its start hook to its end. Then it counts itself out.
    pub(super) fn live(&self) {
        let pool = &self.pool;
        let moved = self.work();
        pool.seats.workers.release(self.thread.seat);
        // Waiting threads may have to run the tasks that are left.
        if moved > 0 || (pool.workers() == 0 && bystander_has_work(pool)) {
            pool.publish_tasks(moved.max(1));
        }
        pool.leave_holders();
        self.count_out();
    }

    /// Everything that the thread does as a worker. Returns how many tasks it has left to others at its end.
    fn work(&self) -> usize {
        let (pool, index, kind) = (&self.pool, self.thread.seat, self.thread.kind);
        internal::bind_worker(Arc::new(WorkerNotify {
            pool: Arc::clone(pool),
            index,
        }));
        let _set = self.thread.spawner.set(ThreadSpawner::current());
        pool.threads.ended.notify(usize::MAX);
        // SAFETY: the taker of this place has acquired the seat for it, and this is the only runner of it: a place runs once. `live`
        // gives the seat back after this function.
        let runner = unsafe { Runner::worker(pool, index, kind) };
        *runner.seat.clock.lock() = CpuClock::of_this_thread();
        runner.on_thread(|| runner.enter(|| work_in_place(&runner)));
        leave_fork_seat(&runner);
        // Before the worker gives its place up: `leave` may call users' wakers, which may wait.
        internal::unbind_worker();
        // The system may soon reuse the number of this thread for another one.
        *runner.seat.clock.lock() = None;
        runner.leave_place()
    }
}

/// What the thread does while it is the worker: from its entry to the end of its pinned tasks.
fn work_in_place(runner: &Runner<'_>) {
    let _awake = Awake::begin();
    let pool = runner.pool;
    let config = &pool.threads.config;
    runner.take_place();
    run_hook(pool, config.on_start.as_ref());
    match &config.main {
        None => runner.run(),
        Some(main) => run_polled(runner, main),
    }
    run_hook(pool, config.on_stop.as_ref());
    // Pinned tasks end on their thread, while it still counts as a worker.
    terrace_thread::close();
}

/// Runs a hook. A panic in it has been reported by the panic hook; it ends nothing else.
fn run_hook(pool: &Shared, hook: Option<&Hook>) {
    let Some(hook) = hook else { return };
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| hook())) {
        pool.report(payload);
    }
}

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
    wanted: impl FnOnce(&mut Vec<Arc<Thread>>) -> Option<usize>,
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
pub(super) fn resize(pool: &Shared, list: &[Arc<Thread>], wanted: usize) -> Vec<usize> {
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
pub(super) fn staying(pool: &Shared, list: &[Arc<Thread>]) -> usize {
    let staying = |thread: &&Arc<Thread>| thread.is_worker() && !pool.is_asked_to_end(thread.seat);
    list.iter().filter(staying).count()
}

/// Starts workers while there are too few. If the system starts no more, the pool keeps as many as it has. `before` is
/// the number that it was to have before.
fn start_missing(pool: &Arc<Shared>, before: usize) -> io::Result<()> {
    let missing =
        |list: &[Arc<Thread>]| !pool.holders.is_closing() && staying(pool, list) < pool.workers();
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
    let wanted = |_: &[Arc<Thread>]| !pool.holders.is_closing();
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
    wanted: impl Fn(&[Arc<Thread>]) -> bool,
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
    let own = place.clone();
    let begun = move || {
        own.live();
        own.pool.threads.let_others_begin();
    };
    match builder.spawn(begun) {
        Ok(handle) => {
            let _set = place.thread.thread.set(handle.thread().into());
            *place.thread.handle.lock() = Some(handle);
            Ok(true)
        }
        Err(error) => {
            list.retain(|entry| !Arc::ptr_eq(entry, &place.thread));
            // The calls below may call users' wakers, so they hold no lock.
            drop(list);
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
