//! Tasks in cells that the executor does not make: how a program queues any `async_task::Runnable` on a pool.

use std::fmt;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::task::{Context, Poll};

use async_task::ScheduleInfo;
use terrace_local::task::Runnable;
use terrace_sync::Arc;
use terrace_trace::inspect::{self, Recorded};

use crate::pool::Shared;
use crate::pool::runner::{count_end, count_spawn};
use crate::pool::schedule::Cause;
use crate::pool::spawn::Batch;

/// Queues runnables of [`async_task`] cells on an executor. [`Executor::scheduler`](crate::Executor::scheduler) makes it.
///
/// It is for programs that bring their own cells: with metadata of their own, with a schedule function that does more, or with
/// the plain [`async_task::Task`] as the handle. The schedule function of a cell keeps a scheduler, and calls
/// [`schedule`](Self::schedule). The runnables lie in the same queues as the executor's own tasks, run on the same threads, and
/// follow the same rules of fairness.
///
/// Three things of the executor's own tasks they lack:
///
/// - A panic stays in the cell only if the cell was built with `Builder::propagate_panic`. Else the
///   executor drops the payload after the panic hook has reported it. A destructor that panics aborts the process, by the rule
///   of `async-task`.
/// - [`Executor::is_empty`](crate::Executor::is_empty) does not count them, and the drop of the executor does not find those that
///   wait for a wake. [`track`](Self::track) adds both.
/// - A cell with a schedule function that has a size pays two read-modify-writes for each wake.
///
/// The drop of the executor drops what is queued. A thread that schedules a runnable after that drops it.
///
/// # Examples
///
/// ```
/// use async_task::{Runnable, ScheduleInfo, WithInfo};
///
/// let executor = terrace_executor::Builder::new().workers(1).build();
/// let scheduler = executor.scheduler();
/// let schedule = {
///     let scheduler = scheduler.clone();
///     move |runnable: Runnable, info: ScheduleInfo| scheduler.schedule(runnable, info)
/// };
/// let future = scheduler.track(async { 6 * 7 });
/// let (runnable, task) = async_task::spawn(future, WithInfo(schedule));
/// scheduler.start(runnable);
/// assert_eq!(terrace_executor::block_on(task), 42);
/// ```
#[derive(Clone)]
pub struct Scheduler {
    pub(crate) pool: Arc<Shared>,
}

impl Scheduler {
    /// Queues a runnable that was woken: the body of a schedule function. On a worker whose ring is empty it runs next. A task
    /// that was woken while it ran (a yield) goes behind the others.
    ///
    /// # Examples
    ///
    /// ```
    /// use async_task::{Runnable, ScheduleInfo, WithInfo};
    /// use std::future::poll_fn;
    /// use std::task::Poll;
    ///
    /// let executor = terrace_executor::Executor::new();
    /// let scheduler = executor.scheduler();
    /// let schedule = move |runnable: Runnable, info: ScheduleInfo| scheduler.schedule(runnable, info);
    /// let mut woken = false;
    /// let wakes_itself = poll_fn(move |context| {
    ///     if std::mem::replace(&mut woken, true) {
    ///         return Poll::Ready(());
    ///     }
    ///     context.waker().wake_by_ref();
    ///     Poll::Pending
    /// });
    /// let (runnable, task) = async_task::spawn(wakes_itself, WithInfo(schedule));
    /// runnable.schedule();
    /// assert!(executor.try_tick() && !task.is_finished());
    /// assert!(executor.try_tick() && task.is_finished());
    /// ```
    #[inline]
    pub fn schedule(&self, runnable: async_task::Runnable, info: ScheduleInfo) {
        schedule(&self.pool, runnable, &info);
    }

