//! The executor that can be dropped.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};

use terrace_local::task::{CoreRef, Task};
use terrace_local::{Spawn, boxing_large};
use terrace_sync::{Arc, OnceLock};

use crate::foreign::{self, Scheduler, Starts};
use crate::parts::current::{Current, ExecutorId, current};
use crate::parts::injector::Lane;
use crate::pool::Shared;
use crate::pool::runner::reference;
use crate::pool::schedule::{CoreOf, Usual};
use crate::pool::spawn::spawn_on;
use crate::run::driver;
use crate::run::owner::Pool;
use crate::spawner::Spawner;

/// A work-stealing executor of `Send` futures.
///
/// An executor made by [`new`](Self::new) has no threads: its tasks run where [`run`](Self::run), [`tick`](Self::tick)
/// or [`try_tick`](Self::try_tick) are called, on any number of threads. An executor made by a
/// [`Builder`](crate::Builder) also has worker threads of its own.
///
/// Dropping it lets the workers finish the polls they are in, ends and joins them, and drops every unfinished task. It
/// does not join the current thread, if that is one of the executor's own workers.
///
/// A thread may still be in the poll of one of its tasks then. It is a worker that drops its own executor, or a
/// thread that runs tasks of an executor without workers while it waits. That thread drops the tasks when the poll
/// ends. If a poll never ends, because the process exits in it, the tasks are leaked.
///
/// The drop waits as long as these polls take. Two executors that are dropped in each other's tasks wait for each other
/// without end: a worker of each is inside the drop of the other. The same holds for longer circles. So drop at least
/// one of such executors outside of the tasks of the others. A task that drops its own executor waits without end if a
/// worker blocks on that task.
///
/// Worker threads run freely, so what they run must own its data: they exist only for
/// `Executor<'static>`.
///
/// ```compile_fail,E0597
/// let word = String::from("borrowed");
/// let executor = terrace_executor::Builder::new().workers(1).build();
/// let task = executor.spawn(async { word.len() });
/// drop(word);
/// ```
///
/// # Examples
///
/// ```
/// let executor = terrace_executor::Builder::new().workers(2).build();
/// let task = executor.spawn(async { 6 * 7 });
/// assert_eq!(terrace_executor::block_on(task), 42);
/// ```
///
/// Without workers, tasks may borrow:
///
/// ```
/// let word = String::from("borrowed");
/// let executor = terrace_executor::Executor::new();
/// let task = executor.spawn(async { word.len() });
/// assert_eq!(terrace_executor::block_on(executor.run(task)), 8);
/// ```
///
/// Declare what they borrow before the executor: it drops its unfinished tasks in its own drop.
///
/// ```compile_fail,E0597
/// let executor = terrace_executor::Executor::new();
/// let word = String::from("borrowed");
/// executor.spawn(async { word.len() }).detach();
/// ```
///
/// An executor of short-lived tasks is neither one of long-lived tasks nor the reverse:
///
/// ```compile_fail,E0521
/// fn shorter<'a>(executor: &'a terrace_executor::Executor<'static>) -> &'a terrace_executor::Executor<'a> {
///     executor
/// }
/// ```
#[doc(alias("Runtime", "ThreadPool"))]
pub struct Executor<'a> {
    /// Created at first use.
    pool: OnceLock<Pool>,
    _futures: Futures<'a>,
}

/// The futures of an executor, which its drop drops: what they borrow has to outlive the executor, strictly.
struct Futures<'a>(PhantomData<fn(&'a ()) -> &'a ()>);

impl Drop for Futures<'_> {
    /// Does nothing: with a destructor the compiler takes `'a` for used when the executor is dropped. The pool knows
    /// nothing of `'a`.
    fn drop(&mut self) {}
}

impl UnwindSafe for Executor<'_> {}
impl RefUnwindSafe for Executor<'_> {}

impl Executor<'static> {
    pub(crate) fn from_pool(pool: Pool) -> Self {
        let cell = OnceLock::new();
        let Ok(()) = cell.set(pool) else {
            unreachable!("the cell is new")
        };
        Self {
            pool: cell,
            _futures: Futures(PhantomData),
        }
    }
}

impl<'a> Executor<'a> {
    terrace_sync::const_fn! {
        /// An executor without worker threads: it runs tasks where a thread drives it, by [`run`](Self::run), [`tick`](Self::tick) or
        /// [`try_tick`](Self::try_tick). A thread that waits for a task in [`block_on`](fn@crate::block_on) does not.
        /// [`Builder`](crate::Builder) makes one with workers, or one without that waiting threads drive, too.
        ///
        /// # Examples
        ///
        /// ```
        /// static EXECUTOR: terrace_executor::Executor<'static> = terrace_executor::Executor::new();
        ///
        /// EXECUTOR.spawn(async { println!("polled by the thread that ticks") }).detach();
        /// assert!(EXECUTOR.try_tick());
        /// ```
        pub const fn new() -> Self {
            Self { pool: OnceLock::new(), _futures: Futures(PhantomData) }
        }
    }

