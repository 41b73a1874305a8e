//! Settings of an executor: how it makes its worker threads.

use std::{fmt, io};

use terrace_local::task::PanicHandler;
use terrace_sync::Arc;

use crate::executor::Executor;
#[cfg(feature = "inspect")]
use crate::parts::long_polls::{LongPoll, Reports};
use crate::parts::processor::ask_for_cores;
use crate::parts::threads::{Config, WorkerLoop};
use crate::run::owner::{HostedWorker, Pool};
use crate::static_executor::StaticExecutor;

/// Settings of an executor with worker threads. Without any setting, the executor has one worker for each processor that the process may
/// use.
///
/// # Examples
///
/// ```
/// let executor = terrace_executor::Builder::new().workers(2).build();
/// assert_eq!(executor.workers(), 2);
/// ```
#[doc(alias("ThreadPoolBuilder", "Runtime", "new_multi_thread"))]
#[must_use = "a builder does nothing until it is built"]
pub struct Builder {
    /// As many as there are processors, if not set.
    workers: Option<usize>,
    config: Config,
    handler: Option<PanicHandler>,
}

impl Executor<'static> {
    /// Settings for a new executor with worker threads: [`Builder::new`].
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Executor::builder().workers(1).build();
    /// assert_eq!(terrace_executor::block_on(executor.spawn(async { 6 * 7 })), 42);
    /// ```
    pub fn builder() -> Builder {
        Builder::new()
    }
}

/// The settings; each closure is shown by whether it is there.
impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Config {
            stack_size,
            spares,
            on_start,
            on_stop,
            main,
            ..
        } = &self.config;
        f.debug_struct("Builder")
            .field("workers", &self.workers)
            .field("stack_size", stack_size)
            .field("spares", spares)
            .field("on_thread_start", &on_start.is_some())
            .field("on_thread_stop", &on_stop.is_some())
            .field("worker_main", &main.is_some())
            .field("panic_handler", &self.handler.is_some())
            .finish_non_exhaustive()
    }
}

impl Default for Builder {
    /// The same as [`new`](Self::new).
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// As many workers as [`std::thread::available_parallelism`] says, one if it cannot tell. That function heeds the
    /// affinity mask of the process and, on Linux, the quota of its control group.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Builder::new().build();
    /// let processors = std::thread::available_parallelism().map_or(1, usize::from);
    /// assert_eq!(executor.workers(), processors);
    /// ```
    pub fn new() -> Self {
        Self {
            workers: None,
            config: Config::default(),
            handler: None,
        }
    }