    /// Queues a runnable for the first time, behind the others. [`Runnable::schedule`](async_task::Runnable::schedule) does as
    /// well; this takes two read-modify-writes less.
    ///
    /// # Examples
    ///
    /// ```
    /// use async_task::{Runnable, ScheduleInfo, WithInfo};
    ///
    /// let executor = terrace_executor::Executor::new();
    /// let scheduler = executor.scheduler();
    /// let schedule = {
    ///     let scheduler = scheduler.clone();
    ///     move |runnable: Runnable, info: ScheduleInfo| scheduler.schedule(runnable, info)
    /// };
    /// let (runnable, task) = async_task::spawn(async {}, WithInfo(schedule));
    /// scheduler.start(runnable);
    /// assert!(executor.is_empty(), "the executor does not count a task that it does not track");
    /// assert!(executor.try_tick() && task.is_finished());
    /// ```
    #[inline]
    pub fn start(&self, runnable: async_task::Runnable) {
        start(&self.pool, runnable);
    }

    /// Begins to queue many runnables for the first time, which wake workers as a whole.
    ///
    /// # Examples
    ///
    /// ```
    /// use async_task::{Runnable, ScheduleInfo, WithInfo};
    ///
    /// let executor = terrace_executor::Builder::new().workers(1).build();
    /// let scheduler = executor.scheduler();
    /// let mut batch = scheduler.start_many();
    /// let tasks = [1, 2, 3].map(|n| {
    ///     let scheduler = executor.scheduler();
    ///     let schedule = move |runnable: Runnable, info: ScheduleInfo| scheduler.schedule(runnable, info);
    ///     let (runnable, task) = async_task::spawn(async move { n }, WithInfo(schedule));
    ///     batch.start(runnable);
    ///     task
    /// });
    /// drop(batch);
    /// assert_eq!(tasks.map(terrace_executor::block_on), [1, 2, 3]);
    /// ```
    pub fn start_many(&self) -> Starts<'_> {
        Starts::new(&self.pool)
    }

    /// Wraps the future of a task. The executor counts it as one of its tasks until it is dropped, and its own drop drops it.
    ///
    /// Put it into a cell whose runnables go to this scheduler. The drop of the executor wakes the future and waits until it has
    /// been dropped: elsewhere that may take without end.
    ///
    /// # Examples
    ///
    /// ```
    /// use async_task::{Runnable, ScheduleInfo, WithInfo};
    /// use terrace_executor::{Executor, block_on};
    ///
    /// let executor = Executor::new();
    /// let scheduler = executor.scheduler();
    /// let schedule = {
    ///     let scheduler = scheduler.clone();
    ///     move |runnable: Runnable, info: ScheduleInfo| scheduler.schedule(runnable, info)
    /// };
    /// let waits = scheduler.track(std::future::pending::<()>());
    /// assert!(!executor.is_empty(), "the executor counts the future");
    ///
    /// let (runnable, task) = async_task::spawn(waits, WithInfo(schedule));
    /// scheduler.start(runnable);
    /// executor.try_tick();
    /// drop(executor);
    /// assert_eq!(block_on(task.fallible()), None, "the executor's drop has dropped the future");
    /// ```
    #[inline]
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn track<F>(&self, future: F) -> Tracked<F> {
        Tracked::new(ManuallyDrop::new(Arc::clone(&self.pool)), true, future)
    }

    /// As [`track`](Self::track), without a reference to the executor of its own.
    ///
    /// # Safety
    /// A clone of this scheduler exists until the future has been dropped. In the schedule function of the future's cell one does.
    ///
    /// # Examples
    ///
    /// ```
    /// use async_task::{Runnable, ScheduleInfo, WithInfo};
    ///
    /// let executor = terrace_executor::Executor::new();
    /// let scheduler = executor.scheduler();
    /// let schedule = {
    ///     let scheduler = scheduler.clone();
    ///     move |runnable: Runnable, info: ScheduleInfo| scheduler.schedule(runnable, info)
    /// };
    /// // SAFETY: the schedule function of its cell keeps a scheduler.
    /// let future = unsafe { scheduler.track_beside(async { 6 * 7 }) };
    /// let (runnable, task) = async_task::spawn(future, WithInfo(schedule));
    /// scheduler.start(runnable);
    /// assert!(!executor.is_empty());
    /// assert!(executor.try_tick() && task.is_finished());
    /// assert!(executor.is_empty());
    /// ```
    #[inline]
    #[cfg_attr(feature = "timeline", track_caller)]
    pub unsafe fn track_beside<F>(&self, future: F) -> Tracked<F> {
        // SAFETY: the pointer is that of an `Arc`. This one is not dropped, and the caller promises that another one exists as long.
        let pool = unsafe { Arc::from_raw(Arc::as_ptr(&self.pool)) };
        Tracked::new(ManuallyDrop::new(pool), false, future)
    }
}

