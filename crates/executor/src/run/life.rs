//! The life of a worker's thread, from its start to its end. `DESIGN.md` has the table.

use std::panic::{AssertUnwindSafe, catch_unwind};

use terrace_sync::atomic::{AtomicBool, Ordering};
use terrace_sync::{Arc, OnceLock, weakened};
use terrace_thread::{Notify, ThreadSpawner, internal};

use super::polled;
use super::worker::Worker;
use crate::parts::awake::Awake;
use crate::parts::config::{Config, Hook};
use crate::parts::scopes::Looking;
use crate::parts::threads::Kind;
use crate::pool::fork::here;
use crate::pool::runner::Runner;
use crate::pool::shared::Shared;
use crate::protocol::sight::Sight;
use crate::work::order::bystander_sight;

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

/// The closure of a worker thread, whose starter has counted it live and running. Sets `spawner` when it can take pinned tasks.
/// Raises `out` when it counts itself out.
pub(super) fn live(
    pool: &Arc<Shared>,
    config: &Config,
    index: usize,
    kind: Kind,
    out: &AtomicBool,
    spawner: &OnceLock<ThreadSpawner>,
) {
    let moved = work(pool, config, index, kind, spawner);
    pool.seats.workers.release(index);
    // Waiting threads may have to run the tasks that are left.
    let left = || bystander_sight(pool, Looking::Awake) != Sight::Nothing;
    if moved > 0 || (pool.workers() == 0 && left()) {
        pool.publish_tasks(moved.max(1));
    }
    pool.leave_holders();
    if kind == Kind::Worker {
        pool.threads.worker_ended();
    }
    // Ordering: Release, pairs with the Acquire in `Thread::has_ended`.
    out.store(true, Ordering::Release);
    // Ordering: Release, pairs with the Acquire in `Caller::is_alone`.
    pool.threads.running.fetch_sub(1, Ordering::Release);
    pool.threads.ended.notify(usize::MAX);
}

/// Everything that the thread does as a worker. Returns how many tasks it has left to others at its end.
fn work(
    pool: &Arc<Shared>,
    config: &Config,
    index: usize,
    kind: Kind,
    spawner: &OnceLock<ThreadSpawner>,
) -> usize {
    internal::bind_worker(Arc::new(WorkerNotify {
        pool: Arc::clone(pool),
        index,
    }));
    let _set = spawner.set(ThreadSpawner::current());
    if kind == Kind::Worker {
        pool.threads.ended.notify(usize::MAX);
    }
    // SAFETY: the starter of this thread has acquired the seat for it, and this is the only runner of it. The caller
    // gives the seat back after this function.
    let runner = unsafe { Runner::worker(pool, index) };
    let runner = match kind {
        Kind::Worker => runner,
        Kind::Spare => runner.spare(),
    };
    let worker = Worker::new(runner, kind);
    let runner = worker.runner();
    runner.seat().start_clock();
    let left = runner.on_thread(|| runner.enter(|| work_in_place(&worker, config)));
    here::leave_as_worker(runner);
    // Before the worker gives its place up: `leave` may call users' wakers, which may wait.
    if !weakened!("executor-worker-bound") {
        internal::unbind_worker();
    }
    runner.seat().stop_clock();
    left.unwrap_or_else(|| worker.leave())
}

/// What the thread does while it is the worker: from its entry to the end of its pinned tasks.
fn work_in_place(worker: &Worker<'_>, config: &Config) -> Option<usize> {
    let _awake = Awake::begin();
    let pool = worker.runner().pool();
    if !weakened!("executor-hook-before-place") {
        worker.enter();
    }
    run_hook(pool, config.on_start.as_ref());
    if weakened!("executor-hook-before-place") {
        worker.enter();
    }
    match &config.main {
        None => worker.run(),
        Some(main) => polled::run(worker, main),
    }
    let left = weakened!("executor-hook-behind-place").then(|| worker.leave());
    run_hook(pool, config.on_stop.as_ref());
    // Pinned tasks end on their thread, while it still counts as a worker.
    terrace_thread::close();
    left
}

/// Runs a hook. A panic in it has been reported by the panic hook; it ends nothing else.
fn run_hook(pool: &Shared, hook: Option<&Hook>) {
    let Some(hook) = hook else { return };
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| hook())) {
        pool.report(payload);
    }
}