    #[inline]
    pub(crate) fn pool(&self) -> &Pool {
        self.pool.get_or_init(Pool::bare)
    }

    #[inline]
    pub(crate) fn shared(&self) -> &Shared {
        &self.pool().shared
    }

    fn core(&self) -> CoreRef<CoreOf<Usual>> {
        CoreRef::Shared(CoreOf::counted(reference(&self.pool().shared)))
    }

    /// Its pool, if it was ever used.
    pub(crate) fn used(&self) -> Option<&Shared> {
        self.pool.get().map(|pool| &*pool.shared)
    }

    /// Its `Debug` output under this name.
    pub(crate) fn describe(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.used() {
            Some(pool) => pool.describe(name, f),
            None => f
                .debug_struct(name)
                .field("active", &0)
                .finish_non_exhaustive(),
        }
    }

    /// The worker, or `run` future, of this executor that polls the caller. On any other thread, some worker of it, the
    /// same one for every call of a thread. `None` there if it has no workers.
    ///
    /// Cost on a worker: that of [`current`](fn@crate::current) and a comparison.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Builder::new().workers(2).build();
    /// let any = executor.current_or_any().expect("it has workers");
    /// assert!(any.worker() < 2);
    /// assert!(terrace_executor::Executor::new().current_or_any().is_none());
    /// ```
    #[inline]
    #[must_use = "the call only reads a value"]
    pub fn current_or_any(&self) -> Option<Current> {
        let pool = self.shared();
        match current() {
            Some(current) if current.executor() == pool.id && !current.is_visitor() => {
                Some(current)
            }
            _ => {
                let workers = pool.workers();
                let thread = terrace_thread::id().get() as usize;
                (workers > 0).then(|| Current::of(pool.id, thread % workers))
            }
        }
    }

    /// Its id, which no other executor of the program has had.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::Executor;
    ///
    /// let (one, other) = (Executor::new(), Executor::new());
    /// assert_eq!(one.spawner().executor(), one.id());
    /// assert_ne!(one.id(), other.id());
    /// ```
    #[must_use = "the call only reads a value"]
    pub fn id(&self) -> ExecutorId {
        self.shared().id
    }

