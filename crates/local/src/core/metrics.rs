//! [`Tally`] and [`LocalMetrics`]: what a single-thread executor has done so far.

use core::cell::Cell;

use terrace_sync::atomic::{AtomicUsize, Ordering};

/// Numbers that grow, and wrap. The owner alone touches all of them but the last.
#[derive(Default)]
pub(crate) struct Tally {
    /// Tasks that the owner queued as it spawned them.
    pub(crate) queued: Counter,
    /// Tasks that the owner polled as it spawned them.
    pub(crate) eager: Counter,
    /// Tasks whose future has been dropped.
    pub(crate) ended: Counter,
    /// Polls of tasks out of the queue.
    pub(crate) polls: Counter,
    /// Of these, how many there were when the allocator last put its lists in order.
    pub(super) settled: Cell<usize>,
    /// Sleeps of `run` and `tick` futures.
    pub(crate) parks: Counter,
    /// Tasks that other threads spawned.
    remote: AtomicUsize,
}

impl Tally {
    /// Another thread is about to queue a task that it made.
    pub(crate) fn add_remote(&self) {
        // Ordering: Relaxed. The owner sees the task after the push, which comes later and releases; then it sees the count, too.
        self.remote.fetch_add(1, Ordering::Relaxed);
    }

    /// Another thread's task was not taken in.
    pub(crate) fn take_back_remote(&self) {
        // Ordering: Relaxed, as there is no task.
        self.remote.fetch_sub(1, Ordering::Relaxed);
    }

    /// All that were spawned. The owner calls it.
    pub(crate) fn spawned(&self) -> usize {
        // Ordering: Relaxed, see `add_remote`.
        let remote = self.remote.load(Ordering::Relaxed);
        remote
            .wrapping_add(self.queued.get())
            .wrapping_add(self.eager.get())
    }

    /// Those that have not ended. The owner calls it.
    pub(crate) fn alive(&self) -> usize {
        self.spawned().wrapping_sub(self.ended.get())
    }
}

/// A number that the owner counts up.
#[derive(Default)]
pub(crate) struct Counter(Cell<usize>);

impl Counter {
    #[inline]
    pub(crate) fn get(&self) -> usize {
        self.0.get()
    }

    /// Counts one more.
    #[inline]
    pub(crate) fn bump(&self) {
        self.0.set(self.0.get().wrapping_add(1));
    }
}

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
    /// counts. The [type](Self) has an example.
    #[must_use = "the call only reads a count"]
    pub fn num_alive_tasks(&self) -> usize {
        self.num_alive_tasks
    }

    /// Tasks that were spawned so far, also by other threads. The [type](Self) has an example.
    #[must_use = "the call only reads a count"]
    pub fn spawned_tasks_count(&self) -> usize {
        self.spawned_tasks_count
    }

    /// Tasks that are queued, one that was cancelled there included. The [type](Self) has an example.
    #[must_use = "the call only reads a count"]
    #[doc(alias = "global_queue_depth")]
    pub fn queue_depth(&self) -> usize {
        self.queue_depth
    }

    /// Polls of tasks, the first ones of eager children included. The [type](Self) has an example.
    #[must_use = "the call only reads a count"]
    #[doc(alias = "worker_poll_count")]
    pub fn poll_count(&self) -> usize {
        self.poll_count
    }

    /// How often a [`run`](crate::LocalExecutor::run) or [`tick`](crate::LocalExecutor::tick) found no task, and waited for one.
    ///
    /// # Examples
    ///
    /// ```
    /// use futures_lite::future::{block_on, poll_once};
    ///
    /// let executor = terrace_local::LocalExecutor::new();
    /// assert_eq!(executor.metrics().park_count(), 0);
    /// assert_eq!(block_on(poll_once(executor.tick())), None);
    /// assert_eq!(executor.metrics().park_count(), 1);
    /// ```
    #[must_use = "the call only reads a count"]
    #[doc(alias = "worker_park_count")]
    pub fn park_count(&self) -> usize {
        self.park_count
    }
}