    /// The number of worker threads. With 0, tasks run on threads that wait: in scopes and in
    /// [`block_on`](fn@crate::block_on).
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, block_on};
    ///
    /// let executor = Builder::new().workers(0).build();
    /// assert_eq!(executor.threads(), 0);
    /// // The thread that waits runs the task.
    /// assert_eq!(block_on(executor.spawn(async { 6 * 7 })), 42);
    /// ```
    #[doc(alias("worker_threads", "num_threads"))]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// The settings, with a number of workers.
    fn settled(self) -> (Config, Option<PanicHandler>) {
        let mut config = self.config;
        config.workers = self.workers.unwrap_or_else(ask_for_cores);
        (config, self.handler)
    }

    /// Names the threads by their index, counted from 0; `terrace-0` and so on without it.
    ///
    /// The thread that starts another one calls `name` first. It is the caller of `build` or `set_workers`, a worker
    /// that needs a spare, or a short-lived thread for the watch. It may call `name` for a thread that it then does not
    /// start. It holds no lock, so `name` may use the executor. If `name` calls `set_workers`, the threads start after
    /// it has returned. A NUL in a name becomes U+FFFD. If `name` panics, the thread gets its default name, and the
    /// [`panic_handler`](Self::panic_handler) gets the payload.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, block_on};
    ///
    /// let executor = Builder::new().workers(1).thread_name(|index| format!("render {index}")).build();
    /// let name = executor.spawn(async { std::thread::current().name().map(String::from) });
    /// assert_eq!(block_on(name).as_deref(), Some("render 0"));
    /// ```
    pub fn thread_name(mut self, name: impl Fn(usize) -> String + Send + Sync + 'static) -> Self {
        self.config.thread_name = Box::new(name);
        self
    }

    /// The threads' stack size in bytes; the standard library's default without it.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Builder::new().workers(1).stack_size(8 << 20).build();
    /// let zeros = executor.spawn(async { [0_u8; 4 << 20].iter().all(|byte| *byte == 0) });
    /// assert!(terrace_executor::block_on(zeros));
    /// ```
    #[doc(alias = "thread_stack_size")]
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.config.stack_size = Some(bytes);
        self
    }

    /// Whether the executor starts spare workers where all workers wait or are blocked; it does without this.
    ///
    /// A spare ends when it finds no work and no task is pinned to it. A task that the [start hook](Self::on_thread_start) pins to each thread,
    /// and that does not end, keeps all spares.
    ///
    /// Without spares no two workers ever have the same index, and each index is below the number of workers. Where all workers
    /// wait and tasks are queued, a waiting worker runs one of them, on top of its wait, as deep as they come. If a worker
    /// blocks its thread by other means than a wait of Terrace, no other thread takes its place.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, block_on};
    ///
    /// let executor = Builder::new().workers(1).spares(false).build();
    /// let spawner = executor.spawner();
    /// // The only worker waits for a task of its own executor, and runs it in that wait.
    /// let waits = executor.spawn(async move { block_on(spawner.spawn(async { 6 * 7 })) });
    /// assert_eq!(block_on(waits), 42);
    /// assert_eq!(executor.metrics().num_spares(), 0);
    /// ```
    #[doc(alias = "block_in_place")]
    pub fn spares(mut self, spares: bool) -> Self {
        self.config.spares = spares;
        self
    }

    /// Calls `hook` on every worker thread, spares included, before it runs anything.
    ///
    /// The hook may wait as a task may (`block_on`, scopes). If all workers wait and tasks are queued, a worker in its
    /// hook runs them itself, on top of it. So a hook sets up all that tasks rely on before it waits. A panic of the
    /// hook reaches the [`panic_handler`](Self::panic_handler) and ends nothing else.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    /// use terrace_executor::{Builder, Shutdown};
    ///
    /// let ((begins, begun), (ends, ended)) = (channel(), channel());
    /// let executor = Builder::new()
    ///     .workers(2)
    ///     .on_thread_start(move || begins.send(()).unwrap())
    ///     .on_thread_stop(move || ends.send(()).unwrap())
    ///     .build();
    /// executor.shutdown(Shutdown::FinishAll, None)?;
    /// assert_eq!((begun.try_iter().count(), ended.try_iter().count()), (2, 2));
    /// # Ok::<(), terrace_executor::StillRunning>(())
    /// ```
    #[doc(alias = "start_handler")]
    pub fn on_thread_start(mut self, hook: impl Fn() + Send + Sync + 'static) -> Self {
        self.config.on_start = Some(Arc::new(hook));
        self
    }

    /// Calls `hook` on every worker thread, spares included, after it ran its last task, and before the tasks that are
    /// pinned to it are dropped.
    ///
    /// The hook may wait as a task may, also for tasks of its own executor. If no other worker can run them, the worker
    /// in its hook does, on top of it. A panic of the hook reaches the [`panic_handler`](Self::panic_handler) and ends
    /// nothing else.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, Shutdown};
    /// use terrace_sync::Arc;
    /// use terrace_sync::atomic::{AtomicUsize, Ordering::SeqCst};
    ///
    /// let ended = Arc::new(AtomicUsize::new(0));
    /// let counts = Arc::clone(&ended);
    /// let hook = move || {
    ///     counts.fetch_add(1, SeqCst);
    /// };
    /// let executor = Builder::new().workers(2).on_thread_stop(hook).build();
    /// executor.shutdown(Shutdown::FinishAll, None)?;
    /// assert_eq!(ended.load(SeqCst), 2);
    /// # Ok::<(), terrace_executor::StillRunning>(())
    /// ```
    #[doc(alias = "exit_handler")]
    pub fn on_thread_stop(mut self, hook: impl Fn() + Send + Sync + 'static) -> Self {
        self.config.on_stop = Some(Arc::new(hook));
        self
    }

    /// Calls `main` on every worker thread, spares included, with the worker's loop as a future. `main` blocks on it, so that
    /// the worker waits in a reactor: `async_io::block_on`, or `Runtime::block_on` of a current-thread tokio, which several
    /// workers may share. Without it, workers wait on a lock of their own, and a reactor runs in another thread.
    ///
    /// The start hook runs before `main` and the stop hook after it. The future is ready when the worker ends: by
    /// [`set_workers`](Executor::set_workers), a [`shutdown`](Executor::shutdown), the drop of the executor, and for a spare when it
    /// finds no work and has no pinned tasks. A thread that wakes the worker calls the waker that `main` polls with; a panic of that waker is contained.
    ///
    /// If `main` returns before the future is ready, the worker goes on without it: it runs tasks, and waits outside of the reactor.
    /// A panic says so, which the [`panic_handler`](Self::panic_handler) gets; if `main` panicked, it gets that payload. A `main` that
    /// neither polls the future nor returns is a worker that is blocked.
    ///
    /// A poll of the future runs up to 64 pieces of work. What `main` does between two polls delays tasks that the worker was woken for.
    /// A task that blocks its worker (`block_on`, a scope, a join) keeps it out of the reactor for that time. So does an open
    /// scope or fork of another thread that an idle worker watches: for up to 2 ms at a time.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, block_on};
    ///
    /// let executor = Builder::new()
    ///     .workers(2)
    ///     .worker_main(|worker| async_io::block_on(worker))
    ///     .build();
    /// let waits = executor.spawn(async_io::Timer::after(std::time::Duration::from_millis(1)));
    /// block_on(waits);
    /// ```
    pub fn worker_main(mut self, main: impl Fn(WorkerLoop<'_>) + Send + Sync + 'static) -> Self {
        self.config.main = Some(Box::new(main));
        self
    }

    /// Receives the payload of a panic that no handle will see: of a detached task, of a destructor, of a hook or of
    /// [`thread_name`](Self::thread_name). Without a handler, the executor drops such payloads; the panic hook has
    /// reported the panic. The handler must not panic: if it does, the executor catches and drops that panic.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    /// use terrace_executor::Builder;
    ///
    /// let (sender, panics) = channel();
    /// let executor = Builder::new()
    ///     .workers(1)
    ///     .panic_handler(move |payload| drop(sender.send(payload.downcast_ref::<&str>().copied())))
    ///     .build();
    /// executor.spawn(async { panic!("no handle is left") }).detach();
    /// assert_eq!(panics.recv(), Ok(Some("no handle is left")));
    /// ```
    #[doc(alias = "unhandled_panic")]
    pub fn panic_handler(
        mut self,
        handler: impl Fn(terrace_local::Payload) + Send + Sync + 'static,
    ) -> Self {
        self.handler = Some(PanicHandler::new(handler));
        self
    }

    /// Calls `report` once for each poll of a task, or of a child of a scope, that takes longer than `limit`, while the poll runs.
    /// [`LongPoll`](crate::LongPoll) says which one, on which worker, for how long so far, and whether it waits in a scope, a join or
    /// `block_on`.
    ///
    /// The call comes before one and a half times the limit is over, or 1 ms later, and no more exactly than the system's timer. A
    /// thread of the executor's own makes it, which ends within a second of the executor's drop, or with the report that it is in. After the drop no call begins, but for one
    /// that is just beginning. A panic of `report` ends nothing.
    ///
    /// Cost: a look at the record of each task, twice in `limit`. That thread also wakes up while the executor is idle.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    /// use std::time::Duration;
    /// use terrace_executor::{Builder, named};
    ///
    /// let (sender, reports) = channel();
    /// let executor = Builder::new()
    ///     .workers(1)
    ///     .report_long_polls(Duration::from_millis(5), move |poll| sender.send(poll.to_string()).unwrap())
    ///     .build();
    /// let (go_on, blocks) = channel::<()>();
    /// executor.spawn(named("reader", async move { blocks.recv() })).detach();
    /// assert!(reports.recv().unwrap().contains("`reader`"));
    /// drop(go_on);
    /// ```
    #[cfg(feature = "inspect")]
    pub fn report_long_polls(
        mut self,
        limit: std::time::Duration,
        report: impl Fn(&LongPoll) + Send + Sync + 'static,
    ) -> Self {
        self.config.long_polls = Some(Arc::new(Reports::new(limit, report)));
        self
    }

    /// Starts the threads.
    ///
    /// # Errors
    /// When the operating system cannot start a thread; those already started are ended.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Builder::new().workers(2).try_build()?;
    /// assert_eq!(executor.workers(), 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn try_build(self) -> io::Result<Executor<'static>> {
        let (config, handler) = self.settled();
        Ok(Executor::from_pool(Pool::start(config, handler)?))
    }

    /// Starts the threads.
    ///
    /// # Panics
    /// When the operating system cannot start a thread; [`try_build`](Self::try_build) returns
    /// the error instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, block_on};
    ///
    /// let executor = Builder::new().build();
    /// assert_eq!(block_on(executor.spawn(async { 6 * 7 })), 42);
    /// ```
    #[must_use = "a pool that is dropped at once drops its tasks"]
    pub fn build(self) -> Executor<'static> {
        let (config, handler) = self.settled();
        let workers = config.workers;
        let pool =
            Pool::start(config, handler).unwrap_or_else(|error| start_failed(workers, &error));
        Executor::from_pool(pool)
    }

    /// Makes an executor that starts no workers of its own: threads of the program run them, one for each place. A place that waits for its
    /// thread counts as a worker. Names and stack sizes are the program's.
    ///
    /// A drop of the executor asks the workers to end, and does not wait for them; [`shutdown`](Executor::shutdown) waits, also for
    /// places that no thread has taken. Workers that [`set_workers`](Executor::set_workers) adds are threads of the executor.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, block_on};
    ///
    /// let (executor, places) = Builder::new().workers(2).build_hosted();
    /// let words = vec![String::from("borrowed by the threads")];
    /// std::thread::scope(|scope| {
    ///     for place in places {
    ///         scope.spawn(|| {
    ///             assert_eq!(words.len(), 1);
    ///             place.run();
    ///         });
    ///     }
    ///     assert_eq!(block_on(executor.spawn(async { 6 * 7 })), 42);
    ///     drop(executor);
    /// });
    /// ```
    #[doc(alias("spawn_handler", "use_current_thread"))]
    #[must_use = "the workers run only on threads that run their places"]
    pub fn build_hosted(self) -> (Executor<'static>, Vec<HostedWorker>) {
        let (config, handler) = self.settled();
        let (pool, places) = Pool::hosted(config, handler);
        (Executor::from_pool(pool), places)
    }

    /// Starts an executor that is never dropped: spawning on it counts no references.
    ///
    /// # Errors
    /// As [`try_build`](Self::try_build).
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, block_on};
    ///
    /// let executor = Builder::new().workers(1).try_build_static()?;
    /// assert_eq!(block_on(executor.spawn(async { 6 * 7 })), 42);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "build_global")]
    pub fn try_build_static(self) -> io::Result<&'static StaticExecutor> {
        self.try_build().map(Executor::leak)
    }
}

fn start_failed(workers: usize, error: &io::Error) -> ! {
    panic!(
        "could not start the {workers} worker threads of an executor: {error}; ask for fewer \
         workers or a smaller stack, or use try_build to handle the error"
    )
}
