//! The handle that spawns onto one thread.

use std::fmt;
use std::future::Future;
use std::panic::{RefUnwindSafe, UnwindSafe};

use terrace_local::task::{self, CoreRef};
use terrace_local::{Spawn, Task, boxing_large};
use terrace_sync::Arc;

use crate::id::ThreadId;
use crate::pinned::{self, Pinned};

/// Spawns tasks, from any thread, onto the thread that made it. They run on that thread only.
///
/// A thread runs its tasks where it waits (worker loops, scopes and `block_on` of the layers above) or where it calls
/// [`tick`](crate::tick). A spawn wakes it there. Tasks for a thread that does neither wait.
///
/// A thread that ends drops its tasks. A later spawn drops its future at once, and the task counts as cancelled.
///
/// # Examples
///
/// ```
/// use terrace_thread::ThreadSpawner;
///
/// let here = ThreadSpawner::current();
/// let spawned = std::thread::spawn(move || {
///     let id = terrace_thread::id();
///     (id, here.spawn(async { terrace_thread::id() }))
/// });
/// let (there, mut task) = spawned.join().unwrap();
/// while terrace_thread::tick() {}
/// assert_eq!(task.try_take(), Some(terrace_thread::id()));
/// assert_ne!(there, terrace_thread::id());
/// ```
#[doc(alias("Handle", "ThreadExecutor"))]
#[derive(Clone)]
pub struct ThreadSpawner {
    pinned: Arc<Pinned>,
}

// A panic of a task stays in the task, so a spawner is never seen half-changed.
impl UnwindSafe for ThreadSpawner {}
impl RefUnwindSafe for ThreadSpawner {}

impl ThreadSpawner {
    /// A spawner onto the current thread.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_thread::{ThreadSpawner, id};
    ///
    /// assert_eq!(ThreadSpawner::current().thread_id(), id());
    /// ```
    #[must_use = "the call only reads a value"]
    pub fn current() -> Self {
        Self {
            pinned: pinned::current(),
        }
    }

    /// A spawner onto a thread in a scope.
    ///
    /// # Safety
    /// Since before the core was [lent](pinned::lend), a scope has been open on that thread.
    #[doc(hidden)]
    #[must_use = "the call only reads a value"]
    pub unsafe fn of(lent: pinned::Lent) -> Self {
        Self {
            // SAFETY: the caller's promise.
            pinned: unsafe { lent.pinned() },
        }
    }

    /// The id of the thread that tasks run on. [`current`](Self::current) has an example.
    #[must_use = "the call only reads a value"]
    pub fn thread_id(&self) -> ThreadId {
        ThreadId(self.pinned.core.owner())
    }

    /// Spawns a `Send` future. One allocation.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_thread::{ThreadSpawner, tick};
    ///
    /// let here = ThreadSpawner::current();
    /// let mut task = std::thread::spawn(move || here.spawn(async { 6 * 7 })).join().unwrap();
    /// assert!(tick());
    /// assert_eq!(task.try_take(), Some(42));
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn<T>(&self, future: impl Future<Output = T> + Send + 'static) -> Task<T>
    where
        T: Send + 'static,
    {
        boxing_large!(|future| self.pinned.spawner.spawn(future))
    }

    /// As [`spawn`](Self::spawn). On the thread itself it polls the future once, before it returns, as
    /// [`LocalExecutor::spawn_eager`](terrace_local::LocalExecutor::spawn_eager) does.
    ///
    /// # Examples
    ///
    /// ```
    /// let here = terrace_thread::ThreadSpawner::current();
    /// assert_eq!(here.spawn_eager(async { 6 * 7 }).try_take(), Some(42));
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_eager<T>(&self, future: impl Future<Output = T> + Send + 'static) -> Task<T>
    where
        T: Send + 'static,
    {
        boxing_large!(|future| self.pinned.spawner.spawn_eager(future))
    }

    /// As [`spawn_with`](Self::spawn_with). On the thread itself it calls `make`, and polls the future once, before it returns.
    ///
    /// # Examples
    ///
    /// ```
    /// let here = terrace_thread::ThreadSpawner::current();
    /// let mut task = here.spawn_eager_with(|| async { *std::rc::Rc::new(42) });
    /// assert_eq!(task.try_take(), Some(42));
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_eager_with<F>(&self, make: impl FnOnce() -> F + Send + 'static) -> Task<F::Output>
    where
        F: Future + 'static,
        F::Output: Send + 'static,
    {
        self.pinned.spawner.spawn_eager_with(make)
    }

    /// Spawns the future that `make` returns, which need not be `Send`: `make` is called on the target thread.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::rc::Rc;
    /// use terrace_thread::{ThreadSpawner, tick};
    ///
    /// let here = ThreadSpawner::current();
    /// let make = || async { *Rc::new(42) };
    /// let mut task = std::thread::spawn(move || here.spawn_with(make)).join().unwrap();
    /// assert!(tick());
    /// assert_eq!(task.try_take(), Some(42));
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_with<F>(&self, make: impl FnOnce() -> F + Send + 'static) -> Task<F::Output>
    where
        F: Future + 'static,
        F::Output: Send + 'static,
    {
        self.pinned.spawner.spawn_with(make)
    }

    /// As [`spawn`](Self::spawn). The thread runs the task also where it waits inside of another one.
    #[doc(hidden)]
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn call<T>(&self, future: impl Future<Output = T> + Send + 'static) -> Task<T>
    where
        T: Send + 'static,
    {
        // SAFETY: the future is `Send`, and nothing is borrowed.
        let task = unsafe { self.queue_call(future) };
        self.tell_of_calls();
        task
    }

    /// As [`call`](Self::call), in two steps: the caller calls [`tell_of_calls`](Self::tell_of_calls) afterwards. This one runs no code of
    /// the program, so the caller may hold a lock.
    ///
    /// # Safety
    /// The future is `Send`, or this thread is the calling one. What it borrows lives until it has been dropped, and its output, too.
    #[doc(hidden)]
    #[cfg_attr(feature = "timeline", track_caller)]
    pub unsafe fn queue_call<T: Send>(&self, future: impl Future<Output = T>) -> Task<T> {
        let core = CoreRef::Shared(Arc::clone(&self.pinned));
        // SAFETY: future and output are `Send`, so the task may run and be dropped anywhere; or this thread made the future, and runs
        // and drops it. What they borrow lives for as long (the caller's promise).
        let (runnable, task) = unsafe { task::build(core, future) };
        self.pinned.children.push(runnable);
        task
    }

    /// Wakes the thread for the calls that were queued.
    #[doc(hidden)]
    pub fn tell_of_calls(&self) {
        self.pinned.tell_of_calls();
    }

    /// Wakes the thread where it waits.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_thread::{ThreadSpawner, park};
    ///
    /// let here = ThreadSpawner::current();
    /// let waker = std::thread::spawn(move || here.notify());
    /// park();
    /// waker.join().unwrap();
    /// ```
    #[inline]
    pub fn notify(&self) {
        self.pinned.notify();
    }
}

impl<F: Future<Output: Send + 'static> + Send + 'static> Spawn<F> for ThreadSpawner {
    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn_task(&self, future: F) -> Task<F::Output> {
        self.spawn(future)
    }

    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn_task_eager(&self, future: F) -> Task<F::Output> {
        self.spawn_eager(future)
    }
}

impl fmt::Debug for ThreadSpawner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadSpawner")
            .field("thread", &self.thread_id())
            .finish()
    }
}
