//! The OS threads of a pool, its workers and spares: how they are started, and asked to end.
//!
//! A spare is started when every worker of a pool waits and work is left that none of them may adopt; it ends when it finds
//! nothing more to do. There may be as many as the system has threads for.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use event_listener::Event;
use terrace_local::task::PanicHandler;
use terrace_sync::atomic::{AtomicBool, Ordering};
use terrace_sync::thread::{self, Builder, JoinHandle};
use terrace_sync::{Arc, Mutex};
use terrace_thread::Notify;

use super::context::OnWorker;
use super::search::Scan;
use super::seat::Seat;
use super::worker::Worker;
use super::{Looking, Shared, context, outside};
use crate::builder::Config;

/// Places kept for spares beside a pool's first workers; for more, groups are added to its `Idle`.
pub(crate) const FEW_SPARES: usize = 16;

/// How a pool's threads are made, and those that were.
pub(crate) struct Threads {
    config: Arc<Config>,
    pub(super) list: Mutex<Vec<Thread>>,
    /// Whether workers that are asked to end run first what is queued.
    pub(super) draining: AtomicBool,
    /// Whether the pool has ever had workers.
    pub(super) were_any: AtomicBool,
    /// Notified when a thread has counted itself out.
    pub(super) ended: Event,
}

/// One thread that was started and has not been joined.
pub(crate) struct Thread {
    seat: usize,
    spare: bool,
    /// It has left its seat, which another thread holds now.
    gone: bool,
    pub(crate) handle: JoinHandle<()>,
}

impl Thread {
    /// Whether it is a worker proper that still holds its seat.
    fn is_worker(&self) -> bool {
        !self.spare && !self.gone
    }
}

impl Threads {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            config: Arc::new(config),
            list: Mutex::new(Vec::new()),
            draining: AtomicBool::new(false),
            were_any: AtomicBool::new(false),
            ended: Event::new(),
        }
    }

    /// Whether workers that are asked to end run first what is queued.
    pub(crate) fn is_draining(&self) -> bool {
        // Ordering: Relaxed, written before the workers are asked.
        self.draining.load(Ordering::Relaxed)
    }

    /// Every thread that was started, to be joined.
    pub(crate) fn take(&self) -> Vec<Thread> {
        std::mem::take(&mut *self.list.lock())
    }
}

/// A pool: closes and joins its threads when dropped.
pub(crate) struct Pool {
    pub(crate) shared: Arc<Shared>,
}

/// Wakes one worker, whether it searches, parks, or waits.
struct WorkerNotify {
    pool: Arc<Shared>,
    index: usize,
}

impl Notify for WorkerNotify {
    fn notify(&self) {
        self.pool.idle.targeted(self.index);
    }
}

impl Pool {
    /// A pool without threads, which nobody drives who was not told to.
    pub(crate) fn bare() -> Self {
        let mut config = Config::new();
        config.workers = 0;
        Self {
            shared: Shared::new(0, Threads::new(config), None),
        }
    }

    /// Starts `config.workers` threads; without any, threads that wait drive the pool.
    pub(crate) fn start(config: Config, handler: Option<PanicHandler>) -> io::Result<Self> {
        let workers = config.workers;
        let pool = Self {
            shared: Shared::new(workers, Threads::new(config), handler),
        };
        if workers == 0 {
            outside::register(&pool.shared);
            outside::announce();
        }
        // A failure drops `pool`, which ends the threads that were started.
        pool.shared.set_workers(workers)?;
        Ok(pool)
    }