impl fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pool.describe("Scheduler", f)
    }
}

/// A [`Scheduler`] of an executor that lives as long as the program. It counts no references.
/// [`StaticExecutor::scheduler`](crate::StaticExecutor::scheduler) makes it.
///
/// # Examples
///
/// ```
/// use async_task::{Runnable, ScheduleInfo, WithInfo};
///
/// static EXECUTOR: terrace_executor::StaticExecutor = terrace_executor::StaticExecutor::new();
///
/// let scheduler = EXECUTOR.scheduler();
/// let schedule = move |runnable: Runnable, info: ScheduleInfo| scheduler.schedule(runnable, info);
/// let (runnable, task) = async_task::spawn(async { 6 * 7 }, WithInfo(schedule));
/// scheduler.start(runnable);
/// assert_eq!(terrace_executor::block_on(EXECUTOR.run(task)), 42);
/// ```
#[derive(Clone, Copy)]
pub struct StaticScheduler {
    pub(crate) pool: &'static Shared,
}

impl StaticScheduler {
    /// As [`Scheduler::schedule`].
    ///
    /// # Examples
    ///
    /// ```
    /// use async_task::{Runnable, ScheduleInfo, WithInfo};
    /// use terrace_executor::StaticExecutor;
    ///
    /// static EXECUTOR: StaticExecutor = StaticExecutor::new();
    ///
    /// let scheduler = EXECUTOR.scheduler();
    /// let schedule = move |runnable: Runnable, info: ScheduleInfo| scheduler.schedule(runnable, info);
    /// let (runnable, task) = async_task::spawn(async {}, WithInfo(schedule));
    /// runnable.schedule();
    /// assert!(EXECUTOR.try_tick() && task.is_finished());
    /// ```
    #[inline]
    pub fn schedule(&self, runnable: async_task::Runnable, info: ScheduleInfo) {
        schedule(self.pool, runnable, &info);
    }

    /// As [`Scheduler::start`].
    ///
    /// # Examples
    ///
    /// ```
    /// use async_task::{Runnable, ScheduleInfo, WithInfo};
    /// use terrace_executor::StaticExecutor;
    ///
    /// static EXECUTOR: StaticExecutor = StaticExecutor::new();
    ///
    /// let scheduler = EXECUTOR.scheduler();
    /// let schedule = move |runnable: Runnable, info: ScheduleInfo| scheduler.schedule(runnable, info);
    /// let (runnable, task) = async_task::spawn(async {}, WithInfo(schedule));
    /// scheduler.start(runnable);
    /// assert!(EXECUTOR.try_tick() && task.is_finished());
    /// ```
    #[inline]
    pub fn start(&self, runnable: async_task::Runnable) {
        start(self.pool, runnable);
    }

    /// As [`Scheduler::start_many`].
    ///
    /// # Examples
    ///
    /// ```
    /// use async_task::{Runnable, ScheduleInfo, WithInfo};
    /// use terrace_executor::StaticExecutor;
    ///
    /// static EXECUTOR: StaticExecutor = StaticExecutor::new();
    ///
    /// let scheduler = EXECUTOR.scheduler();
    /// let schedule = move |runnable: Runnable, info: ScheduleInfo| scheduler.schedule(runnable, info);
    /// let mut batch = scheduler.start_many();
    /// let tasks = [1, 2, 3].map(|n| {
    ///     let (runnable, task) = async_task::spawn(async move { n }, WithInfo(schedule));
    ///     batch.start(runnable);
    ///     task
    /// });
    /// drop(batch);
    /// assert_eq!(tasks.map(|task| terrace_executor::block_on(EXECUTOR.run(task))), [1, 2, 3]);
    /// ```
    pub fn start_many(&self) -> Starts<'static> {
        Starts::new(self.pool)
    }
}

