//! The owner of a pool, in an executor: when it is dropped, it closes the pool and joins the pool's threads, where it can.

use std::io;

use terrace_local::task::PanicHandler;
use terrace_sync::{Arc, thread, weakened};

use super::shutdown::wait_for;
use super::{stand_in, start, threadless, watch};
use crate::parts::config::Config;
use crate::parts::threads::Threads;
use crate::pool::shared::Shared;
use crate::pool::{frames, look, place};

/// A pool without threads so far, with room for `workers`.
pub(super) fn new(workers: usize, config: Config, handler: Option<PanicHandler>) -> Arc<Shared> {
    let pool = Shared::new(workers, Threads::new(config), handler, watch::call);
    look::add(&pool);
    pool
}

/// A pool: its drop closes it, and ends its threads.
pub(crate) struct Pool {
    pub(crate) shared: Arc<Shared>,
}

impl Pool {
    /// A pool without workers. It makes progress only inside `run`, `tick` or `try_tick`.
    pub(crate) fn bare() -> Self {
        Self {
            shared: new(0, Config::bare(), None),
        }
    }

    /// Starts `config.workers` threads; if that is 0, threads that wait drive the pool.
    pub(crate) fn start(config: Config, handler: Option<PanicHandler>) -> io::Result<Self> {
        let workers = config.workers;
        let pool = Self {
            shared: new(workers, config, handler),
        };
        if workers == 0 {
            threadless::register(&pool.shared);
            threadless::announce();
        }
        // A failure drops `pool`, which ends the threads that were started.
        start::set_workers(&pool.shared, workers)?;
        Ok(pool)
    }

    /// Ends the workers: they finish the polls that they are in; then the last holder drops the
    /// queued tasks. Joins every thread but the current one, or waits for its last task where this thread cannot join.
    fn close(&self) {
        let shared = &self.shared;
        place::empty_slot_in(shared);
        // `unpark_all` fences, and every worker looks at the flag before it parks again.
        shared.holders.close();
        shared.holders.enter();
        shared.idle.unpark_all();
        // Of the threads that wait, only those inside of a poll of the pool still drive it.
        shared.external_waiters.notify(usize::MAX);
        // Threads start under the same lock; from now on none starts.
        let threads = shared.threads.take();
        if stand_in::is_worker_or_stands_in() || !thread::can_join() {
            // A worker waits as workers do: another one may wait for a task that it may adopt only once this one waits, too.
            loop {
                let listener = shared.threads.ended.listen();
                if threads
                    .iter()
                    .all(|thread| thread.has_ended() || thread.is_here() || thread.handle.is_none())
                {
                    break;
                }
                wait_for(listener, None);
            }
        }
        let others = threads.into_iter().filter(|thread| !thread.is_here());
        // Where this thread cannot join, nothing is left of the others but their thread-locals.
        if thread::can_join() {
            let handles = others.filter_map(|thread| thread.handle);
            shared.threads.join(handles.collect());
        }
        threadless::unregister(shared);
        #[cfg(feature = "inspect")]
        shared.records.end();
        // Else the count stays up, and no thread drops the tasks: a poll that never ends may still
        // use them.
        if !is_borrowed_by_poll(shared) {
            shared.leave_holders();
        }
    }
}

/// Whether a poll of one of its tasks is under way that borrows the executor. If so while the executor is being
/// dropped, the process exits inside that poll.
fn is_borrowed_by_poll(pool: &Shared) -> bool {
    let polling = || pool.seats.drivers.scan().any(|seat| seat.is_polling());
    !weakened!("executor-exit-unseen") && (frames::is_borrowed(pool) || polling())
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.close();
    }
}
