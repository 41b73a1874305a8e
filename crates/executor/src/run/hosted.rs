//! Workers on threads of the program: the pool keeps a place for each, and the program's thread runs the worker's loop.
//!
//! | a hosted worker          | it counts as                                   | its seat                        |
//! |--------------------------|------------------------------------------------|---------------------------------|
//! | has not begun            | live and running: publishers count on it       | kept for it                     |
//! | runs                     | any worker                                     | its own                         |
//! | has ended                | nothing                                        | given back, as any worker's     |
//! | was dropped unused       | nothing: the pool has one worker less          | given back                      |
//!
//! The pool never joins such a thread. A drop of the executor does not wait for it; `shutdown` waits until it has ended.

use std::fmt;
use std::mem;

use terrace_local::task::PanicHandler;
use terrace_sync::atomic::{AtomicBool, Ordering};
use terrace_sync::{Arc, OnceLock, thread, weakened};
use terrace_thread::ThreadSpawner;

use super::block_on::forget_waker;
use super::life::live;
use super::owner::{Pool, new};
use super::start::{resize, staying, wake};
use super::threadless;
use crate::parts::config::Config;
use crate::parts::threads::{Kind, Thread};
use crate::pool::shared::Shared;
use crate::work::scan::Scan;

/// The place of a worker that runs on a thread of the program. [`Builder::build_hosted`](crate::Builder::build_hosted) makes them,
/// and has an example.
///
/// A place that is dropped without a call of [`run`](Self::run) leaves the executor with one worker less.
#[must_use = "the executor waits for its worker"]
pub struct HostedWorker {
    /// Taken by `run` and by the drop.
    place: Option<Place>,
}

struct Place {
    pool: Arc<Shared>,
    index: usize,
    /// Raised when the worker has counted itself out.
    out: Arc<AtomicBool>,
    /// Set when the worker can take pinned tasks.
    spawner: Arc<OnceLock<ThreadSpawner>>,
}

impl Pool {
    /// A pool whose workers the program's threads will be, and their places.
    pub(crate) fn hosted(
        config: Config,
        handler: Option<PanicHandler>,
    ) -> (Self, Vec<HostedWorker>) {
        let workers = config.workers;
        let shared = new(workers, config, handler);
        if workers == 0 {
            threadless::register(&shared);
            threadless::announce();
        } else {
            shared.reset_alarm();
            shared.threads.set_workers(workers);
        }
        let places = (0..workers).map(|_| HostedWorker {
            place: Some(Place::new(&shared)),
        });
        let places = places.collect();
        (Self { shared }, places)
    }
}

impl Place {
    fn new(pool: &Arc<Shared>) -> Self {
        pool.injector.note_rival();
        let index = pool.seats.workers.acquire();
        let out = Arc::new(AtomicBool::new(false));
        let spawner = Arc::new(OnceLock::new());
        let seat = pool.seats.workers.get(index);
        seat.expect("an acquired seat exists").reset();
        pool.idle.ensure(index);
        pool.idle.adopt_live(index);
        pool.threads.thread_starts(Kind::Worker);
        pool.threads.worker_starts();
        pool.holders.enter();
        pool.threads.list.lock().push(Thread {
            seat: index,
            kind: Kind::Worker,
            gone: false,
            hosted: true,
            in_shutdown: false,
            out: Arc::clone(&out),
            spawner: Arc::clone(&spawner),
            thread: None,
            handle: None,
        });
        Self {
            pool: Arc::clone(pool),
            index,
            out,
            spawner,
        }
    }

    /// Its entry in the list of threads.
    fn is(&self, thread: &Thread) -> bool {
        Arc::ptr_eq(&thread.out, &self.out)
    }

    fn run(&self) {
        let pool = &self.pool;
        if let Some(entry) = pool
            .threads
            .list
            .lock()
            .iter_mut()
            .find(|entry| self.is(entry))
        {
            entry.thread = Some(thread::current());
        }
        let config = Arc::clone(&pool.threads.config);
        live(
            pool,
            &config,
            self.index,
            Kind::Worker,
            &self.out,
            &self.spawner,
        );
        pool.threads.list.lock().retain(|entry| !self.is(entry));
    }

    /// The worker will not run.
    fn abandon(&self) {
        let pool = &self.pool;
        let mut list = pool.threads.list.lock();
        list.retain(|entry| !self.is(entry));
        let left = staying(pool, &list);
        let mut asked = Vec::new();
        if left < pool.workers() {
            asked = resize(pool, &list, left);
            let registers = left == 0 && !pool.holders.is_closing();
            if registers && !weakened!("executor-hosted-unregistered") {
                threadless::register(pool);
            }
        }
        drop(list);
        wake(pool, &asked);
        pool.threads.worker_ended();
        pool.leave_holders();
        pool.idle.abandon_live(self.index, &Scan::for_workers(pool));
        pool.seats.workers.release(self.index);
        // Ordering: Release, as at the end of `live`.
        pool.threads.running.fetch_sub(1, Ordering::Release);
        pool.threads.ended.notify(usize::MAX);
        threadless::announce();
        pool.quiet.notify();
    }
}

impl HostedWorker {
    /// The index of the worker in its executor: [`Current::worker`](crate::Current::worker) in its tasks.
    #[must_use]
    pub fn index(&self) -> usize {
        self.place.as_ref().map_or(0, |place| place.index)
    }

    /// Runs the worker on this thread, with its hooks, until the executor is dropped or asks it to end.
    ///
    /// A thread may run one such worker after another. Tasks that are pinned to the thread (`terrace-thread`) are dropped when the worker
    /// begins, and when it ends. A hook of `terrace_thread::set_notify` that the thread had before is not called any more.
    ///
    /// A destructor of a thread-local may call it. If the thread has dropped its part of `terrace-thread` by then, tasks that are pinned to
    /// it are cancelled at once, as after its end.
    ///
    /// # Panics
    /// If the thread is a worker already, or in the middle of one of its pinned tasks or of a scope.
    pub fn run(mut self) {
        terrace_thread::internal::make_way();
        forget_waker();
        if let Some(place) = self.place.take() {
            place.run();
        }
    }
}

impl Drop for HostedWorker {
    fn drop(&mut self) {
        if let Some(place) = mem::take(&mut self.place) {
            place.abandon();
        }
    }
}

impl fmt::Debug for HostedWorker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostedWorker")
            .field("index", &self.index())
            .finish_non_exhaustive()
    }
}
