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

use terrace_local::task::PanicHandler;
use terrace_sync::thread;

use super::block_on::forget_waker;
use super::life::Place;
use super::owner::{Pool, new};
use super::start::{change_workers, staying};
use super::threadless;
use crate::parts::config::Config;
use crate::parts::threads::Kind;

/// The place of a worker that runs on a thread of the program. [`Builder::build_hosted`](crate::Builder::build_hosted) makes them,
/// and has an example.
///
/// A place that is dropped without a call of [`run`](Self::run) leaves the executor with one worker less.
#[must_use = "the executor waits for its worker"]
pub struct HostedWorker {
    /// Taken by `run` and by the drop.
    place: Option<Place>,
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
        let place = |_| {
            shared.injector.note_rival();
            let index = shared.seats.workers.acquire();
            let mut list = shared.threads.list.lock();
            let place = Place::take(&shared, &mut list, index, Kind::Worker);
            HostedWorker { place }
        };
        let places = (0..workers).map(place).collect();
        (Self { shared }, places)
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
            let list = || place.pool.threads.list.lock();
            if let Some(entry) = place.entry(&mut list()) {
                entry.thread = Some(thread::current());
            }
            place.live();
            place.unlist(&mut list());
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
            place.unlist(list);
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
