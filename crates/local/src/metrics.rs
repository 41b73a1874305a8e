//! What a single-thread executor has done, in numbers.

/// What an executor of one thread has done, and what lies in its queue. [`LocalExecutor::metrics`](crate::LocalExecutor::metrics) takes it.
///
/// The names are those of `tokio::runtime::RuntimeMetrics` and of `terrace_executor::Metrics`. The numbers are exact. They count
/// from the executor's first use, and wrap.
///
/// # Examples
///
/// ```
/// let executor = terrace_local::LocalExecutor::new();
/// let task = executor.spawn(futures_lite::future::yield_now());
/// executor.spawn(std::future::pending::<()>()).detach();
/// assert_eq!(executor.metrics().queue_depth(), 2);
/// futures_lite::future::block_on(executor.run(task));
/// let metrics = executor.metrics();
/// assert_eq!((metrics.spawned_tasks_count(), metrics.num_alive_tasks()), (2, 1));
/// assert_eq!((metrics.poll_count(), metrics.queue_depth()), (3, 0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LocalMetrics {
    pub(crate) num_alive_tasks: usize,
    pub(crate) spawned_tasks_count: usize,
    pub(crate) queue_depth: usize,
    pub(crate) poll_count: usize,
    pub(crate) park_count: usize,
}

impl LocalMetrics {
    /// Tasks that have not ended: one runs, others are queued, or wait to be woken. A task that another thread is about to queue
    /// counts.
    #[must_use]
    pub fn num_alive_tasks(&self) -> usize {
        self.num_alive_tasks
    }

    /// Tasks that were spawned so far, also by other threads.
    #[must_use]
    pub fn spawned_tasks_count(&self) -> usize {
        self.spawned_tasks_count
    }

    /// Tasks that are queued, one that was cancelled there included.
    #[must_use]
    #[doc(alias = "global_queue_depth")]
    pub fn queue_depth(&self) -> usize {
        self.queue_depth
    }

    /// Polls of tasks, the first ones of eager children included.
    #[must_use]
    #[doc(alias = "worker_poll_count")]
    pub fn poll_count(&self) -> usize {
        self.poll_count
    }

    /// How often a [`run`](crate::LocalExecutor::run) or [`tick`](crate::LocalExecutor::tick) found no task, and waited for one.
    #[must_use]
    #[doc(alias = "worker_park_count")]
    pub fn park_count(&self) -> usize {
        self.park_count
    }
}
