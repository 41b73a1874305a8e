//! Starting and ending the OS threads of a pool.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use terrace_sync::atomic::Ordering;
use terrace_sync::thread::{Builder, JoinHandle};
use terrace_sync::{Arc, Mutex, thread};
use terrace_thread::Notify;

use super::worker::Worker;
use super::{PanicHandler, Shared, current, outside, spare};
use crate::builder::Config;

/// A pool with its threads: closes and joins them when dropped.
pub(crate) struct Pool {
    pub(crate) shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
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
    /// Starts `config.workers` threads.
    pub(crate) fn start(
        config: Config,
        droppable: bool,
        handler: PanicHandler,
    ) -> io::Result<Self> {
        let workers = config.workers;
        let config = Arc::new(config);
        let spares = spare::Spares::new(Arc::clone(&config));
        let pool = Self {
            shared: Shared::new(workers, spares, droppable, handler),
            threads: Mutex::new(Vec::new()),
        };
        if workers == 0 {
            outside::register(&pool.shared);
        }
        for index in 0..workers {
            // A failure drops `pool`, which ends the threads that were started.
            let thread = start_worker(&pool.shared, &config, index, false)?;
            pool.threads.lock().push(thread);
        }
        Ok(pool)
    }

    /// Ends the workers: what they run now is finished, what is queued is dropped. Joins every
    /// thread but the current one.
    fn close(&self) {
        let shared = &self.shared;
        // Ordering: Relaxed, `unpark_all` fences and every worker looks at the flag before it
        // parks again.
        shared.closing.store(true, Ordering::Relaxed);
        shared.idle.unpark_all();
        let mut on_worker = false;
        let threads = std::mem::take(&mut *self.threads.lock());
        let current = thread::current();
        for handle in threads.into_iter().chain(shared.spares.take()) {
            if handle.thread().is(&current) {
                on_worker = true;
            } else {
                handle
                    .join()
                    .expect("a worker catches every panic of what it runs");
            }
        }
        if shared.workers == 0 {
            outside::unregister(shared);
        }
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

/// Starts the thread of one seat.
pub(crate) fn start_worker(
    shared: &Arc<Shared>,
    config: &Arc<Config>,
    index: usize,
    spare: bool,
) -> io::Result<JoinHandle<()>> {
    let mut builder = Builder::new().name((config.thread_name)(index));
    if let Some(size) = config.stack_size {
        builder = builder.stack_size(size);
    }
    // Ordering: Relaxed, a count; the AcqRel of `last_one_out` orders the threads' ends.
    shared.threads.fetch_add(1, Ordering::Relaxed);
    let worker = Arc::clone(shared);
    let config = Arc::clone(config);
    let started = builder.spawn(move || work(worker, &config, index, spare));
    if started.is_err() {
        shared.threads.fetch_sub(1, Ordering::Relaxed);
    }
    started
}

/// The closure of a worker thread.
fn work(shared: Arc<Shared>, config: &Config, index: usize, spare: bool) {
    terrace_thread::set_notify(Arc::new(WorkerNotify {
        pool: Arc::clone(&shared),
        index,
    }));
    let worker = Worker::new(shared, index, spare);
    let entered = current::Entered::new(&worker);
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
    // A pool dropped on its own worker could not drop its tasks then: this thread may hold one.
    if worker.pool().last_one_out() {
        worker.pool().drop_tasks();
    }
}

/// Runs a hook; a panic in it has been reported by the panic hook and ends nothing else.
fn run_hook(hook: &crate::builder::Hook) {
    let _reported = catch_unwind(AssertUnwindSafe(|| hook()));
}
