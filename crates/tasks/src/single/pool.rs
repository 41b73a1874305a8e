//! The pool whose only thread is its caller's.

use alloc::string::String;
use alloc::vec::Vec;
use core::marker::PhantomData;

use terrace_local::{Task, boxing_large};
use terrace_sync::Arc;

use super::scope::{self, Scope};
use crate::host;

/// How many tasks [`TaskPool::spawn`] polls at most before it returns.
const POLLS_PER_SPAWN: usize = 1_000;

/// How deep calls of [`TaskPool::spawn`] from tasks that such a call polls may nest before it only queues.
const MAX_NESTED_SPAWNS: usize = 16;

/// Runs tasks on the calling thread.
///
/// This is the pool without feature `multi_threaded`. It has the interface of the one with threads, except that futures
/// need not be `Send`. Its tasks belong to the thread that spawned them, on any pool.
///
/// # Examples
///
/// ```
/// # use terrace_tasks::{block_on, TaskPool};
/// let pool = TaskPool::new();
/// let task = pool.spawn(async { 6 * 7 });
/// assert_eq!(block_on(task), 42);
/// ```
#[derive(Debug, Default, Clone)]
pub struct TaskPool {}

impl TaskPool {
    /// A new executor that no scope looks at.
    pub fn get_thread_executor() -> Arc<ThreadExecutor<'static>> {
        Arc::default()
    }

    /// A pool.
    pub fn new() -> Self {
        TaskPoolBuilder::new().build()
    }

    /// 1: the calling thread.
    pub fn thread_num(&self) -> usize {
        1
    }

    /// Runs `f`, then the tasks it spawned on the scope and theirs, and gives their results, in the order in which they
    /// were spawned. The tasks may borrow all values that outlive this call.
    ///
    /// While no task of the scope can go on, the thread polls its other tasks. When these cannot go on either, it
    /// sleeps.
    ///
    /// # Panics
    /// With the panic of `f`, or the first panic of a task. The other tasks are not polled any more; their futures are dropped
    /// before this unwinds.
    ///
    /// # Examples
    ///
    /// ```
    /// # use terrace_tasks::TaskPool;
    /// let pool = TaskPool::new();
    /// let words = [String::from("one"), String::from("three")];
    /// let lengths = pool.scope(|scope| {
    ///     for word in &words {
    ///         scope.spawn(async move { word.len() });
    ///     }
    /// });
    /// assert_eq!(lengths, [3, 5]);
    /// ```
    pub fn scope<'env, F, T>(&self, f: F) -> Vec<T>
    where
        F: for<'scope> FnOnce(&'scope mut Scope<'scope, 'env, T>),
        T: Send + 'static,
    {
        scope::run(f)
    }

    /// The same as [`scope`](Self::scope): there is no other thread to name.
    ///
    /// # Panics
    /// As [`scope`](Self::scope).
    pub fn scope_with_executor<'env, F, T>(
        &self,
        _tick_task_pool_executor: bool,
        _thread_executor: Option<&ThreadExecutor<'_>>,
        f: F,
    ) -> Vec<T>
    where
        F: for<'scope> FnOnce(&'scope mut Scope<'scope, 'env, T>),
        T: Send + 'static,
    {
        scope::run(f)
    }

    /// Spawns a task and polls the thread's tasks until none can go on, so a task that waits for nothing is finished
    /// when this returns.
    ///
    /// Tasks that can always go on do not keep it from returning: it polls 1,000 times at most. Inside 16 nested calls
    /// of `spawn` it only queues.
    /// [`tick_global_task_pools_on_main_thread`](crate::tick_global_task_pools_on_main_thread), a scope, or
    /// [`block_on`](fn@crate::block_on) polls the rest.
    ///
    /// The task is cancelled when the [`Task`] is dropped, unless it is detached.
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn<T>(&self, future: impl Future<Output = T> + 'static) -> Task<T>
    where
        T: 'static,
    {
        boxing_large!(|future| self.spawn_and_poll(future))
    }

    /// As [`spawn`](Self::spawn), and polls the task once, and no other one, before it returns. A task that this ends never sees
    /// a queue. Else it is as any other.
    ///
    /// The task is queued inside of 16 polls of tasks, and after 200 calls of one turn: `LocalExecutor::spawn_eager` of
    /// `terrace-local` says why.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = terrace_tasks::TaskPool::new();
    /// assert_eq!(pool.spawn_eager(async { 6 * 7 }).try_take(), Some(42));
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_eager<T>(&self, future: impl Future<Output = T> + 'static) -> Task<T>
    where
        T: 'static,
    {
        boxing_large!(|future| host::with_local_executor(|executor| executor.spawn_eager(future)))
    }

    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn_and_poll<T>(&self, future: impl Future<Output = T> + 'static) -> Task<T>
    where
        T: 'static,
    {
        let task = host::spawn_local(future);
        let nested = Nested::enter();
        if nested.depth < MAX_NESTED_SPAWNS {
            for _ in 0..POLLS_PER_SPAWN {
                if !self.tick_on_this_thread() {
                    break;
                }
            }
        }
        task
    }

    /// The same as [`spawn`](Self::spawn).
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_local<T>(&self, future: impl Future<Output = T> + 'static) -> Task<T>
    where
        T: 'static,
    {
        boxing_large!(|future| self.spawn_and_poll(future))
    }

    /// Polls a task of the calling thread, if one can go on.
    pub(crate) fn tick_on_this_thread(&self) -> bool {
        host::tick()
    }
}

/// Makes a [`TaskPool`]. Without feature `multi_threaded` there are no threads to configure: every setting is
/// accepted and ignored.
///
/// # Examples
///
/// ```
/// # use terrace_tasks::TaskPoolBuilder;
/// assert_eq!(TaskPoolBuilder::new().num_threads(8).build().thread_num(), 1);
/// ```
#[derive(Debug, Default, Clone)]
#[must_use = "a builder makes no pool until it is built"]
pub struct TaskPoolBuilder {}

impl TaskPoolBuilder {
    /// A builder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ignored.
    pub fn num_threads(self, _num_threads: usize) -> Self {
        self
    }

    /// Ignored.
    pub fn stack_size(self, _stack_size: usize) -> Self {
        self
    }

    /// Ignored.
    pub fn thread_name(self, _thread_name: String) -> Self {
        self
    }

    /// Ignored: no thread is started, so `f` is never called.
    pub fn on_thread_spawn(self, _f: impl Fn() + Send + Sync + 'static) -> Self {
        self
    }

    /// Ignored: no thread is started, so `f` is never called.
    pub fn on_thread_destroy(self, _f: impl Fn() + Send + Sync + 'static) -> Self {
        self
    }

    /// Makes the pool.
    pub fn build(self) -> TaskPool {
        TaskPool {}
    }
}

/// Names a thread to run scope tasks on. Without feature `multi_threaded` a scope runs everything on its own
/// thread and ignores it.
#[derive(Debug, Default)]
pub struct ThreadExecutor<'a>(PhantomData<&'a ()>);

impl ThreadExecutor<'_> {
    /// An executor that no scope looks at.
    pub fn new() -> Self {
        Self::default()
    }
}

/// Counts a call of [`TaskPool::spawn`] among those under way on this thread while it lives.
struct Nested {
    depth: usize,
}

impl Nested {
    fn enter() -> Self {
        let depth = host::nested_spawns();
        host::set_nested_spawns(depth + 1);
        Self { depth }
    }
}

impl Drop for Nested {
    fn drop(&mut self) {
        host::set_nested_spawns(self.depth);
    }
}

/// Children of a [`TaskGroup`](terrace_local::TaskGroup).
impl<F: Future<Output: 'static> + 'static> terrace_local::Spawn<F> for &TaskPool {
    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn_task(&self, future: F) -> Task<F::Output> {
        self.spawn(future)
    }

    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn_task_eager(&self, future: F) -> Task<F::Output> {
        self.spawn_eager(future)
    }
}
