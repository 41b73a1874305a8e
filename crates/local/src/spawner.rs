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
    pub fn spawn<T>(&self, future: impl Future<Output = T> + Send + 'static) -> Task<T>
    where
        T: Send + 'static,
    {
        if is_large(&future) {
            // SAFETY: the boxed future is Send.
            return unsafe { self.spawn_unchecked(boxed(future)) };
        }
        // SAFETY: the future is Send.
        unsafe { self.spawn_unchecked(future) }
    }

    /// Spawns the future that `make` returns, which need not be `Send`: `make` is called on the executor's thread.
    pub fn spawn_with<F>(&self, make: impl FnOnce() -> F + Send + 'static) -> Task<F::Output>
    where
        F: Future + 'static,
        F::Output: Send + 'static,
    {
        let future = async move { make().await };
        if is_large(&future) {
            // SAFETY: before its first poll the boxed future consists of `make` alone, which is Send.
            return unsafe { self.spawn_unchecked(boxed(future)) };
        }
        // SAFETY: before its first poll the future consists of `make` alone, which is Send.
        unsafe { self.spawn_unchecked(future) }
    }

    /// # Safety
    /// Before its first poll the future may be moved to, and dropped on, any thread.
    #[inline]
    unsafe fn spawn_unchecked<T>(&self, future: impl Future<Output = T> + 'static) -> Task<T>
    where
        T: Send + 'static,
    {
        match self.core.on_owner() {
            Some(core) => core.spawn(future),
            // SAFETY: the caller says that the future may be on any thread until its first poll.
            None => unsafe { self.core.spawn_remote(future) },
        }
    }
}

impl fmt::Debug for LocalSpawner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalSpawner")
            .field("thread", &self.thread_id())
            .finish()
    }
}
