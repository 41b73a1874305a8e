//! The executor that lives as long as the program.

use std::fmt;
use std::future::Future;
use std::ops::Deref;

use terrace_local::task::{CoreRef, Task};
use terrace_local::{Spawn, boxing_large};

use crate::executor::Executor;
use crate::foreign::StaticScheduler;
use crate::parts::injector::Lane;
use crate::pool::schedule::{CoreOf, Unregistered};

/// An executor that lives as long as the program: [`spawn`](Self::spawn) counts no references and keeps no
/// list of tasks.
///
/// It sits in a `static`, or [`Executor::leak`](crate::Executor::leak) or
/// [`Builder::try_build_static`](crate::Builder::try_build_static) makes it. It is never dropped, and so drops no
/// tasks; [`shutdown`](Executor::shutdown) can end its threads. It has its own methods to spawn; all others are
/// [`Executor`]'s.
///
/// # Examples
///
/// ```
/// static EXECUTOR: terrace_executor::StaticExecutor = terrace_executor::StaticExecutor::new();
///
/// let task = EXECUTOR.spawn(async { 6 * 7 });
/// assert_eq!(terrace_executor::block_on(EXECUTOR.run(task)), 42);
/// ```
#[repr(transparent)]
pub struct StaticExecutor(Executor<'static>);

impl Executor<'static> {
    /// Leaks the executor. Spawning on the returned one counts no references and keeps no list of tasks.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Executor::new().leak();
    /// let task = executor.spawn(async { 6 * 7 });
    /// assert_eq!(terrace_executor::block_on(executor.run(task)), 42);
    /// ```
    pub fn leak(self) -> &'static StaticExecutor {
        Box::leak(Box::new(StaticExecutor(self)))
    }

    /// The same executor, for spawns that count no references and keep no list of tasks: a borrow for the life of the program shows that it is never
    /// dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::LazyLock;
    /// use terrace_executor::{Builder, Executor};
    ///
    /// static EXECUTOR: LazyLock<Executor<'static>> = LazyLock::new(|| Builder::new().workers(1).build());
    ///
    /// let task = EXECUTOR.as_static().spawn(async { 6 * 7 });
    /// assert_eq!(terrace_executor::block_on(task), 42);
    /// ```
    pub fn as_static(&'static self) -> &'static StaticExecutor {
        let this: *const Self = self;
        // SAFETY: `StaticExecutor` is a transparent wrapper of this type, and `self` is valid for as long as the program runs.
        unsafe { &*this.cast::<StaticExecutor>() }
    }
}

impl StaticExecutor {
    terrace_sync::const_fn! {
        /// An executor without worker threads; [`set_workers`](Executor::set_workers) starts some.
        ///
        /// # Examples
        ///
        /// ```
        /// use terrace_executor::{StaticExecutor, block_on};
        ///
        /// static EXECUTOR: StaticExecutor = StaticExecutor::new();
        ///
        /// EXECUTOR.set_workers(1)?;
        /// assert_eq!(block_on(EXECUTOR.spawn(async { 6 * 7 })), 42);
        /// # EXECUTOR.set_workers(0)?;
        /// # Ok::<(), std::io::Error>(())
        /// ```
        pub const fn new() -> Self {
            Self(Executor::new())
        }
    }

    #[inline]
    fn core(&'static self) -> CoreRef<CoreOf<Unregistered>> {
        CoreRef::Static(CoreOf::of(self.shared()))
    }

    /// A handle that queues runnables of cells which the executor did not make.
    ///
    /// # Examples
    ///
    /// ```
    /// use async_task::{Runnable, ScheduleInfo, WithInfo};
    /// use terrace_executor::StaticExecutor;
    ///
    /// static EXECUTOR: StaticExecutor = StaticExecutor::new();
    ///
    /// fn schedule(runnable: Runnable, info: ScheduleInfo) {
    ///     EXECUTOR.scheduler().schedule(runnable, info);
    /// }
    ///
    /// let (runnable, task) = async_task::spawn(async { 6 * 7 }, WithInfo(schedule));
    /// runnable.schedule();
    /// assert!(EXECUTOR.try_tick() && task.is_finished());
    /// ```
    #[inline]
    pub fn scheduler(&'static self) -> StaticScheduler {
        StaticScheduler {
            pool: self.shared(),
        }
    }

