//! The builder of pools with threads.

use terrace_executor::{Builder, Executor};

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
#[derive(Debug)]
#[must_use = "a builder starts no thread until it is built"]
pub struct TaskPoolBuilder {
    pub(super) executor: Builder,
    pub(super) thread_name: String,
}

impl Default for TaskPoolBuilder {
    fn default() -> Self {
        Self {
            executor: Executor::builder(),
            thread_name: "TaskPool".to_owned(),
        }
    }
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
        self.executor = self.executor.workers(num_threads);
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
        self.executor = self.executor.stack_size(stack_size);
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
        self.thread_name = thread_name;
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
        self.executor = self.executor.on_thread_start(f);
        self
    }

    /// Calls `f` once on each thread before it ends, after it has run its last task. That includes threads beyond
    /// [`num_threads`](Self::num_threads). A panic of `f` ends nothing else.
    /// [`on_thread_spawn`](Self::on_thread_spawn) has an example of both.
    #[doc(alias("exit_handler", "on_thread_stop"))]
    pub fn on_thread_destroy(mut self, f: impl Fn() + Send + Sync + 'static) -> Self {
        self.executor = self.executor.on_thread_stop(f);
        self
    }
}
