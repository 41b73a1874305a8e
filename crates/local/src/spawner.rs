//! The handle that spawns onto an executor from any thread.

use core::fmt;
use core::future::Future;
use core::ops::Deref;
use core::panic::{RefUnwindSafe, UnwindSafe};

use terrace_sync::Arc;

use crate::core::LocalCore;
use crate::task::{self, Task};
use crate::thread_id::ThreadNumber;

/// Spawns tasks onto a single-thread executor, from any thread; they run on the executor's thread and nowhere else.
///
/// When the executor has been dropped, what is spawned later is dropped by the caller and counts as cancelled; see
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
    core: Reference,
}

#[derive(Clone)]
enum Reference {
    Counted(Arc<LocalCore>),
    Static(&'static LocalCore),
}

impl Deref for Reference {
    type Target = LocalCore;

    #[inline]
    fn deref(&self) -> &LocalCore {
        match self {
            Self::Counted(core) => core,
            Self::Static(core) => core,
        }
    }
}

// A panic of a task stays in the task, so a spawner is never seen half-changed.
impl UnwindSafe for LocalSpawner {}
impl RefUnwindSafe for LocalSpawner {}

impl LocalSpawner {
    /// A spawner onto `core`, which came out of an [`OwnedCore`](crate::OwnedCore).
    pub(crate) fn counted(core: Arc<LocalCore>) -> Self {
        Self {
            core: Reference::Counted(core),
        }
    }

    pub(crate) fn of_static(core: &'static LocalCore) -> Self {
        Self {
            core: Reference::Static(core),
        }
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
        if task::is_large(&future) {
            // SAFETY: as below.
            return unsafe { self.spawn_unchecked(task::boxed(future)) };
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
        if task::is_large(&future) {
            // SAFETY: as below.
            return unsafe { self.spawn_unchecked(task::boxed(future)) };
        }
        // SAFETY: until its first poll, on the executor's thread, the future consists of `make` alone, which is Send;
        // later it is dropped on that thread only.
        unsafe { self.spawn_unchecked(future) }
    }

    /// # Safety
    /// Before its first poll the future may be moved to, and dropped on, any thread.
    #[inline]
    unsafe fn spawn_unchecked<T>(&self, future: impl Future<Output = T> + 'static) -> Task<T>
    where
        T: Send + 'static,
    {
        if self.core.is_here() {
            // SAFETY: this is the executor's thread; everything is 'static; this handle keeps the core in place.
            unsafe { self.core.spawn_owner(future) }
        } else {
            // SAFETY: forwarded to the caller; this handle keeps the core in place.
            unsafe { self.core.spawn_foreign(future) }
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
