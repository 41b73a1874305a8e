//! The settings of a pool.

use std::any::Any;
use std::error::Error;
use std::{fmt, io, thread};

use crate::call::make_global;
use crate::error::ThreadPoolBuildError;
use crate::pool::ThreadPool;
use crate::threads::{CustomSpawn, DefaultSpawn, Settings, ThreadBuilder, ThreadSpawn, named};

/// The settings of a [`ThreadPool`], or of the global one.
///
/// ```
/// # use rayon_core as rayon;
/// let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build()?;
/// assert_eq!(pool.current_num_threads(), 3);
/// # Ok::<(), rayon::ThreadPoolBuildError>(())
/// ```
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    settings: Settings,
    spawn_handler: S,
}

impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        Self {
            settings: Settings::default(),
            spawn_handler: DefaultSpawn,
        }
    }
}

impl ThreadPoolBuilder {
    /// As many threads as the environment or the machine says, and no handlers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a pool whose threads borrow: each calls `wrapper`, which calls [`ThreadBuilder::run`]. The pool ends with the call of
    /// `with_pool`, and the threads have ended when this returns.
    ///
    /// # Errors
    /// When the system does not start a thread.
    ///
    /// ```
    /// # use rayon_core as rayon;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let (begun, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
    /// let sum = rayon::ThreadPoolBuilder::new().num_threads(2).build_scoped(
    ///     |thread| {
    ///         begun.fetch_add(1, Ordering::Relaxed);
    ///         thread.run();
    ///         ended.fetch_add(1, Ordering::Relaxed);
    ///     },
    ///     |pool| pool.install(|| 40 + 2),
    /// )?;
    /// assert_eq!((sum, begun.into_inner(), ended.into_inner()), (42, 2, 2));
    /// # Ok::<(), rayon::ThreadPoolBuildError>(())
    /// ```
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        let wrapper = &wrapper;
        thread::scope(|scope| {
            let start = |thread: ThreadBuilder| {
                let builder = named(&thread);
                builder
                    .spawn_scoped(scope, move || wrapper(thread))
                    .map(drop)
            };
            let pool = self.spawn_handler(start).build()?;
            Ok(with_pool(&pool))
        })
    }
}

impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Makes a pool.
    ///
    /// # Errors
    /// When the system does not start a thread; the threads that were started end. With
    /// [`use_current_thread`](Self::use_current_thread), when this thread is in a pool already.
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        self.settings.start(self.spawn_handler).map(ThreadPool::of)
    }

    /// Makes the global pool, and waits until its threads run.
    ///
    /// # Errors
    /// As [`build`](Self::build), and when there is a global pool already.
    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        make_global(|| self.settings.start(self.spawn_handler))?.wait_until_primed();
        Ok(())
    }
}

impl<S> ThreadPoolBuilder<S> {
    /// Calls `spawn` for each thread. It has to start a thread that calls [`ThreadBuilder::run`].
    ///
    /// ```
    /// # use rayon_core as rayon;
    /// let pool = rayon::ThreadPoolBuilder::new()
    ///     .num_threads(2)
    ///     .spawn_handler(|thread| {
    ///         std::thread::spawn(|| thread.run());
    ///         Ok(())
    ///     })
    ///     .build()?;
    /// pool.install(|| println!("on a thread of our own"));
    /// # Ok::<(), rayon::ThreadPoolBuildError>(())
    /// ```
    pub fn spawn_handler<F>(self, spawn: F) -> ThreadPoolBuilder<CustomSpawn<F>>
    where
        F: FnMut(ThreadBuilder) -> io::Result<()>,
    {
        ThreadPoolBuilder {
            settings: self.settings,
            spawn_handler: CustomSpawn(spawn),
        }
    }

    /// Names each thread by its index.
    pub fn thread_name<F>(mut self, closure: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        self.settings.thread_name = Some(Box::new(closure));
        self
    }

    /// The number of threads. With 0 the environment variable `RAYON_NUM_THREADS` says, or else the number of processors.
    pub fn num_threads(mut self, num_threads: usize) -> Self {
        self.settings.num_threads = num_threads;
        self
    }

    /// The calling thread is thread 0 of the pool. It runs jobs only in waits (`join`, `scope`, `install`) and in
    /// [`yield_now`](crate::yield_now) and [`yield_local`](crate::yield_local). It stays in the pool, whose memory is never freed.
    pub fn use_current_thread(mut self) -> Self {
        self.settings.use_current_thread = true;
        self
    }