impl fmt::Debug for StaticScheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pool.describe("StaticScheduler", f)
    }
}

#[inline]
pub(crate) fn start(pool: &Shared, runnable: async_task::Runnable) {
    terrace_trace::spawn();
    pool.push_foreign(Runnable::foreign(runnable), Cause::Spawned);
}

#[inline]
fn schedule(pool: &Shared, runnable: async_task::Runnable, info: &ScheduleInfo) {
    let task = Runnable::foreign(runnable);
    if info.woken_while_running {
        pool.push_foreign(task, Cause::Yielded);
    } else {
        pool.push_foreign(task, Cause::Woken);
    }
}

/// Runnables that are queued as a batch. It wakes workers and `run` futures for each few hundred, and at its drop.
/// [`Executor::start_many`](crate::Executor::start_many) has an example.
#[must_use = "it queues what is given to it"]
pub struct Starts<'s> {
    /// Publishes in its drop, which comes first.
    batch: Batch<'s>,
}

impl<'s> Starts<'s> {
    pub(crate) fn new(pool: &'s Shared) -> Self {
        Self {
            batch: Batch::new(pool),
        }
    }

    /// Adds a runnable.
    ///
    /// # Examples
    ///
    /// ```
    /// use async_task::{Runnable, ScheduleInfo, WithInfo};
    ///
    /// let executor = terrace_executor::Executor::new();
    /// let scheduler = executor.scheduler();
    /// let schedule = move |runnable: Runnable, info: ScheduleInfo| scheduler.schedule(runnable, info);
    /// let (runnable, task) = async_task::spawn(async {}, WithInfo(schedule));
    /// let mut batch = executor.start_many();
    /// batch.start(runnable);
    /// drop(batch);
    /// assert!(executor.try_tick() && task.is_finished());
    /// ```
    #[inline]
    pub fn start(&mut self, runnable: async_task::Runnable) {
        terrace_trace::spawn();
        self.batch.push(Runnable::foreign(runnable));
    }
}

impl fmt::Debug for Starts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Starts").finish_non_exhaustive()
    }
}

/// A future that is counted among the tasks of an executor; see [`Scheduler::track`].
/// [`Scheduler`] has an example.
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub struct Tracked<F> {
    /// Pinned with the whole. It is dropped first: while it is in the registry, the executor's drop waits for it.
    future: Recorded<F>,
    entry: Entry,
}

/// The place of a future in the registry of its pool.
struct Entry {
    /// `NEW` before the first `Pending`.
    key: u32,
    /// Whether `pool` is counted, and so is dropped with this.
    is_counted: bool,
    pool: ManuallyDrop<Arc<Shared>>,
}

/// Not in the registry.
const NEW: u32 = u32::MAX;

impl<F> Tracked<F> {
    /// The reference counts if `is_counted`; else the pool stays in place until the future is dropped.
    #[inline]
    #[cfg_attr(feature = "timeline", track_caller)]
    fn new(pool: ManuallyDrop<Arc<Shared>>, is_counted: bool, future: F) -> Self {
        count_spawn(&pool);
        let entry = Entry {
            key: NEW,
            is_counted,
            pool,
        };
        let future = inspect::task(&entry.pool.records, future);
        Self { future, entry }
    }
}

impl<F: Future> Future for Tracked<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: `future` is not moved out of the pinned whole, and `entry` need not be pinned.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: the future is pinned with the whole.
        let future = unsafe { Pin::new_unchecked(&mut this.future) };
        let polled = future.poll(context);
        if polled.is_pending() && this.entry.key == NEW {
            this.entry.key = this.entry.pool.registry.add(context.waker());
        }
        polled
    }
}

impl Drop for Entry {
    #[inline]
    fn drop(&mut self) {
        count_end(&self.pool);
        if self.key != NEW {
            // A waker of a cell that is not gone: its drop frees nothing.
            drop(self.pool.registry.take(self.key));
        }
        if self.is_counted {
            // SAFETY: it is counted, and not used again.
            unsafe { ManuallyDrop::drop(&mut self.pool) };
        }
    }
}

impl<F> fmt::Debug for Tracked<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracked").finish_non_exhaustive()
    }
}
