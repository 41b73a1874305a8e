//! How an executor's worker threads are made.

use std::io;
use terrace_sync::Arc;

use crate::executor::Executor;
use crate::pool::threads::Pool;
use crate::static_executor::StaticExecutor;
use terrace_local::task::PanicHandler;

/// Called on a worker thread when it starts or stops.
pub(crate) type Hook = Arc<dyn Fn() + Send + Sync>;

/// What a pool keeps of its builder.
pub(crate) struct Config {
    pub(crate) workers: usize,
    pub(crate) thread_name: Box<dyn Fn(usize) -> String + Send + Sync>,
    pub(crate) stack_size: Option<usize>,
    pub(crate) on_start: Option<Hook>,
    pub(crate) on_stop: Option<Hook>,
}

impl Config {
    /// As many workers as [`std::thread::available_parallelism`] says, one if it cannot tell.
    pub(crate) fn new() -> Self {
        Self {
            workers: std::thread::available_parallelism().map_or(1, usize::from),
            thread_name: Box::new(|index| format!("terrace-{index}")),
            stack_size: None,
            on_start: None,
            on_stop: None,
        }
    }
}

/// Settings of an executor with worker threads.
///
/// ```
/// let executor = terrace_executor::Builder::new().workers(2).build();
/// assert_eq!(executor.workers(), 2);
/// ```
#[must_use = "a builder does nothing until it is built"]
pub struct Builder {
    config: Config,
    handler: Option<PanicHandler>,
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// As many workers as [`std::thread::available_parallelism`] says, one if it cannot tell. That function heeds the
    /// affinity mask of the process and, on Linux, the quota of its control group.
    pub fn new() -> Self {
        Self {
            config: Config::new(),
            handler: None,
        }
    }

    /// The number of worker threads. With 0, tasks run on threads that wait: in scopes and in
    /// [`block_on`](fn@crate::block_on).
    pub fn workers(mut self, workers: usize) -> Self {
        self.config.workers = workers;
        self
    }

    /// Names the threads by their index, counted from 0.
    pub fn thread_name(mut self, name: impl Fn(usize) -> String + Send + Sync + 'static) -> Self {
        self.config.thread_name = Box::new(name);
        self
    }

    /// The threads' stack size in bytes; the standard library's default without it.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.config.stack_size = Some(bytes);
        self
    }

    /// Calls `hook` on every worker thread before it runs anything.
    pub fn on_thread_start(mut self, hook: impl Fn() + Send + Sync + 'static) -> Self {
        self.config.on_start = Some(Arc::new(hook));
        self
    }

    /// Calls `hook` on every worker thread after it ran its last task.
    pub fn on_thread_stop(mut self, hook: impl Fn() + Send + Sync + 'static) -> Self {
        self.config.on_stop = Some(Arc::new(hook));
        self
    }

    /// Receives the payload of a panic that no handle will see: of a detached task, or of a
    /// destructor. Without it such payloads are dropped; the panic hook has reported the panic.
    /// The handler must not panic: if it does, that panic is caught and dropped.
    pub fn panic_handler(
        mut self,
        handler: impl Fn(crate::Payload) + Send + Sync + 'static,
    ) -> Self {
        self.handler = Some(PanicHandler::new(handler));
        self
    }

    /// Starts the threads.
    ///
    /// # Errors
    /// When the operating system cannot start a thread; those already started are ended.
    pub fn try_build(self) -> io::Result<Executor<'static>> {
        Ok(Executor::from_pool(Pool::start(self.config, self.handler)?))
    }

    /// Starts the threads.
    ///
    /// # Panics
    /// When the operating system cannot start a thread; [`try_build`](Self::try_build) returns
    /// the error instead.
    pub fn build(self) -> Executor<'static> {
        let workers = self.config.workers;
        self.try_build()
            .unwrap_or_else(|error| start_failed(workers, &error))
    }

    /// Starts an executor that is never dropped: spawning on it counts no references.
    ///
    /// # Errors
    /// As [`try_build`](Self::try_build).
    pub fn try_build_static(self) -> io::Result<&'static StaticExecutor> {
        Ok(StaticExecutor::leak_pool(Pool::start(
            self.config,
            self.handler,
        )?))
    }
}

fn start_failed(workers: usize, error: &io::Error) -> ! {
    panic!(
        "could not start the {workers} worker threads of an executor: {error}; ask for fewer \
         workers or a smaller stack, or use try_build to handle the error"
    )
}