    /// Ends the workers: what they run now is finished, what is queued is dropped. Joins every
    /// thread but the current one.
    fn close(&self) {
        let shared = &self.shared;
        context::empty_slot_in(shared);
        // Ordering: Relaxed, `unpark_all` fences and every worker looks at the flag before it
        // parks again.
        shared.closing.store(true, Ordering::Relaxed);
        shared.idle.unpark_all();
        let mut on_worker = false;
        let current = thread::current();
        // A spare is started under the same lock, and not any more from now on.
        for thread in shared.threads.take() {
            if thread.handle.thread().is(&current) {
                on_worker = true;
            } else {
                thread
                    .handle
                    .join()
                    .expect("a worker catches every panic of what it runs");
            }
        }
        outside::unregister(shared);
        if !on_worker {
            shared.drop_tasks();
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    /// Starts or ends workers until there are `wanted`. Those that end finish what they run; nobody waits for them here.
    /// Without any, threads that wait drive the pool.
    pub(crate) fn set_workers(self: &Arc<Self>, wanted: usize) -> io::Result<()> {
        let mut list = self.threads.list.lock();
        let before = self.workers();
        let result = self.resize(&mut list, wanted);
        let after = self.workers();
        match (before, after) {
            (0, 1..) => outside::unregister(self),
            (1.., 0) => outside::register(self),
            _ => {}
        }
        drop(list);
        if after == 0 {
            outside::announce();
        }
        // There may be more permits now.
        if self.has_background() {
            self.publish();
        }
        result
    }

    pub(super) fn resize(
        self: &Arc<Self>,
        list: &mut Vec<Thread>,
        wanted: usize,
    ) -> io::Result<()> {
        let workers = |list: &[Thread]| {
            let staying =
                |thread: &&Thread| thread.is_worker() && !self.is_asked_to_end(thread.seat);
            list.iter().filter(staying).count()
        };
        self.publish_count(wanted);
        for thread in list.iter().rev().filter(|thread| thread.is_worker()) {
            if workers(list) > wanted && self.seat(thread.seat).ask_to_end() {
                self.idle.targeted(thread.seat);
            }
        }
        for thread in list.iter().filter(|thread| thread.is_worker()) {
            // Who has ended for good cannot be kept.
            if workers(list) < wanted {
                self.seat(thread.seat).ask_to_stay();
            }
        }
        for started in workers(list)..wanted {
            if let Err(error) = self.start_thread(list, false) {
                self.publish_count(started);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Makes known how many workers the pool is to have.
    fn publish_count(&self, count: usize) {
        if count > 0 {
            // Ordering: Relaxed, read under the list's lock, too.
            self.threads.were_any.store(true, Ordering::Relaxed);
        }
        // Ordering: Relaxed, a number that may change at any time; written under the list's lock.
        self.workers.store(count, Ordering::Relaxed);
    }

    /// Starts a spare worker; false if no thread can be started.
    pub(crate) fn start_spare(self: &Arc<Self>) -> bool {
        let mut list = self.threads.list.lock();
        // A pool that is being dropped starts no more threads, but the jobs that its workers are in still end.
        // Ordering: Relaxed, raised before the lock is taken to join what was started.
        !self.closing.load(Ordering::Relaxed) && self.start_thread(&mut list, true).is_ok()
    }

    fn start_thread(self: &Arc<Self>, list: &mut Vec<Thread>, spare: bool) -> io::Result<()> {
        // Dropping the handle of a thread that has finished forgets it.
        list.retain(|thread| !thread.handle.is_finished());
        let config = &self.threads.config;
        let index = self.seats.acquire();
        for thread in list.iter_mut().filter(|thread| thread.seat == index) {
            thread.gone = true;
        }
        self.seat(index).reset();
        self.idle.ensure(index);
        // Counted live before it runs, so that the pool does not look stuck meanwhile.
        self.idle.adopt_live(index);
        let mut builder = Builder::new().name((config.thread_name)(index));
        if let Some(size) = config.stack_size {
            builder = builder.stack_size(size);
        }
        // Ordering: Relaxed, a count; the AcqRel of `last_one_out` orders the threads' ends.
        self.running.fetch_add(1, Ordering::Relaxed);
        let (pool, config) = (Arc::clone(self), Arc::clone(config));
        match builder.spawn(move || work(pool, &config, index, spare)) {
            Ok(handle) => {
                list.push(Thread {
                    seat: index,
                    spare,
                    gone: false,
                    handle,
                });
                Ok(())
            }
            Err(error) => {
                self.running.fetch_sub(1, Ordering::Relaxed);
                let scan = Scan {
                    pool: self,
                    looking: Looking::ToWake,
                    exhausted: None,
                    heeds_closing: true,
                };
                self.idle.abandon_live(index, &scan);
                self.seats.release(index);
                Err(error)
            }
        }
    }

    fn seat(&self, index: usize) -> &Seat {
        self.seats.get(index).expect("a thread has a seat")
    }

    /// Whether the worker with this index was asked to end.
    pub(crate) fn is_asked_to_end(&self, index: usize) -> bool {
        self.seat(index).is_asked_to_end()
    }
}

/// The closure of a worker thread.
fn work(shared: Arc<Shared>, config: &Config, index: usize, spare: bool) {
    terrace_thread::set_notify(Arc::new(WorkerNotify {
        pool: Arc::clone(&shared),
        index,
    }));
    let worker = Worker::new(Arc::clone(&shared), index, spare);
    // SAFETY: the worker stays where it is until the end of this function, which drops the guard first.
    let on_worker = unsafe { OnWorker::new(&worker) };
    // SAFETY: likewise; and the seat is this thread's until it is released below.
    let entered = unsafe { worker.context.enter() };
    if let Some(start) = &config.on_start {
        run_hook(start);
    }
    worker.run();
    if let Some(stop) = &config.on_stop {
        run_hook(stop);
    }
    // Pinned tasks end on their thread, while it still counts as a worker.
    terrace_thread::close();
    drop(entered);
    drop(on_worker);
    // What was spawned since the worker left is stealable where it is, but the seat may get a new holder.
    worker.empty_slot();
    let ring = worker.ring();
    let mut moved = 0;
    while let Some(task) = ring.pop() {
        shared.injected.push(task);
        moved += 1;
    }
    shared.seats.release(index);
    // Waiting threads may have to take over.
    if moved > 0 || (shared.workers() == 0 && shared.has_any()) {
        shared.publish_tasks(moved.max(1));
    }
    // A pool dropped on its own worker could not drop its tasks then: this thread may hold one.
    if shared.last_one_out() {
        shared.drop_tasks();
    }
    shared.threads.ended.notify(usize::MAX);
}

/// Runs a hook; a panic in it has been reported by the panic hook and ends nothing else.
fn run_hook(hook: &crate::builder::Hook) {
    let _reported = catch_unwind(AssertUnwindSafe(|| hook()));
}
