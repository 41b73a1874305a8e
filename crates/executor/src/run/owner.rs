//! The owner of a pool, in an executor. It makes the pool, and the places for workers on threads of the program. When it is dropped, it
//! closes the pool and joins the pool's threads, where it can.
//!
//! | a hosted worker          | it counts as                                   | its seat                        |
//! |--------------------------|------------------------------------------------|---------------------------------|
//! | has not begun            | live and running: publishers count on it       | kept for it                     |
//! | runs                     | any worker                                     | its own                         |
//! | has ended                | nothing                                        | given back, as any worker's     |
//! | was dropped unused       | nothing: the pool has one worker less          | given back                      |
//!
//! The pool never joins the thread of such a worker. A drop of the executor does not wait for it; `shutdown` waits until it has ended.

use std::{fmt, io};

use terrace_local::task::PanicHandler;
use terrace_sync::{Arc, thread};

use super::life::{self, Place, change_workers, staying};
use super::shutdown::wait_beside_tasks;
use super::{stand_in, threadless, watch};
use crate::parts::threads::{Config, Kind, Threads};
use crate::pool::{Shared, dump, frames, schedule};

/// A pool: its drop closes it, and ends its threads.
pub(crate) struct Pool {
    pub(crate) shared: Arc<Shared>,
}

impl Pool {
    /// A pool without threads so far, with room for `config.workers`.
    fn new(config: Config, handler: Option<PanicHandler>) -> Self {
        let shared = Shared::new(Threads::new(config), handler, watch::call);
        dump::add(&shared);
        Self { shared }
    }

    /// A pool without workers. It makes progress only inside `run`, `tick` or `try_tick`.
    pub(crate) fn bare() -> Self {
        Self::new(Config::default(), None)
    }

    /// Starts `config.workers` threads; if that is 0, threads that wait drive the pool.
    pub(crate) fn start(config: Config, handler: Option<PanicHandler>) -> io::Result<Self> {
        let workers = config.workers;
        let pool = Self::new(config, handler);
        if workers == 0 {
            threadless::register(&pool.shared);
            threadless::announce();
        }
        // A failure drops `pool`, which ends the threads that were started.
        life::set_workers(&pool.shared, workers)?;
        Ok(pool)
    }

    /// A pool whose workers the program's threads will be, and their places.
    pub(crate) fn hosted(
        config: Config,
        handler: Option<PanicHandler>,
    ) -> (Self, Vec<HostedWorker>) {
        let workers = config.workers;
        let pool = Self::new(config, handler);
        let shared = &pool.shared;
        if workers == 0 {
            threadless::register(shared);
            threadless::announce();
        } else {
            shared.reset_alarm();
            shared.threads.set_workers(workers);
        }
        let place = |_| {
            shared.injector.note_rival();
            let index = shared.seats.workers.acquire();
            let mut list = shared.threads.list.lock();
            let place = Place::take(shared, &mut list, index, Kind::Worker);
            HostedWorker { place }
        };
        let places = (0..workers).map(place).collect();
        (pool, places)
    }

