//! The pool with threads of its own.

use std::io;

use terrace_executor::{Dump, Executor, Metrics};
use terrace_local::{Task, boxing_large};
use terrace_sync::Arc;

use super::builder::TaskPoolBuilder;
use super::kinds::Kinds;
use super::scope::{self, Scope};
use super::thread_executor::{OWN, ThreadExecutor};
use crate::host;

/// Runs tasks on threads of its own.
///
/// A task is a future that the pool polls. The [`Task`] that [`spawn`](Self::spawn) returns stands for its result, and
/// cancels it when dropped. It need not be polled for the task to go on.
///
/// Dropping the pool ends its threads, joins them, and cancels unfinished tasks. It waits as long as the polls take that its threads are in
/// the middle of. A [`Task`] may outlive its pool: a finished one still has its result, and the wait for another one panics, or is `None`
/// by [`Task::fallible`]. A pool that its own task drops does not join the current thread.
///
/// A panic in a task is caught: it is rethrown where the [`Task`] is awaited or by the scope, and the pool's threads
/// go on.
///
/// # Examples
///
/// ```
/// # use terrace_tasks::{block_on, TaskPool};
/// let pool = TaskPool::new();
/// let task = pool.spawn(async { 6 * 7 });
/// assert_eq!(block_on(task), 42);
/// ```
#[doc(alias("ThreadPool", "Runtime"))]
#[derive(Debug)]
pub struct TaskPool {
    pub(super) executor: Executor<'static>,
    /// How long items take in [`par`](Self::par).
    pub(super) kinds: Kinds,
}

