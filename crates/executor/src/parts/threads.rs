//! The OS threads of a pool, as data: how it makes them, which were started, which are asked to end, which are inside a `shutdown`.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use terrace_local::contain;
use terrace_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use terrace_sync::thread::{self, JoinHandle};
use terrace_sync::{Arc, Mutex, OnceLock};
use terrace_thread::ThreadSpawner;

use super::waiters::Ends;
use super::{Flag, Level};
use crate::tuned::FEW_SPARES;

/// Called on a worker thread when it starts or stops.
pub(crate) type Hook = Arc<dyn Fn() + Send + Sync>;

/// The user's function that blocks on a worker's loop.
pub(crate) type Main = Box<dyn Fn(WorkerLoop<'_>) + Send + Sync>;

/// What a pool keeps of its builder.
pub(crate) struct Config {
    pub(crate) workers: usize,
    pub(crate) thread_name: Box<dyn Fn(usize) -> String + Send + Sync>,
    pub(crate) stack_size: Option<usize>,
    /// Whether the pool starts spares.
    pub(crate) spares: bool,
    pub(crate) on_start: Option<Hook>,
    pub(crate) on_stop: Option<Hook>,
    pub(crate) main: Option<Main>,
    /// The function of the user's that reports long polls, and their limit.
    #[cfg(feature = "inspect")]
    pub(crate) long_polls: Option<Arc<super::long_polls::Reports>>,
}

impl Drop for Config {
    /// Drops the user's closures, on the thread that drops the last reference to the pool. A panic in them goes no
    /// further than the panic hook.
    fn drop(&mut self) {
        let name = std::mem::replace(&mut self.thread_name, Box::new(|_| String::new()));
        contain(|| drop(name));
        contain(|| drop(self.on_start.take()));
        contain(|| drop(self.on_stop.take()));
        contain(|| drop(self.main.take()));
    }
}

/// No workers.
impl Default for Config {
    fn default() -> Self {
        Self {
            workers: 0,
            thread_name: Box::new(default_name),
            stack_size: None,
            spares: true,
            on_start: None,
            on_stop: None,
            main: None,
            #[cfg(feature = "inspect")]
            long_polls: None,
        }
    }
}

/// The name of a thread that the user did not name.
pub(crate) fn default_name(index: usize) -> String {
    format!("terrace-{index}")
}

/// The loop of one worker, as a future: see [`Builder::worker_main`](crate::Builder::worker_main). It is ready when the worker ends,
/// also if it is polled again. It stays on the worker's thread.
/// [`Builder::worker_main`](crate::Builder::worker_main) has an example.
#[must_use = "a worker runs nothing until its future is polled"]
pub struct WorkerLoop<'w>(pub(crate) &'w mut dyn FnMut(&Context<'_>) -> Poll<()>);

impl Future for WorkerLoop<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        (self.0)(context)
    }
}

impl fmt::Debug for WorkerLoop<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WorkerLoop { .. }")
    }
}

/// How a pool makes its threads, and the threads that it has made.
#[derive(Default)]
pub(crate) struct Threads {
    pub(crate) config: Config,
    /// The number of worker threads that the pool is to have; spares come on top.
    workers: AtomicUsize,
    /// Threads that have not counted themselves out, spares included. Exact for a thread that has seen the others' ends.
    pub(crate) left: Level,
    pub(crate) list: Mutex<Vec<Arc<Thread>>>,
    /// Whether workers that are asked to end first run all queued tasks. Set before they are asked.
    pub(crate) draining: Flag,
    /// Whether the pool has ever had workers.
    pub(crate) were_any: Flag,
    /// Notified when a thread has begun, or has counted itself out, and when the others need no longer wait for a thread.
    pub(crate) ended: Ends,
    /// How often a thread in the middle of a `shutdown` found all the others ended, or inside one as well. The list's lock protects it.
    pub(crate) passes: Level,
    /// Spares that were started, have not reached their loop, and have not waited in their start hook. Also threads that the watch has asked to
    /// start one.
    pub(crate) starting: Level,
    /// Spares that have waited in their start hook, and are in it.
    pub(crate) in_hooks: Level,
    /// Held while the parts of a broadcast are queued: all workers get any two broadcasts in the same order. No code of the program runs
    /// under it.
    pub(crate) broadcasts: Mutex<()>,
}

/// What a thread of a pool is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It stays until it is asked to end.
    #[default]
    Worker,
    /// It was started where all workers wait or are blocked. It ends when it runs out of work and no task is pinned to it.
    Spare,
}

