//! The executors that are dropped.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;

use async_task::{Builder, Runnable, ScheduleInfo, Task, WithInfo};

/// An async executor. Its tasks run on each thread that polls [`run`](Self::run) or [`tick`](Self::tick), or calls
/// [`try_tick`](Self::try_tick).
///
/// ```
/// use async_executor::Executor;
/// use futures_lite::future;
///
/// let executor = Executor::new();
/// let task = executor.spawn(async { 1 + 2 });
/// assert_eq!(future::block_on(executor.run(async { task.await * 2 })), 6);
/// ```
///
/// An executor of short-lived tasks is neither one of long-lived tasks nor the reverse:
///
/// ```compile_fail,E0521
/// fn shorter<'a>(
///     executor: &'a async_executor::Executor<'static>,
/// ) -> &'a async_executor::Executor<'a> {
///     executor
/// }
/// ```
///
/// Declare what tasks borrow before the executor, which drops them:
///
/// ```compile_fail,E0597
/// let executor = async_executor::Executor::new();
/// let word = String::from("borrowed");
/// executor.spawn(async { word.len() }).detach();
/// ```
pub struct Executor<'a> {
    pub(crate) pool: terrace_executor::Executor<'a>,
}

is_an_executor!(Executor<'_>);

impl fmt::Debug for Executor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.pool, f)
    }
}

impl<'a> Executor<'a> {
    /// An executor without tasks. Allocates nothing yet.
    pub const fn new() -> Self {
        Self {
            pool: terrace_executor::Executor::new(),
        }
    }

    /// Whether every task has ended.
    pub fn is_empty(&self) -> bool {
        self.pool.is_empty()
    }

    /// Spawns a task. Its handle cancels it when it is dropped, unless the handle is [detached](Task::detach).
    pub fn spawn<T: Send + 'a>(&self, future: impl Future<Output = T> + Send + 'a) -> Task<T> {
        // SAFETY: future and output are Send.
        let (runnable, task) = unsafe { self.make(future) };
        self.pool.start(runnable);
        task
    }

    /// Spawns many tasks, whose handles go to `handles` as they are made. No lock is held while the iterator runs.
    pub fn spawn_many<T: Send + 'a, F: Future<Output = T> + Send + 'a>(
        &self,
        futures: impl IntoIterator<Item = F>,
        handles: &mut impl Extend<Task<F::Output>>,
    ) {
        // SAFETY: futures and outputs are Send.
        unsafe { self.make_many(futures, handles) }
    }

    /// Makes a task, and queues it not yet.
    ///
    /// # Safety
    /// If the future or its output is not Send, the executor is used on one thread only.
    unsafe fn make<T: 'a>(&self, future: impl Future<Output = T> + 'a) -> (Runnable, Task<T>) {
        let scheduler = self.pool.scheduler();
        // SAFETY: the schedule function of the cell has the scheduler, and the cell drops it after the future.
        let future = unsafe { scheduler.track_beside(future) };
        let schedule =
            move |runnable: Runnable, info: ScheduleInfo| scheduler.schedule(runnable, info);
        let builder = Builder::new().propagate_panic(true);
        // SAFETY: the schedule function is Send, Sync and 'static. The runnables go to the executor alone, whose drop drops the
        // tracked future before `'a` ends. Threads that use the executor run and drop them: the caller answers for their number.
        unsafe { builder.spawn_unchecked(|()| future, WithInfo(schedule)) }
    }

    /// Makes and queues tasks.
    ///
    /// # Safety
    /// As [`make`](Self::make), for each future.
    unsafe fn make_many<T: 'a, F: Future<Output = T> + 'a>(
        &self,
        futures: impl IntoIterator<Item = F>,
        handles: &mut impl Extend<Task<T>>,
    ) {
        let mut starts = self.pool.start_many();
        handles.extend(futures.into_iter().map(|future| {
            // SAFETY: the caller promises the same for each future.
            let (runnable, task) = unsafe { self.make(future) };
            starts.start(runnable);
            task
        }));
    }

    drives!(pool);
}

/// An executor of futures that need not be `Send`. It stays on its thread.
///
/// ```
/// use async_executor::LocalExecutor;
/// use futures_lite::future;
///
/// let executor = LocalExecutor::new();
/// let number = std::rc::Rc::new(3);
/// let task = executor.spawn(async move { *number });
/// assert_eq!(future::block_on(executor.run(task)), 3);
/// ```
///
/// ```compile_fail,E0277
/// fn is_send<T: Send>(_: T) {}
/// is_send(async_executor::LocalExecutor::new());
/// ```
pub struct LocalExecutor<'a> {
    pub(crate) inner: Executor<'a>,
    /// Neither Send nor Sync.
    _thread: PhantomData<Rc<()>>,
}

is_an_executor!(LocalExecutor<'_>);

impl fmt::Debug for LocalExecutor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LocalExecutor").field(&self.inner).finish()
    }
}

impl<'a> LocalExecutor<'a> {
    /// An executor without tasks. Allocates nothing yet.
    pub const fn new() -> Self {
        Self {
            inner: Executor::new(),
            _thread: PhantomData,
        }
    }

    /// Whether every task has ended.
    pub fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }

    /// Spawns a task. Its handle cancels it when it is dropped, unless the handle is [detached](Task::detach).
    pub fn spawn<T: 'a>(&self, future: impl Future<Output = T> + 'a) -> Task<T> {
        // SAFETY: this executor is not Send, so all that uses it is on this thread.
        let (runnable, task) = unsafe { self.inner.make(future) };
        self.inner.pool.start(runnable);
        task
    }

    /// Spawns many tasks, whose handles go to `handles` as they are made.
    pub fn spawn_many<T: 'a, F: Future<Output = T> + 'a>(
        &self,
        futures: impl IntoIterator<Item = F>,
        handles: &mut impl Extend<Task<F::Output>>,
    ) {
        // SAFETY: this executor is not Send, so all that uses it is on this thread.
        unsafe { self.inner.make_many(futures, handles) }
    }

    drives!(inner.pool);
}