impl TaskPool {
    /// The calling thread's executor of tasks for this thread alone, the same in every call.
    ///
    /// A scope that waits on this thread ticks it. Handed to
    /// [`scope_with_executor`](Self::scope_with_executor) on another thread, it takes that scope's external tasks.
    ///
    /// # Examples
    ///
    /// ```
    /// # use terrace_tasks::TaskPool;
    /// let executor = TaskPool::get_thread_executor();
    /// assert!(executor.is_same(&TaskPool::get_thread_executor()));
    /// ```
    pub fn get_thread_executor() -> Arc<ThreadExecutor<'static>> {
        OWN.with(Arc::clone)
    }

    /// A pool with [`available_parallelism`](crate::available_parallelism) threads.
    ///
    /// # Panics
    /// As [`TaskPoolBuilder::build`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use terrace_tasks::{TaskPool, available_parallelism};
    /// assert_eq!(TaskPool::new().thread_num(), available_parallelism());
    /// ```
    #[track_caller]
    #[must_use = "a pool that is dropped at once drops its tasks"]
    pub fn new() -> Self {
        TaskPoolBuilder::new().build()
    }

    /// The number of the pool's threads, without those beyond
    /// [`TaskPoolBuilder::num_threads`](crate::TaskPoolBuilder::num_threads).
    /// [`TaskPoolBuilder`] has an example.
    #[doc(alias("current_num_threads", "num_workers"))]
    pub fn thread_num(&self) -> usize {
        self.executor.workers()
    }

    /// What the pool's threads have done, and what lies in their queues: a snapshot. Tasks of
    /// [`spawn_local`](Self::spawn_local) belong to their threads and do not count.
    ///
    /// Costs what [`Executor::metrics`] costs.
    ///
    /// # Examples
    ///
    /// ```
    /// # use terrace_tasks::{TaskPool, block_on};
    /// let pool = TaskPool::new();
    /// block_on(pool.spawn(async {}));
    /// assert_eq!(pool.metrics().spawned_tasks_count(), 1);
    /// ```
    #[must_use = "it is a copy for the caller to read"]
    pub fn metrics(&self) -> Metrics {
        self.executor.metrics()
    }

    /// What the pool looks like at this moment, and what may be stuck, as [`Executor::dump`] says it, at its cost. [`dump_all`](crate::dump_all)
    /// says it of all pools of the process. Feature `inspect` adds the tasks.
    ///
    /// # Examples
    ///
    /// ```
    /// # use terrace_tasks::TaskPool;
    /// println!("{}", TaskPool::new().dump());
    /// ```
    #[must_use = "a dump is returned, and not printed"]
    pub fn dump(&self) -> Dump {
        self.executor.dump()
    }

    /// Runs `f`, waits for the tasks it spawned on the scope and for theirs, and gives their results. The tasks may
    /// borrow all values that outlive this call.
    ///
    /// The results come in the order in which the tasks were spawned. If several tasks spawn at the same time, that
    /// order is a matter of chance.
    ///
    /// The calling thread works, too. While it waits it runs tasks of this scope, and tasks that only this thread can
    /// run: its local ones, those of [`get_thread_executor`](Self::get_thread_executor). It takes up no other task of
    /// the pool, which could keep it busy long after the scope is done. On a pool with 0 threads it runs those, too.
    ///
    /// # Panics
    /// With the panic of `f`, else with that of a task. Either cancels the other tasks: no thread polls them again.
    /// There is one exception: a task that was spawned before the one that panicked still gets its first poll. A
    /// cancelled task's future is dropped on the thread that would have run it. This unwinds when all of them are gone.
    /// Of several tasks that panicked, the one that was spawned first decides.
    ///
    /// # Examples
    ///
    /// ```
    /// # use terrace_tasks::TaskPool;
    /// let pool = TaskPool::new();
    /// let mut halves = [1, 2, 3, 4];
    /// let sums = pool.scope(|scope| {
    ///     for half in halves.chunks_mut(2) {
    ///         scope.spawn(async move {
    ///             half[0] *= 10;
    ///             half.iter().sum::<i32>()
    ///         });
    ///     }
    /// });
    /// assert_eq!(sums, [12, 34]);
    /// assert_eq!(halves, [10, 2, 30, 4]);
    /// ```
    ///
    /// The scope ends with the call, and tasks borrow only values that outlive it:
    ///
    /// ```compile_fail,E0521
    /// # use terrace_tasks::TaskPool;
    /// let pool = TaskPool::new();
    /// pool.scope(|scope| {
    ///     std::thread::spawn(move || scope.spawn(async {}));
    /// });
    /// ```
    ///
    /// ```compile_fail,E0373
    /// # use terrace_tasks::TaskPool;
    /// let pool = TaskPool::new();
    /// pool.scope(|scope| {
    ///     let inside = 1;
    ///     scope.spawn(async { assert_eq!(inside, 1) });
    /// });
    /// ```
    pub fn scope<'env, F, T>(&self, f: F) -> Vec<T>
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, T>),
        T: Send + 'static,
    {
        scope::run(&self.executor, None, f)
    }

    /// As [`scope`](Self::scope), with a place for tasks of another thread: [`Scope::spawn_on_external`] puts its tasks
    /// on `external_executor`. If the calling thread owns that executor, the scope ticks it while it waits; otherwise its
    /// owner has to, or the scope does not end. Without one those tasks run on the calling thread.
    ///
    /// `tick_task_pool_executor` makes no difference. Either way a scope that waits runs its own tasks, and takes up no other tasks of
    /// the pool, unless that has 0 threads. So a task of [`Scope::spawn`] may run on this thread. It may hang if it blocks its thread
    /// until this thread has run another task: one of [`Scope::spawn_on_scope`], or one on this thread's [`ThreadExecutor`].
    ///
    /// # Panics
    /// As [`scope`](Self::scope).
    ///
    /// # Examples
    ///
    /// ```
    /// # use terrace_tasks::TaskPool;
    /// let pool = TaskPool::new();
    /// // The executor of a thread that takes external tasks; here it is this thread's own.
    /// let external = TaskPool::get_thread_executor();
    /// let here = std::thread::current().id();
    /// let ran_on = pool.scope_with_executor(false, Some(&*external), |scope| {
    ///     scope.spawn_on_external(async { std::thread::current().id() });
    /// });
    /// assert_eq!(ran_on, [here]);
    /// ```
    pub fn scope_with_executor<'env, F, T>(
        &self,
        tick_task_pool_executor: bool,
        external_executor: Option<&ThreadExecutor<'_>>,
        f: F,
    ) -> Vec<T>
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, T>),
        T: Send + 'static,
    {
        let _alike = tick_task_pool_executor;
        scope::run(&self.executor, external_executor, f)
    }

    /// Spawns a task that any of the pool's threads may run.
    ///
    /// It is cancelled when the [`Task`] is dropped, unless it is [detached](Task::detach). For a future that is not
    /// `Send` there is [`spawn_local`](Self::spawn_local), and for one that has to run on a certain thread a
    /// [`ThreadSpawner`](crate::ThreadSpawner).
    ///
    /// # Examples
    ///
    /// ```
    /// # use terrace_tasks::{TaskPool, block_on};
    /// let pool = TaskPool::new();
    /// let (four, nine) = (pool.spawn(async { 2 * 2 }), pool.spawn(async { 3 * 3 }));
    /// assert_eq!(block_on(async { four.await + nine.await }), 13);
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn<T>(&self, future: impl Future<Output = T> + Send + 'static) -> Task<T>
    where
        T: Send + 'static,
    {
        boxing_large!(|future| self.executor.spawn(future))
    }

    /// As [`spawn`](Self::spawn), and polls the task once, on the calling thread, before it returns. A task that this ends
    /// never sees a queue. Else it is as any other.
    ///
    /// The task is queued inside of 16 nested calls, and after 200 calls of one turn of a thread, or 128 that were pending:
    /// [`Executor::spawn_eager`](terrace_executor::Executor::spawn_eager) says why.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = terrace_tasks::TaskPool::new();
    /// assert_eq!(pool.spawn_eager(async { 6 * 7 }).try_take(), Some(42));
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_eager<T>(&self, future: impl Future<Output = T> + Send + 'static) -> Task<T>
    where
        T: Send + 'static,
    {
        boxing_large!(|future| self.executor.spawn_eager(future))
    }

    /// Spawns a task that only the calling thread polls.
    ///
    /// The thread polls it while it waits in a scope or in [`block_on`](fn@crate::block_on). It also does in
    /// [`tick_global_task_pools_on_main_thread`](crate::tick_global_task_pools_on_main_thread) and through
    /// [`with_local_executor`](Self::with_local_executor). A thread of a pool polls it in between its other tasks.
    /// Cancelled and detached as with [`spawn`](Self::spawn).
    ///
    /// # Examples
    ///
    /// ```
    /// # use terrace_tasks::{TaskPool, block_on};
    /// use std::rc::Rc;
    ///
    /// let pool = TaskPool::new();
    /// let not_send = Rc::new(42);
    /// let task = pool.spawn_local(async move { *not_send });
    /// assert_eq!(block_on(task), 42);
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_local<T>(&self, future: impl Future<Output = T> + 'static) -> Task<T>
    where
        T: 'static,
    {
        boxing_large!(|future| terrace_thread::spawn_local(future))
    }

    /// Polls a task of the calling thread and, if the pool has no threads, one of the pool. False if there was neither. It leaves pinned
    /// children to the waits of their scopes: the caller may be one of them, and hold a lock that the next one wants.
    pub(crate) fn tick_on_this_thread(&self) -> bool {
        let own = host::with_local_executor(|executor| executor.try_tick());
        let shared = self.thread_num() == 0 && self.executor.try_tick();
        own || shared
    }
}

impl TaskPoolBuilder {
    /// Starts the pool.
    ///
    /// # Panics
    /// If the operating system cannot start a thread. [`try_build`](Self::try_build) returns the error instead.
    ///
    /// # Examples
    ///
    /// ```
    /// # use terrace_tasks::{TaskPoolBuilder, block_on};
    /// let pool = TaskPoolBuilder::new().num_threads(1).build();
    /// assert_eq!(block_on(pool.spawn(async { 6 * 7 })), 42);
    /// ```
    #[track_caller]
    #[must_use = "a pool that is dropped at once drops its tasks"]
    pub fn build(self) -> TaskPool {
        let name = self.thread_name.clone();
        self.try_build()
            .unwrap_or_else(|error| cannot_start(&name, &error))
    }

    /// Starts the pool.
    ///
    /// # Errors
    /// If the operating system cannot start a thread; those that were started are ended again.
    ///
    /// # Examples
    ///
    /// ```
    /// # use terrace_tasks::TaskPoolBuilder;
    /// let pool = TaskPoolBuilder::new().num_threads(1).try_build()?;
    /// assert_eq!(pool.thread_num(), 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn try_build(self) -> io::Result<TaskPool> {
        let name = self.thread_name;
        let executor = self
            .executor
            .thread_name(move |index| format!("{name} ({index})"));
        Ok(TaskPool {
            executor: executor.try_build()?,
            kinds: Kinds::default(),
        })
    }
}

/// The panic of a pool whose threads could not be started.
#[cold]
#[track_caller]
fn cannot_start(name: &str, error: &io::Error) -> ! {
    panic!(
        "a thread of the task pool {name:?} cannot be spawned: {error}. Ask for fewer threads \
         (`TaskPoolBuilder::num_threads`; 0 runs tasks on the threads that wait for them) or smaller stacks \
         (`TaskPoolBuilder::stack_size`), raise the process's limits, or use `TaskPoolBuilder::try_build` and handle the \
         error",
    )
}

impl Default for TaskPool {
    /// The same as [`new`](Self::new).
    fn default() -> Self {
        Self::new()
    }
}

/// Children of a [`TaskGroup`](terrace_local::TaskGroup).
impl<F: Future<Output: Send + 'static> + Send + 'static> terrace_local::Spawn<F> for &TaskPool {
    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn_task(&self, future: F) -> Task<F::Output> {
        self.spawn(future)
    }

    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn_task_eager(&self, future: F) -> Task<F::Output> {
        self.spawn_eager(future)
    }
}