    /// Whether every task that was spawned has ended: is done, has panicked, or was cancelled and dropped.
    ///
    /// Cost: two relaxed loads a worker. A task that was spawned before the call and has not ended when it returns is
    /// always seen.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Executor::new();
    /// executor.spawn(async {}).detach();
    /// assert!(!executor.is_empty());
    /// executor.try_tick();
    /// assert!(executor.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.shared().seats.active() == 0
    }

    /// Spawns a task. If a worker or `run` future of this executor polls the caller, the task goes onto its own queue,
    /// else into the injector.
    ///
    /// One allocation; the injector allocates while it grows. The task is cancelled when the returned handle is dropped, unless it
    /// is [detached](Task::detach).
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, block_on};
    ///
    /// let executor = Builder::new().workers(2).build();
    /// let squares: Vec<_> = (1..=3).map(|n| executor.spawn(async move { n * n })).collect();
    /// let squares = squares.into_iter().map(block_on);
    /// assert_eq!(squares.collect::<Vec<_>>(), [1, 4, 9]);
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn<T: Send + 'a>(&self, future: impl Future<Output = T> + Send + 'a) -> Task<T> {
        boxing_large!(|future| {
            // SAFETY: future and output are Send; they live for `'a`, and the executor drops its tasks
            // before `'a` ends, in its own drop.
            unsafe { self.shared().spawn_task(self.core(), future) }
        })
    }

    /// Spawns a task and polls it once, on the calling thread, before this method returns. A task that this ends never sees a
    /// queue: its handle is finished. A task that is pending then is as any other. For children that are mostly done at once,
    /// out of a cache, a pool or a buffered channel.
    ///
    /// The task is queued, as [`spawn`](Self::spawn) does it, if the thread is in the middle of 16 eager polls, each spawned by
    /// the one before. So is each one after 200 eager children of a turn. So a task that spawns and awaits eager children in a
    /// loop gives other tasks their turn. After 128 children that were pending, all further ones of the turn of a worker or `run`
    /// future are queued, so that other threads find some.
    ///
    /// In the child's first poll [`current`](fn@crate::current) is that of the caller, on the normal lane, if the caller is a task
    /// of this executor. Else it is a [visitor](Current::VISITOR) of this executor. The poll, and what it wakes, runs inside of this call. So the caller holds no lock
    /// that the child may want. A panic of the poll is the task's, as ever.
    ///
    /// Cost of a child that is done at once: no queue, no wake. A thread whose last four eager children all were done at once
    /// expects it of the next one, and polls that before it makes a cell. Such a child allocates nothing: the thread keeps the memory
    /// of the one before, one block a size class, until it has nothing to do, or ends. If the child is pending all the same, it costs
    /// two allocations, and a third if its poll has used its waker. All other children cost one. On a thread that is no worker and in
    /// no [`run`](Self::run), each child also takes two read-modify-writes, which count it.
    ///
    /// Source: eager tasks of CPython 3.12 (gh-104144).
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Executor::new();
    /// let mut task = executor.spawn_eager(async { 6 * 7 });
    /// assert_eq!(task.try_take(), Some(42));
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_eager<T: Send + 'a>(
        &self,
        future: impl Future<Output = T> + Send + 'a,
    ) -> Task<T> {
        boxing_large!(|future| {
            // SAFETY: future and output are Send; they live for `'a`, and the executor drops its tasks
            // before `'a` ends, in its own drop.
            unsafe { self.shared().spawn_eager(|| self.core(), future) }
        })
    }

    /// Spawns a task on a lane: to run before all others, as [`spawn`](Self::spawn) does, or after all others and never
    /// on all workers at once. Lanes other than the normal one are shared queues, also for tasks that workers spawn and
    /// wake.
    ///
    /// Costs as much as a remote [`spawn`](Self::spawn); a background task costs two read-modify-writes more a poll.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, Lane, block_on, current};
    ///
    /// let executor = Builder::new().workers(2).build();
    /// let task = executor.spawn_on(Lane::Background, async { current().expect("on a worker").lane() });
    /// assert_eq!(block_on(task), Lane::Background);
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_on<T: Send + 'a>(
        &self,
        lane: Lane,
        future: impl Future<Output = T> + Send + 'a,
    ) -> Task<T> {
        boxing_large!(|future| match lane {
            Lane::Normal => self.spawn(future),
            // SAFETY: future and output are Send; they live for `'a`, and the executor drops its tasks
            // before `'a` ends, in its own drop.
            Lane::High | Lane::Background => unsafe { spawn_on(&self.pool().shared, lane, future) },
        })
    }

    /// Spawns a batch of tasks, whose handles go to `handles` as they are made. It wakes workers and drivers for the
    /// batch as a whole: two at first. Each woken worker wakes two more, each woken driver one.
    ///
    /// It holds no lock while the iterator or `handles` run. If one of them panics, the tasks spawned before run as if
    /// spawned one by one.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Builder::new().workers(2).build();
    /// let mut tasks = Vec::new();
    /// executor.spawn_many((0..100).map(|i| async move { i }), &mut tasks);
    /// assert_eq!(tasks.into_iter().map(terrace_executor::block_on).sum::<i32>(), 4950);
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_many<T: Send + 'a, F: Future<Output = T> + Send + 'a>(
        &self,
        futures: impl IntoIterator<Item = F>,
        handles: &mut impl Extend<Task<F::Output>>,
    ) {
        // SAFETY: futures and outputs are Send and live for `'a`; the executor drops its tasks
        // before `'a` ends, in its own drop.
        unsafe { self.shared().spawn_tasks(|| self.core(), futures, handles) }
    }

    /// A handle that spawns onto this executor from any place. It keeps neither the executor nor a thread or task of it alive, so a
    /// task may keep one.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, block_on};
    ///
    /// let executor = Builder::new().workers(1).build();
    /// let spawner = executor.spawner();
    /// let task = executor.spawn(async move { spawner.spawn(async { 6 * 7 }).await });
    /// assert_eq!(block_on(task), 42);
    /// ```
    #[must_use = "a handle spawns nothing by itself"]
    pub fn spawner(&self) -> Spawner {
        Spawner {
            pool: Arc::clone(&self.pool().shared),
        }
    }

    /// A handle that queues runnables of cells which the executor did not make.
    ///
    /// # Examples
    ///
    /// ```
    /// use async_task::{Runnable, ScheduleInfo, WithInfo};
    ///
    /// let executor = terrace_executor::Executor::new();
    /// let scheduler = executor.scheduler();
    /// let schedule = move |runnable: Runnable, info: ScheduleInfo| scheduler.schedule(runnable, info);
    /// let (runnable, task) = async_task::spawn(async { 6 * 7 }, WithInfo(schedule));
    /// runnable.schedule();
    /// assert!(executor.try_tick());
    /// assert!(task.is_finished());
    /// ```
    #[inline]
    pub fn scheduler(&self) -> Scheduler {
        Scheduler {
            pool: Arc::clone(&self.pool().shared),
        }
    }

    /// As [`Scheduler::start`].
    ///
    /// # Examples
    ///
    /// ```
    /// use async_task::{Runnable, ScheduleInfo, WithInfo};
    ///
    /// let executor = terrace_executor::Executor::new();
    /// let scheduler = executor.scheduler();
    /// let schedule = move |runnable: Runnable, info: ScheduleInfo| scheduler.schedule(runnable, info);
    /// let (runnable, task) = async_task::spawn(async { 6 * 7 }, WithInfo(schedule));
    /// executor.start(runnable);
    /// assert!(executor.try_tick());
    /// assert!(task.is_finished());
    /// ```
    #[inline]
    pub fn start(&self, runnable: async_task::Runnable) {
        foreign::start(self.shared(), runnable);
    }

    /// As [`Scheduler::start_many`].
    ///
    /// # Examples
    ///
    /// ```
    /// use async_task::{Runnable, ScheduleInfo, WithInfo};
    ///
    /// let executor = terrace_executor::Builder::new().workers(1).build();
    /// let mut batch = executor.start_many();
    /// let tasks: Vec<_> = (0..3)
    ///     .map(|n| {
    ///         let scheduler = executor.scheduler();
    ///         let schedule = move |runnable: Runnable, info: ScheduleInfo| scheduler.schedule(runnable, info);
    ///         let (runnable, task) = async_task::spawn(async move { n }, WithInfo(schedule));
    ///         batch.start(runnable);
    ///         task
    ///     })
    ///     .collect();
    /// drop(batch);
    /// assert_eq!(tasks.into_iter().map(terrace_executor::block_on).sum::<i32>(), 3);
    /// ```
    pub fn start_many(&self) -> Starts<'_> {
        Starts::new(self.shared())
    }

    /// Polls one queued task on the current thread, which may be any; false if none is queued. For frame and event
    /// loops that drive an executor themselves.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Executor::new();
    /// let task = executor.spawn(async { 6 * 7 });
    /// while executor.try_tick() {}
    /// assert!(task.is_finished());
    /// ```
    pub fn try_tick(&self) -> bool {
        driver::try_tick(self.shared())
    }

    /// Waits until a task is queued, and polls it once.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Executor, block_on};
    ///
    /// let executor = Executor::new();
    /// let task = executor.spawn(async { 6 * 7 });
    /// block_on(executor.tick());
    /// assert!(task.is_finished());
    /// ```
    pub async fn tick(&self) {
        driver::tick(self.shared()).await;
    }

    /// Runs tasks until `future` is done, beside the executor's workers if it has any. Threads may poll any number of
    /// these futures at once. Each can steal the tasks that another has queued for itself, also while that one is not
    /// polled.
    ///
    /// A `run` future that was woken for a task, and is then neither polled nor dropped, delays that task until the
    /// next one is queued. If several are in that state, publishers wake the next one after a power of two of new
    /// tasks, or a multiple of 64.
    ///
    /// Cost: if other `run` futures are about, a poll that runs out of tasks looks around for 5 µs before it returns.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Executor, block_on};
    ///
    /// let executor = Executor::new();
    /// let sum = executor.run(async {
    ///     let (two, three) = (executor.spawn(async { 2 }), executor.spawn(async { 3 }));
    ///     two.await + three.await
    /// });
    /// assert_eq!(block_on(sum), 5);
    /// ```
    // No `async fn`, whose future would hold the other one twice.
    pub fn run<T>(&self, future: impl Future<Output = T>) -> impl Future<Output = T> {
        driver::run(self.shared(), future)
    }
}

impl<'a, F: Future<Output: Send + 'a> + Send + 'a> Spawn<F> for &Executor<'a> {
    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn_task(&self, future: F) -> Task<F::Output> {
        self.spawn(future)
    }

    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn_task_eager(&self, future: F) -> Task<F::Output> {
        self.spawn_eager(future)
    }
}

impl Default for Executor<'_> {
    /// The same as [`new`](Self::new): without worker threads.
    fn default() -> Self {
        Self::new()
    }
}

/// Made for an executor that hangs: it takes relaxed loads and no lock. It says what lies in its queues and which
/// threads sleep. For each open scope it says how many children are pending, and how many of these wait for a thread.
/// The body is one while it runs. It also says whether the scope's waiter sleeps.
impl fmt::Debug for Executor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe("Executor", f)
    }
}
