//! The threads of a pool: what a program can set about them, and how they are started.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};
use std::{env, fmt, io, mem, thread};

use terrace_executor::{Builder, Executor, HostedWorker};

use crate::error::{Kind, ThreadPoolBuildError};
use crate::locked::Locked;
use crate::member::Member;
use crate::registry::{Handlers, Place, Registry};
use crate::ticket::Tickets;
use crate::wait::AbortsIfDropped;

/// The settings of a pool.
#[derive(Default)]
pub(crate) struct Settings {
    /// 0: the environment and the machine say.
    pub(crate) num_threads: usize,
    pub(crate) use_current_thread: bool,
    pub(crate) thread_name: Option<Box<dyn FnMut(usize) -> String>>,
    pub(crate) stack_size: Option<usize>,
    pub(crate) breadth_first: bool,
    pub(crate) handlers: Handlers,
}

/// Counts a pool's maker out, if the making fails.
struct Closes<'r>(&'r Registry);

impl Drop for Closes<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Settings {
    /// The number of threads that the pool gets: what was set, else `RAYON_NUM_THREADS`, else `RAYON_RS_NUM_CPUS`, else the number of
    /// processors.
    fn wanted_threads(&self) -> usize {
        if self.num_threads > 0 {
            return self.num_threads;
        }
        let of = |name| env::var(name).ok()?.parse::<usize>().ok();
        let set = of("RAYON_NUM_THREADS").or_else(|| of("RAYON_RS_NUM_CPUS"));
        let machine = || thread::available_parallelism().map_or(1, usize::from);
        set.filter(|count| *count > 0).unwrap_or_else(machine)
    }

    /// The name of the thread with this index.
    fn name_of(&mut self, index: usize) -> Option<String> {
        self.thread_name.as_mut().map(|name| name(index))
    }

    /// Makes a pool and starts its threads.
    pub(crate) fn start<S: ThreadSpawn>(
        mut self,
        mut spawn: S,
    ) -> Result<Arc<Registry>, ThreadPoolBuildError> {
        let threads = self.wanted_threads().min(max_num_threads());
        if self.use_current_thread && Member::address() != 0 {
            return Err(ThreadPoolBuildError::new(Kind::CurrentThreadAlreadyInPool));
        }
        let first = usize::from(self.use_current_thread);
        let workers = threads - first;
        let (executor, hosted) = if workers == 0 {
            (Executor::new(), Vec::new())
        } else {
            Builder::new()
                .workers(workers)
                .spares(false)
                .on_thread_start(|| Member::with(|member| member.map_or((), Member::starts)))
                .on_thread_stop(|| Member::with(|member| member.map_or((), Member::stops)))
                .build_hosted()
        };
        let handlers = mem::take(&mut self.handlers);
        let has_plain_threads = S::IS_DEFAULT
            && self.thread_name.is_none()
            && self.stack_size.is_none()
            && env::var_os("RUST_MIN_STACK").is_none()
            && handlers.start.is_none()
            && handlers.exit.is_none();
        let registry = Arc::new(Registry {
            tickets: Tickets::new::<Member>(workers, executor.spawner()),
            broadcasts: Mutex::new(()),
            executor,
            places: (0..threads).map(|_| Place::default()).collect(),
            injected: Locked::default(),
            has_workers: workers > 0,
            first,
            calls_in_place: workers > 0 && has_plain_threads,
            breadth_first: self.breadth_first,
            handlers,
            open: AtomicUsize::new(1),
        });
        let closes = Closes(&registry);
        if self.use_current_thread {
            self.name_of(0);
            let member = Member {
                registry: Arc::clone(&registry),
                index: 0,
            };
            member.joins_for_good();
        }
        for (index, worker) in (first..).zip(hosted) {
            let thread = ThreadBuilder {
                name: self.name_of(index),
                stack_size: self.stack_size,
                registry: Arc::clone(&registry),
                index,
                worker,
            };
            let started = spawn.spawn(thread);
            started.map_err(|error| ThreadPoolBuildError::new(Kind::Io(error)))?;
        }
        mem::forget(closes);
        Ok(registry)
    }
}

/// The most threads that a pool can have: a builder that asks for more gets so many.
pub fn max_num_threads() -> usize {
    if usize::BITS >= 64 { 65_535 } else { 255 }
}

/// A thread of a pool that is to be started: what [`ThreadPoolBuilder::spawn_handler`](crate::ThreadPoolBuilder::spawn_handler) gets.
///
/// If it is dropped without a call of [`run`](Self::run), the pool has one thread less.
pub struct ThreadBuilder {
    name: Option<String>,
    stack_size: Option<usize>,
    registry: Arc<Registry>,
    index: usize,
    worker: HostedWorker,
}

impl ThreadBuilder {
    /// The index of the thread in its pool, below the number of threads.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The name that [`ThreadPoolBuilder::thread_name`](crate::ThreadPoolBuilder::thread_name) gave it.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The stack size in bytes that [`ThreadPoolBuilder::stack_size`](crate::ThreadPoolBuilder::stack_size) asks for.
    pub fn stack_size(&self) -> Option<usize> {
        self.stack_size
    }

    /// Runs jobs of the pool on the calling thread, until the pool ends.
    pub fn run(self) {
        let unwinding = AbortsIfDropped;
        let member = Member {
            registry: self.registry,
            index: self.index,
        };
        member.enter(|| self.worker.run());
        mem::forget(unwinding);
    }
}

impl fmt::Debug for ThreadBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadBuilder")
            .field("pool", &self.registry.id())
            .field("index", &self.index)
            .field("name", &self.name)
            .field("stack_size", &self.stack_size)
            .finish()
    }
}

mod sealed {
    /// Only this crate implements the trait below.
    pub trait Sealed {
        /// Whether the program has no part in how the threads are started.
        const IS_DEFAULT: bool;
    }
}

/// How the threads of a pool are started.
pub trait ThreadSpawn: sealed::Sealed {
    /// Starts one.
    ///
    /// # Errors
    /// When the system starts no thread.
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()>;
}

/// By the standard library.
#[derive(Debug, Default)]
pub struct DefaultSpawn;

impl sealed::Sealed for DefaultSpawn {
    const IS_DEFAULT: bool = true;
}

impl ThreadSpawn for DefaultSpawn {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        named(&thread).spawn(|| thread.run()).map(drop)
    }
}

/// By a closure of the program.
#[derive(Debug)]
pub struct CustomSpawn<F>(pub(crate) F);

impl<F> sealed::Sealed for CustomSpawn<F> {
    const IS_DEFAULT: bool = false;
}

impl<F> ThreadSpawn for CustomSpawn<F>
where
    F: FnMut(ThreadBuilder) -> io::Result<()>,
{
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        (self.0)(thread)
    }
}

/// A builder of the standard library, for this thread.
pub(crate) fn named(thread: &ThreadBuilder) -> thread::Builder {
    let mut builder = thread::Builder::new();
    if let Some(name) = thread.name() {
        builder = builder.name(name.to_owned());
    }
    if let Some(bytes) = thread.stack_size() {
        builder = builder.stack_size(bytes);
    }
    builder
}
