//! The single-thread executor that is never dropped.

use alloc::boxed::Box;
use core::fmt;
use core::future::Future;
use core::ops::Deref;

use crate::executor::{End, LocalExecutor};
use crate::spawn::{LocalSpawner, Wake};
use crate::task::Task;
use crate::task::guarded::boxing_large;

/// A [`LocalExecutor`] that is never dropped: it keeps no list of its pending tasks.
///
/// It has all methods of [`LocalExecutor`]. Those that spawn take `&'static self`: leak one, or make one by
/// [`LocalExecutor::leak`].
///
/// # Examples
///
/// ```
/// use terrace_local::StaticLocalExecutor;
///
/// let executor: &'static StaticLocalExecutor = Box::leak(Box::new(StaticLocalExecutor::new()));
/// let mut task = executor.spawn(async { 6 * 7 });
/// assert!(executor.try_tick());
/// assert_eq!(task.try_take(), Some(42));
/// ```
///
/// ```compile_fail,E0597
/// let executor = terrace_local::StaticLocalExecutor::new();
/// executor.spawn(async {}).detach();
/// ```
///
/// ```compile_fail,E0277
/// fn is_send<T: Send>(_: T) {}
/// is_send(terrace_local::StaticLocalExecutor::new());
/// ```
#[repr(transparent)]
pub struct StaticLocalExecutor(LocalExecutor<'static>);

impl StaticLocalExecutor {
    /// An executor of the current thread. Allocates nothing yet. The [type](Self) has an example.
    #[must_use = "an executor runs nothing until it is driven"]
    pub const fn new() -> Self {
        Self(LocalExecutor::ending(End::Leak))
    }

    /// Spawns a task. One allocation; spawned, run and detached it takes no read-modify-write.
    /// Cancelled when the handle is dropped, unless it is [detached](Task::detach).
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_local::LocalExecutor;
    ///
    /// let executor = LocalExecutor::new().leak();
    /// let not_send = std::rc::Rc::new(42);
    /// let mut task = executor.spawn(async move { *not_send });
    /// assert!(executor.try_tick());
    /// assert_eq!(task.try_take(), Some(42));
    /// ```
    #[inline]
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn<T: 'static>(&'static self, future: impl Future<Output = T> + 'static) -> Task<T> {
        boxing_large!(|future| self.here().spawn(future))
    }

    /// As [`LocalExecutor::spawn_eager`].
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_local::LocalExecutor;
    ///
    /// let executor = LocalExecutor::new().leak();
    /// assert_eq!(executor.spawn_eager(async { 6 * 7 }).try_take(), Some(42));
    /// ```
    #[inline]
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_eager<T: 'static>(
        &'static self,
        future: impl Future<Output = T> + 'static,
    ) -> Task<T> {
        self.0.spawn_eager(future)
    }

    /// As [`LocalExecutor::spawn_many`].
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_local::LocalExecutor;
    ///
    /// let executor = LocalExecutor::new().leak();
    /// let mut tasks = Vec::new();
    /// executor.spawn_many((0..3).map(|n| async move { n }), &mut tasks);
    /// assert_eq!(executor.run_until_stalled(), 3);
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_many<T: 'static, F: Future<Output = T> + 'static>(
        &'static self,
        futures: impl IntoIterator<Item = F>,
        handles: &mut impl Extend<Task<T>>,
    ) {
        self.0.spawn_many(futures, handles);
    }

    /// Spawns a task that borrows.
    ///
    /// # Safety
    /// The task ends, or is cancelled and its future dropped, before `'a` does, and so is its output taken or dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_local::LocalExecutor;
    ///
    /// let executor = LocalExecutor::new().leak();
    /// let word = String::from("borrowed");
    /// // SAFETY: the task has ended, and its output is taken, before `word` is dropped: this thread awaits it.
    /// let task = unsafe { executor.spawn_scoped(async { word.len() }) };
    /// assert_eq!(futures_lite::future::block_on(executor.run(task)), 8);
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub unsafe fn spawn_scoped<'a, T: 'a>(
        &'static self,
        future: impl Future<Output = T> + 'a,
    ) -> Task<T> {
        // SAFETY: the caller promises that the future and its output go before `'a` ends. A box holds the same future.
        boxing_large!(|future| unsafe { self.here().spawn_scoped(future, Wake::Now) })
    }

    /// A handle that spawns onto this executor from any thread.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_local::LocalExecutor;
    ///
    /// let executor = LocalExecutor::new().leak();
    /// let spawner = executor.spawner();
    /// let task = std::thread::spawn(move || spawner.spawn(async { 6 * 7 })).join().unwrap();
    /// assert_eq!(futures_lite::future::block_on(executor.run(task)), 42);
    /// ```
    #[must_use = "a handle spawns nothing by itself"]
    pub fn spawner(&'static self) -> LocalSpawner {
        self.0.spawner()
    }
}

impl LocalExecutor<'static> {
    /// Never drops the executor. Its tasks go on; from now on it keeps no list of pending tasks.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_local::LocalExecutor::new().leak();
    /// let task = executor.spawn(async { 6 * 7 });
    /// assert_eq!(futures_lite::future::block_on(executor.run(task)), 42);
    /// ```
    #[must_use = "an executor that nobody can name runs nothing"]
    pub fn leak(mut self) -> &'static StaticLocalExecutor {
        if self.end == End::Close {
            self.end = End::Leak;
            self.here().keeps_pending.set(false);
        }
        Box::leak(Box::new(StaticLocalExecutor(self)))
    }
}

impl Deref for StaticLocalExecutor {
    type Target = LocalExecutor<'static>;

    #[inline]
    fn deref(&self) -> &LocalExecutor<'static> {
        &self.0
    }
}

impl Default for StaticLocalExecutor {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for StaticLocalExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.here().debug("StaticLocalExecutor", f)
    }
}
