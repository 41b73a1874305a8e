//! The builder of pools with threads.

use std::fmt;

use terrace_sync::Arc;

/// A function that a pool's threads call when they start or end.
pub(super) type Hook = Arc<dyn Fn() + Send + Sync>;

/// Makes a [`TaskPool`](crate::TaskPool).
///
/// # Examples
///
/// ```
/// # use terrace_tasks::TaskPoolBuilder;
/// let pool = TaskPoolBuilder::new().num_threads(2).thread_name("Physics".into()).build();
/// assert_eq!(pool.thread_num(), 2);
/// ```
#[doc(alias = "ThreadPoolBuilder")]
#[derive(Default)]
#[must_use = "a builder starts no thread until it is built"]
pub struct TaskPoolBuilder {
    pub(super) num_threads: Option<usize>,
    pub(super) stack_size: Option<usize>,
    pub(super) thread_name: Option<String>,
    pub(super) on_thread_spawn: Option<Hook>,
    pub(super) on_thread_destroy: Option<Hook>,
}

impl TaskPoolBuilder {
    /// A pool as [`TaskPool::new`](crate::TaskPool::new) makes it. The [type](Self) has an example.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of threads; [`available_parallelism`](crate::available_parallelism) if not set.
    ///
    /// While all of them wait or are blocked, the pool may start further ones. These end when they have nothing to do, and
    /// [`thread_num`](crate::TaskPool::thread_num) does not count them.
    ///
    /// A pool with 0 threads runs its tasks on threads that wait: in [`TaskPool::scope`](crate::TaskPool::scope), in
    /// [`block_on`](fn@crate::block_on), and in
    /// [`tick_global_task_pools_on_main_thread`](crate::tick_global_task_pools_on_main_thread).
    ///
    /// # Examples
    ///
    /// ```
    /// # use terrace_tasks::{TaskPoolBuilder, block_on};
    /// let pool = TaskPoolBuilder::new().num_threads(0).build();
    /// // The thread that waits polls the task.
    /// assert_eq!(block_on(pool.spawn(async { 6 * 7 })), 42);
    /// ```
    #[doc(alias = "worker_threads")]
    pub fn num_threads(mut self, num_threads: usize) -> Self {
        self.num_threads = Some(num_threads);
        self
    }

    /// The size of each thread's stack in bytes; the standard library's default if not set.
    ///
    /// # Examples
    ///
    /// ```
    /// # use terrace_tasks::{TaskPoolBuilder, block_on};
    /// let pool = TaskPoolBuilder::new().num_threads(1).stack_size(32 << 20).build();
    /// // More than a thread has by default.
    /// let task = pool.spawn(async { std::hint::black_box(&[7_u8; 4 << 20]).len() });
    /// assert_eq!(block_on(task), 4 << 20);
    /// ```
    #[doc(alias = "thread_stack_size")]
    pub fn stack_size(mut self, stack_size: usize) -> Self {
        self.stack_size = Some(stack_size);
        self
    }

    /// Names the threads `thread_name (0)`, `thread_name (1)` and so on; `TaskPool (0)` and so on if not set. Threads beyond
    /// [`num_threads`](Self::num_threads) have the numbers that follow.
    ///
    /// # Examples
    ///
    /// ```
    /// # use terrace_tasks::{TaskPoolBuilder, block_on};
    /// let pool = TaskPoolBuilder::new().num_threads(1).thread_name("Physics".into()).build();
    /// let name = pool.spawn(async { std::thread::current().name().map(String::from) });
    /// assert_eq!(block_on(name).as_deref(), Some("Physics (0)"));
    /// ```
    pub fn thread_name(mut self, thread_name: String) -> Self {
        self.thread_name = Some(thread_name);
        self
    }

    /// Calls `f` once on each thread when it starts, before it runs a task.
    ///
    /// That includes threads beyond [`num_threads`](Self::num_threads), so `f` must not wait for a barrier of that many threads. The
    /// pool keeps `f` until its own end: a channel whose sender `f` owns stays open until then. A panic of `f` ends nothing else.
    ///
    /// # Examples
    ///
    /// ```
    /// # use terrace_tasks::TaskPoolBuilder;
    /// use std::sync::mpsc::channel;
    ///
    /// let ((begins, begun), (ends, ended)) = (channel(), channel());
    /// let pool = TaskPoolBuilder::new()
    ///     .num_threads(2)
    ///     .on_thread_spawn(move || begins.send(()).unwrap())
    ///     .on_thread_destroy(move || ends.send(()).unwrap())
    ///     .build();
    /// drop(pool);
    /// assert_eq!((begun.try_iter().count(), ended.try_iter().count()), (2, 2));
    /// ```
    #[doc(alias("start_handler", "on_thread_start"))]
    pub fn on_thread_spawn(mut self, f: impl Fn() + Send + Sync + 'static) -> Self {
        self.on_thread_spawn = Some(Arc::new(f));
        self
    }

    /// Calls `f` once on each thread before it ends, after it has run its last task. That includes threads beyond
    /// [`num_threads`](Self::num_threads). A panic of `f` ends nothing else.
    /// [`on_thread_spawn`](Self::on_thread_spawn) has an example of both.
    #[doc(alias("exit_handler", "on_thread_stop"))]
    pub fn on_thread_destroy(mut self, f: impl Fn() + Send + Sync + 'static) -> Self {
        self.on_thread_destroy = Some(Arc::new(f));
        self
    }
}

/// The settings; each closure is shown by whether it is there.
impl fmt::Debug for TaskPoolBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskPoolBuilder")
            .field("num_threads", &self.num_threads)
            .field("stack_size", &self.stack_size)
            .field("thread_name", &self.thread_name)
            .field("on_thread_spawn", &self.on_thread_spawn.is_some())
            .field("on_thread_destroy", &self.on_thread_destroy.is_some())
            .finish()
    }
}