/// One thread of the pool: listed before it starts, and until it has been joined, or has left a hosted worker's place. It stays listed while
/// another one joins it: the destructors of its thread-locals may call `shutdown`, and then it has to be known as a thread of the pool.
/// The list's lock orders `gone` and `in_shutdown`. A thread that leaves its own `shutdown` takes `in_shutdown` down without the lock.
#[derive(Default)]
pub(crate) struct Thread {
    pub(crate) seat: usize,
    pub(crate) kind: Kind,
    /// It has left its seat, which another thread holds now.
    pub(crate) gone: Flag,
    /// It is inside a `shutdown` of some executor.
    pub(crate) in_shutdown: Flag,
    /// Raised when it has counted itself out.
    pub(crate) out: AtomicBool,
    /// Spawns tasks that are pinned to it. Set by the thread itself, before its start hook.
    pub(crate) spawner: OnceLock<ThreadSpawner>,
    /// Set when it starts, or runs the hosted worker.
    pub(crate) thread: OnceLock<thread::Thread>,
    /// Of a thread that the pool joins, until another thread takes it to do so. A hosted worker has none.
    pub(crate) handle: Mutex<Option<JoinHandle<()>>>,
}

impl Thread {
    /// Whether it is a worker proper that still holds its seat.
    pub(crate) fn is_worker(&self) -> bool {
        self.kind == Kind::Worker && !self.gone.get()
    }

    /// Whether it is a spare that still holds its seat.
    pub(crate) fn is_spare(&self) -> bool {
        self.kind == Kind::Spare && !self.gone.get()
    }

    /// Whether the operating system's thread is over, and no other thread is joining it.
    pub(crate) fn is_finished(&self) -> bool {
        let handle = self.handle.lock();
        handle.as_ref().is_some_and(JoinHandle::is_finished)
    }

    /// Whether it is the calling thread.
    pub(crate) fn is_here(&self) -> bool {
        let thread = self.thread.get();
        thread.is_some_and(|thread| thread.is(&thread::current()))
    }

    /// Whether it has counted itself out: nothing but its thread-locals is left.
    pub(crate) fn has_ended(&self) -> bool {
        // Ordering: Acquire, pairs with the Release in `Place::count_out`.
        self.out.load(Ordering::Acquire)
    }

    /// Whether it is inside a `shutdown`, and one of the running threads.
    pub(crate) fn shuts_down(&self) -> bool {
        self.in_shutdown.get() && !self.has_ended()
    }
}

impl Threads {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            config,
            ..Self::default()
        }
    }

    /// The number of worker threads that the pool is to have.
    #[inline]
    pub(crate) fn workers(&self) -> usize {
        // Ordering: Relaxed, a number that may change at any time.
        self.workers.load(Ordering::Relaxed)
    }

    /// The numbers of worker threads that run or are being started, and of spares. It takes the list's lock.
    pub(crate) fn running(&self) -> (usize, usize) {
        let list = self.list.lock();
        let running = list.iter().filter(|thread| !thread.has_ended());
        let of = |kind| running.clone().filter(|thread| thread.kind == kind).count();
        (of(Kind::Worker), of(Kind::Spare))
    }

    /// The last thing that a thread of the pool does before the destructors of its thread-locals. They may wait for a task, and the pool
    /// counts on each thread that it has started. So on Windows they do not run before all have begun: a thread begins there only when no
    /// thread is in such a destructor.
    pub(crate) fn let_others_begin(&self) {
        #[cfg(any(windows, terrace_keyed_tls))]
        loop {
            let begins = self.ended.listen();
            // A thread that begins sets its spawner, and notifies. One that is not set was not started.
            let has_begun = |thread: &Arc<Thread>| {
                thread.spawner.get().is_some() || thread.thread.get().is_none()
            };
            if self.list.lock().iter().all(has_begun) {
                break;
            }
            super::waiters::block(begins, None, || false);
        }
    }

    /// Makes known how many workers the pool is to have. The caller holds the list's lock.
    pub(crate) fn set_workers(&self, count: usize) {
        if count > 0 {
            self.were_any.set(true);
        }
        // Ordering: Relaxed, a number that may change at any time; written under the list's lock.
        self.workers.store(count, Ordering::Relaxed);
    }

    /// Whether the pool starts no further spare now: one is on its way, or many wait in their start hooks, as the next
    /// one would.
    pub(crate) fn is_starting_spare(&self) -> bool {
        self.starting.get() > 0 || self.in_hooks.get() >= FEW_SPARES
    }

    /// Joins these threads, but for those that another thread joins, and takes them off the list.
    ///
    /// # Panics
    /// If one of them has panicked.
    pub(crate) fn join(&self, threads: Vec<Arc<Thread>>) {
        for thread in threads {
            let handle = thread.handle.lock().take();
            if let Some(handle) = handle {
                let joined = handle.join();
                joined.expect("a worker catches every panic of what it runs");
                self.unlist(&thread);
            }
        }
    }

    /// Takes a thread off the list.
    pub(crate) fn unlist(&self, thread: &Arc<Thread>) {
        let mut list = self.list.lock();
        list.retain(|entry| !Arc::ptr_eq(entry, thread));
    }
}