    /// Gets the payloads of panics that reach no caller: of spawned jobs and of handlers. Without it such a panic ends the process.
    pub fn panic_handler<H>(mut self, panic_handler: H) -> Self
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        self.settings.handlers.panic = Some(Box::new(panic_handler));
        self
    }

    /// The stack size of the threads, in bytes.
    pub fn stack_size(mut self, stack_size: usize) -> Self {
        self.settings.stack_size = Some(stack_size);
        self
    }

    /// Each thread runs the oldest of its own jobs first.
    #[deprecated(note = "use `scope_fifo` and `spawn_fifo` for similar effect")]
    pub fn breadth_first(mut self) -> Self {
        self.settings.breadth_first = true;
        self
    }

    /// Each thread calls it with its index before it runs jobs. The thread that
    /// [`use_current_thread`](Self::use_current_thread) takes does not.
    pub fn start_handler<H>(mut self, start_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.settings.handlers.start = Some(Box::new(start_handler));
        self
    }

    /// Each thread calls it with its index after its last job.
    pub fn exit_handler<H>(mut self, exit_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.settings.handlers.exit = Some(Box::new(exit_handler));
        self
    }
}

/// What stands for a closure in `Debug` output.
fn closure<F>(of: &Option<F>) -> Option<fmt::Arguments<'static>> {
    of.as_ref().map(|_| format_args!("<closure>"))
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings = &self.settings;
        let handlers = &settings.handlers;
        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &settings.num_threads)
            .field("use_current_thread", &settings.use_current_thread)
            .field("get_thread_name", &closure(&settings.thread_name))
            .field("panic_handler", &closure(&handlers.panic))
            .field("stack_size", &settings.stack_size)
            .field("start_handler", &closure(&handlers.start))
            .field("exit_handler", &closure(&handlers.exit))
            .field("breadth_first", &settings.breadth_first)
            .finish()
    }
}

/// The settings of a pool, by their old name.
#[deprecated(note = "Use `ThreadPoolBuilder`")]
#[derive(Default)]
pub struct Configuration {
    builder: ThreadPoolBuilder,
}

#[expect(deprecated, reason = "the published crate has them")]
impl Configuration {
    /// [`ThreadPoolBuilder::new`].
    pub fn new() -> Configuration {
        Configuration::default()
    }

    fn map(self, change: impl FnOnce(ThreadPoolBuilder) -> ThreadPoolBuilder) -> Self {
        Self {
            builder: change(self.builder),
        }
    }

    /// [`ThreadPoolBuilder::build`].
    ///
    /// # Errors
    /// As there.
    pub fn build(self) -> Result<ThreadPool, Box<dyn Error + 'static>> {
        self.builder.build().map_err(Box::from)
    }

    /// [`ThreadPoolBuilder::thread_name`].
    pub fn thread_name<F>(self, closure: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        self.map(|builder| builder.thread_name(closure))
    }

    /// [`ThreadPoolBuilder::num_threads`].
    pub fn num_threads(self, num_threads: usize) -> Configuration {
        self.map(|builder| builder.num_threads(num_threads))
    }

    /// [`ThreadPoolBuilder::panic_handler`].
    pub fn panic_handler<H>(self, panic_handler: H) -> Configuration
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        self.map(|builder| builder.panic_handler(panic_handler))
    }

    /// [`ThreadPoolBuilder::stack_size`].
    pub fn stack_size(self, stack_size: usize) -> Self {
        self.map(|builder| builder.stack_size(stack_size))
    }

    /// [`ThreadPoolBuilder::breadth_first`].
    pub fn breadth_first(self) -> Self {
        self.map(ThreadPoolBuilder::breadth_first)
    }

    /// [`ThreadPoolBuilder::start_handler`].
    pub fn start_handler<H>(self, start_handler: H) -> Configuration
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.map(|builder| builder.start_handler(start_handler))
    }

    /// [`ThreadPoolBuilder::exit_handler`].
    pub fn exit_handler<H>(self, exit_handler: H) -> Configuration
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.map(|builder| builder.exit_handler(exit_handler))
    }
}

#[expect(deprecated, reason = "the published crate has it")]
impl fmt::Debug for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.builder.fmt(f)
    }
}

/// [`ThreadPoolBuilder::build_global`].
///
/// # Errors
/// As there.
#[deprecated(note = "use `ThreadPoolBuilder::build_global`")]
#[expect(deprecated, reason = "the published crate has it")]
pub fn initialize(config: Configuration) -> Result<(), Box<dyn Error>> {
    config.builder.build_global().map_err(Box::from)
}

impl ThreadPool {
    /// [`ThreadPoolBuilder::build`].
    ///
    /// # Errors
    /// As there.
    #[deprecated(note = "Use `ThreadPoolBuilder::build`")]
    #[expect(deprecated, reason = "the published crate has it")]
    pub fn new(configuration: Configuration) -> Result<Self, Box<dyn Error>> {
        configuration.build()
    }
}
