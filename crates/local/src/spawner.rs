//! The handle that spawns onto an executor from any thread.

use core::fmt;
use core::future::Future;
use core::panic::{RefUnwindSafe, UnwindSafe};

use terrace_sync::Arc;

use crate::task::local::cell::LocalCore;
use crate::task::{Task, boxed, is_large};
use crate::thread_id::ThreadNumber;

/// Spawns tasks onto a single-thread executor, from any thread; they run on the executor's thread and nowhere else.
///
/// After the executor's drop, a spawn drops its future at once, and the task counts as cancelled; see
/// [`FallibleTask`](crate::FallibleTask).
///
/// # Examples
///
/// ```
/// use terrace_local::LocalExecutor;
///
/// let executor = LocalExecutor::new();
/// let spawner = executor.spawner();
/// let make = || async { *std::rc::Rc::new(42) };
/// let task = std::thread::spawn(move || spawner.spawn_with(make));
/// let task = task.join().unwrap();
/// assert_eq!(futures_lite::future::block_on(executor.run(task)), 42);
/// ```
#[doc(alias("Handle", "RemoteHandle", "SendSpawner"))]
#[derive(Clone)]
pub struct LocalSpawner {
    core: Arc<LocalCore>,
}

// A panic of a task stays in the task, so a spawner is never seen half-changed.
impl UnwindSafe for LocalSpawner {}
impl RefUnwindSafe for LocalSpawner {}

impl LocalSpawner {
    pub(crate) fn new(core: Arc<LocalCore>) -> Self {
        Self { core }
    }

    /// The id of the thread that tasks run on.
    #[must_use]
    pub fn thread_id(&self) -> ThreadNumber {
        self.core.owner()
    }

    /// Spawns a `Send` future. One allocation.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_local::LocalExecutor::new();
    /// let spawner = executor.spawner();
    /// let task = std::thread::spawn(move || spawner.spawn(async { 6 * 7 })).join().unwrap();
    /// assert_eq!(futures_lite::future::block_on(executor.run(task)), 42);
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn<T>(&self, future: impl Future<Output = T> + Send + 'static) -> Task<T>
    where
        T: Send + 'static,
    {
        self.spawn_at(future, First::InQueue)
    }

    /// As [`LocalExecutor::spawn_eager`](crate::LocalExecutor::spawn_eager) on the executor's thread. On any other thread as
    /// [`spawn`](Self::spawn).
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_local::LocalExecutor::new();
    /// let spawner = executor.spawner();
    /// assert!(spawner.spawn_eager(async {}).is_finished());
    /// let task = std::thread::spawn(move || spawner.spawn_eager(async {})).join().unwrap();
    /// assert!(!task.is_finished());
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_eager<T>(&self, future: impl Future<Output = T> + Send + 'static) -> Task<T>
    where
        T: Send + 'static,
    {
        self.spawn_at(future, First::AtSpawn)
    }

    /// Spawns the future that `make` returns, which need not be `Send`: `make` is called on the executor's thread.
    /// The type has an example.
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_with<F>(&self, make: impl FnOnce() -> F + Send + 'static) -> Task<F::Output>
    where
        F: Future + 'static,
        F::Output: Send + 'static,
    {
        self.spawn_with_at(make, First::InQueue)
    }

    /// As [`spawn_with`](Self::spawn_with). On the executor's thread it calls `make`, and polls the future once, before it
    /// returns, as [`LocalExecutor::spawn_eager`](crate::LocalExecutor::spawn_eager) does.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_local::LocalExecutor::new();
    /// let mut task = executor.spawner().spawn_eager_with(|| async { *std::rc::Rc::new(42) });
    /// assert_eq!(task.try_take(), Some(42));
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_eager_with<F>(&self, make: impl FnOnce() -> F + Send + 'static) -> Task<F::Output>
    where
        F: Future + 'static,
        F::Output: Send + 'static,
    {
        self.spawn_with_at(make, First::AtSpawn)
    }

    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn_at<T>(&self, future: impl Future<Output = T> + Send + 'static, first: First) -> Task<T>
    where
        T: Send + 'static,
    {
        if is_large(&future) {
            // SAFETY: the boxed future is Send.
            return unsafe { self.spawn_unchecked(boxed(future), first) };
        }
        // SAFETY: the future is Send.
        unsafe { self.spawn_unchecked(future, first) }
    }

    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn_with_at<F>(
        &self,
        make: impl FnOnce() -> F + Send + 'static,
        first: First,
    ) -> Task<F::Output>
    where
        F: Future + 'static,
        F::Output: Send + 'static,
    {
        let future = async move { make().await };
        if is_large(&future) {
            // SAFETY: before its first poll the boxed future consists of `make` alone, which is Send.
            return unsafe { self.spawn_unchecked(boxed(future), first) };
        }
        // SAFETY: before its first poll the future consists of `make` alone, which is Send.
        unsafe { self.spawn_unchecked(future, first) }
    }

    /// # Safety
    /// Before its first poll the future may be moved to, and dropped on, any thread.
    #[inline]
    #[cfg_attr(feature = "timeline", track_caller)]
    unsafe fn spawn_unchecked<T>(
        &self,
        future: impl Future<Output = T> + 'static,
        first: First,
    ) -> Task<T>
    where
        T: Send + 'static,
    {
        match (self.core.on_owner(), first) {
            (Some(core), First::InQueue) => core.spawn(future),
            // SAFETY: everything is 'static.
            (Some(core), First::AtSpawn) => unsafe { core.spawn_eager(future) },
            // SAFETY: the caller says that the future may be on any thread until its first poll.
            (None, _) => unsafe { self.core.spawn_remote(future) },
        }
    }
}

/// Where a task has its first poll, if its executor's thread spawns it.
#[derive(Clone, Copy)]
enum First {
    /// Out of the queue.
    InQueue,
    /// In the call that spawns it.
    AtSpawn,
}

impl fmt::Debug for LocalSpawner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalSpawner")
            .field("thread", &self.thread_id())
            .finish()
    }
}