    /// Spawns a task, as [`Executor::spawn`](crate::Executor::spawn) does. One allocation, no lock, no reference count.
    ///
    /// # Examples
    ///
    /// ```
    /// static EXECUTOR: terrace_executor::StaticExecutor = terrace_executor::StaticExecutor::new();
    ///
    /// let task = EXECUTOR.spawn(async { 6 * 7 });
    /// assert!(EXECUTOR.try_tick());
    /// assert!(task.is_finished());
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn<T: Send + 'static>(
        &'static self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        boxing_large!(|future| {
            // SAFETY: the future is 'static.
            unsafe { self.spawn_scoped(future) }
        })
    }

    /// Spawns a task that may borrow.
    ///
    /// # Safety
    /// The task has ended, or was cancelled and its future dropped, before `'a` ends.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{StaticExecutor, block_on};
    ///
    /// static EXECUTOR: StaticExecutor = StaticExecutor::new();
    ///
    /// let word = String::from("borrowed");
    /// // SAFETY: the task has ended before `word` is dropped, as this thread awaits it.
    /// let task = unsafe { EXECUTOR.spawn_scoped(async { word.len() }) };
    /// assert_eq!(block_on(EXECUTOR.run(task)), 8);
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub unsafe fn spawn_scoped<'a, T: Send + 'a>(
        &'static self,
        future: impl Future<Output = T> + Send + 'a,
    ) -> Task<T> {
        boxing_large!(|future| {
            // SAFETY: future and output are Send; what they borrow is the caller's promise.
            unsafe { self.shared().spawn_task(self.core(), future) }
        })
    }

    /// As [`Executor::spawn_eager`](crate::Executor::spawn_eager), without reference counts.
    ///
    /// # Examples
    ///
    /// ```
    /// static EXECUTOR: terrace_executor::StaticExecutor = terrace_executor::StaticExecutor::new();
    ///
    /// assert_eq!(EXECUTOR.spawn_eager(async { 6 * 7 }).try_take(), Some(42));
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_eager<T: Send + 'static>(
        &'static self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        boxing_large!(|future| {
            // SAFETY: future and output are Send and 'static.
            unsafe { self.shared().spawn_eager(|| self.core(), future) }
        })
    }

    /// As [`Executor::spawn_on`](crate::Executor::spawn_on). A task of the high or the background lane counts a reference and is
    /// in the list of tasks, as one of an [`Executor`] is.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Lane, StaticExecutor};
    ///
    /// static EXECUTOR: StaticExecutor = StaticExecutor::new();
    ///
    /// let normal = EXECUTOR.spawn(async {});
    /// let high = EXECUTOR.spawn_on(Lane::High, async {});
    /// assert!(EXECUTOR.try_tick());
    /// assert!(high.is_finished() && !normal.is_finished());
    /// # EXECUTOR.try_tick();
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_on<T: Send + 'static>(
        &'static self,
        lane: Lane,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        boxing_large!(|future| match lane {
            Lane::Normal => self.spawn(future),
            Lane::High | Lane::Background => self.0.spawn_on(lane, future),
        })
    }

    /// As [`Executor::spawn_many`](crate::Executor::spawn_many).
    ///
    /// # Examples
    ///
    /// ```
    /// static EXECUTOR: terrace_executor::StaticExecutor = terrace_executor::StaticExecutor::new();
    ///
    /// let mut tasks = Vec::new();
    /// EXECUTOR.spawn_many((0..3).map(|n| async move { n }), &mut tasks);
    /// while EXECUTOR.try_tick() {}
    /// assert!(tasks.iter().all(|task| task.is_finished()));
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_many<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
        &'static self,
        futures: impl IntoIterator<Item = F>,
        handles: &mut impl Extend<Task<F::Output>>,
    ) {
        // SAFETY: futures and outputs are Send and 'static.
        unsafe { self.shared().spawn_tasks(|| self.core(), futures, handles) }
    }
}

impl<F: Future<Output: Send + 'static> + Send + 'static> Spawn<F> for &'static StaticExecutor {
    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn_task(&self, future: F) -> Task<F::Output> {
        StaticExecutor::spawn(self, future)
    }

    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn_task_eager(&self, future: F) -> Task<F::Output> {
        StaticExecutor::spawn_eager(self, future)
    }
}

impl Deref for StaticExecutor {
    type Target = Executor<'static>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Default for StaticExecutor {
    /// The same as [`new`](Self::new): without worker threads.
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for StaticExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe("StaticExecutor", f)
    }
}
