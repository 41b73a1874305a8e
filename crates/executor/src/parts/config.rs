//! How a pool makes its worker threads.

use terrace_local::contain;
use terrace_sync::Arc;

use super::worker_loop::WorkerLoop;

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
    pub(crate) long_polls: Option<Arc<super::inspect::Reports>>,
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

impl Config {
    /// As many workers as [`std::thread::available_parallelism`] says, one if it cannot tell.
    pub(crate) fn new() -> Self {
        let mut config = Self::bare();
        config.workers = std::thread::available_parallelism().map_or(1, usize::from);
        config
    }

    /// No workers.
    pub(crate) fn bare() -> Self {
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