    /// Ends the workers: they finish the polls that they are in; then the last holder drops the
    /// queued tasks. Joins every thread but the current one, or waits for its last task where this thread cannot join.
    fn close(&self) {
        let shared = &self.shared;
        schedule::empty_slot_in(shared);
        // `unpark_all` fences, and every worker looks at the flag before it parks again.
        shared.holders.close();
        shared.holders.enter();
        shared.idle.unpark_all();
        // Of the threads that wait, only those inside of a poll of the pool still drive it.
        shared.notify_waiters(usize::MAX);
        if shared.was_driven.get() {
            // One that has begun such a wait while the pool had workers does not drive it yet. No other thread will run what that poll waits
            // for, and a worker may wait for the poll.
            threadless::announce();
        }
        // Threads start under the same lock; from now on none starts.
        let threads = shared.threads.list.lock().clone();
        if stand_in::is_worker_or_stands_in() || !thread::can_join() {
            // A worker waits as workers do: another one may wait for a task that it may adopt only once this one waits, too.
            loop {
                let listener = shared.threads.ended.listen();
                if threads.iter().all(|thread| {
                    thread.has_ended() || thread.is_here() || thread.handle.lock().is_none()
                }) {
                    break;
                }
                wait_beside_tasks(listener);
            }
        }
        let others = threads.into_iter().filter(|thread| !thread.is_here());
        // Where this thread cannot join, nothing is left of the others but their thread-locals.
        if thread::can_join() {
            shared.threads.join(others.collect());
        }
        threadless::unregister(shared);
        #[cfg(feature = "inspect")]
        shared.records.records().end();
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
    let polling = || pool.seats.drivers.scan().any(|seat| seat.polling.get());
    frames::is_borrowed(pool) || polling()
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.close();
    }
}

/// The place of a worker that runs on a thread of the program.
/// [`Builder::build_hosted`](crate::Builder::build_hosted) has an example.
///
/// A place that is dropped without a call of [`run`](Self::run) leaves the executor with one worker less.
#[must_use = "the executor waits for its worker"]
pub struct HostedWorker {
    /// Taken by `run` and by the drop.
    place: Option<Place>,
}

impl HostedWorker {
    /// The index of the worker in its executor: [`Current::worker`](crate::Current::worker) in its tasks.
    ///
    /// # Examples
    ///
    /// ```
    /// let (_executor, places) = terrace_executor::Builder::new().workers(2).build_hosted();
    /// let indices: Vec<_> = places.iter().map(|place| place.index()).collect();
    /// assert_eq!(indices, [0, 1]);
    /// ```
    #[must_use = "the call only reads a value"]
    pub fn index(&self) -> usize {
        self.place.as_ref().map_or(0, |place| place.thread.seat)
    }

    /// Runs the worker on this thread, with its hooks, until the executor is dropped or asks it to end.
    ///
    /// A thread may run one such worker after another. Tasks that are pinned to the thread (`terrace-thread`) are dropped when the worker
    /// begins, and when it ends. What woke the thread before wakes the worker. A hook of `terrace_thread::set_notify` that the thread has
    /// is called as before, also if it had it as a worker: a start hook that sets one does so in the thread's first place alone.
    ///
    /// A destructor of a thread-local may call it. If the thread has dropped its part of `terrace-thread` by then, tasks that are pinned to
    /// it are cancelled at once, as after its end.
    ///
    /// # Panics
    /// If the thread is a worker already, or in the middle of one of its pinned tasks or of a scope.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, block_on};
    ///
    /// let (executor, mut places) = Builder::new().workers(1).build_hosted();
    /// let place = places.pop().expect("there is one for each worker");
    /// let thread = std::thread::spawn(|| place.run());
    /// let ran_on = block_on(executor.spawn(async { std::thread::current().id() }));
    /// assert_eq!(ran_on, thread.thread().id());
    ///
    /// drop(executor);
    /// thread.join().unwrap();
    /// ```
    pub fn run(mut self) {
        terrace_thread::internal::make_way();
        if let Some(place) = self.place.take() {
            let _set = place.thread.thread.set(thread::current());
            place.live();
            place.pool.threads.unlist(&place.thread);
        }
    }
}

impl Drop for HostedWorker {
    fn drop(&mut self) {
        let Some(place) = self.place.take() else {
            return;
        };
        let pool = &place.pool;
        change_workers(pool, None, |list| {
            list.retain(|entry| !Arc::ptr_eq(entry, &place.thread));
            Some(staying(pool, list)).filter(|left| *left < pool.workers())
        });
        place.abandon();
        threadless::announce();
        pool.quiet.notify();
    }
}

impl fmt::Debug for HostedWorker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostedWorker")
            .field("index", &self.index())
            .finish_non_exhaustive()
    }
}
