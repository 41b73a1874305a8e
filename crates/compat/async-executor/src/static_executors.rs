//! The executors that are never dropped.

use std::cell::UnsafeCell;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr;

use async_task::{Builder, Runnable, ScheduleInfo, Task, WithInfo};

use crate::executors::{Executor, LocalExecutor};

impl Executor<'static> {
    /// Never drops the executor. Its tasks go on.
    ///
    /// ```
    /// use async_executor::Executor;
    /// use futures_lite::future;
    ///
    /// let executor = Executor::new().leak();
    /// let task = executor.spawn(async { 6 * 7 });
    /// assert_eq!(future::block_on(executor.run(task)), 42);
    /// ```
    pub fn leak(self) -> &'static StaticExecutor {
        let leaked = self.pool.leak();
        // SAFETY: `StaticExecutor` is a transparent wrapper of it.
        unsafe { &*ptr::from_ref(leaked).cast::<StaticExecutor>() }
    }
}

impl LocalExecutor<'static> {
    /// Never drops the executor. Its tasks go on.
    ///
    /// ```
    /// use async_executor::LocalExecutor;
    /// use futures_lite::future;
    ///
    /// let executor = LocalExecutor::new().leak();
    /// let task = executor.spawn(async { 6 * 7 });
    /// assert_eq!(future::block_on(executor.run(task)), 42);
    /// ```
    pub fn leak(self) -> &'static StaticLocalExecutor {
        let leaked = self.inner.leak();
        // SAFETY: `StaticLocalExecutor` is a transparent wrapper of it. The reference is neither Send nor Sync, so it stays on the
        // thread of the tasks.
        unsafe { &*ptr::from_ref(leaked).cast::<StaticLocalExecutor>() }
    }
}

/// An [`Executor`] that is never dropped: it keeps no list of its tasks, and a spawn counts no reference.
///
/// ```
/// use async_executor::StaticExecutor;
///
/// static EXECUTOR: StaticExecutor = StaticExecutor::new();
///
/// EXECUTOR.spawn(async { println!("polled by the thread that ticks") }).detach();
/// assert!(EXECUTOR.try_tick());
/// assert!(!EXECUTOR.try_tick());
/// ```
#[repr(transparent)]
pub struct StaticExecutor {
    pool: terrace_executor::StaticExecutor,
}

is_an_executor!(StaticExecutor);

impl fmt::Debug for StaticExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.pool, f)
    }
}

impl StaticExecutor {
    /// An executor without tasks.
    pub const fn new() -> Self {
        Self {
            pool: terrace_executor::StaticExecutor::new(),
        }
    }

    /// Spawns a task.
    pub fn spawn<T: Send + 'static>(
        &'static self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        let (runnable, task) = Builder::new()
            .propagate_panic(true)
            .spawn(|()| future, WithInfo(self.schedule()));
        self.pool.scheduler().start(runnable);
        task
    }

    /// Spawns a task that borrows.
    ///
    /// # Safety
    /// The task ends, or is cancelled and its future dropped, before `'a` does.
    pub unsafe fn spawn_scoped<'a, T: Send + 'a>(
        &'static self,
        future: impl Future<Output = T> + Send + 'a,
    ) -> Task<T> {
        let builder = Builder::new().propagate_panic(true);
        // SAFETY: future and output are Send. The caller promises that the task ends in time. The schedule function is Send, Sync
        // and 'static.
        let (runnable, task) =
            unsafe { builder.spawn_unchecked(|()| future, WithInfo(self.schedule())) };
        self.pool.scheduler().start(runnable);
        task
    }

    /// Where woken tasks go.
    fn schedule(&'static self) -> impl Fn(Runnable, ScheduleInfo) + Send + Sync + 'static {
        let scheduler = self.pool.scheduler();
        move |runnable, info| scheduler.schedule(runnable, info)
    }

    drives!(pool);
}

/// A [`LocalExecutor`] that is never dropped. It may change its thread before its first spawn.
///
/// ```compile_fail,E0277
/// fn is_sync<T: Sync>(_: T) {}
/// is_sync(async_executor::StaticLocalExecutor::new());
/// ```
#[repr(transparent)]
pub struct StaticLocalExecutor {
    inner: StaticExecutor,
    /// Not Sync. A reference to it stays on its thread, and tasks are spawned through a 'static one.
    _thread: PhantomData<UnsafeCell<()>>,
}

is_an_executor!(StaticLocalExecutor);

impl fmt::Debug for StaticLocalExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StaticLocalExecutor")
            .field(&self.inner)
            .finish()
    }
}

impl StaticLocalExecutor {
    /// An executor without tasks.
    pub const fn new() -> Self {
        Self {
            inner: StaticExecutor::new(),
            _thread: PhantomData,
        }
    }

    /// Spawns a task.
    pub fn spawn<T: 'static>(&'static self, future: impl Future<Output = T> + 'static) -> Task<T> {
        let (runnable, task) = Builder::new()
            .propagate_panic(true)
            .spawn_local(|()| future, WithInfo(self.inner.schedule()));
        self.inner.pool.scheduler().start(runnable);
        task
    }

    /// Spawns a task that borrows.
    ///
    /// # Safety
    /// The task ends, or is cancelled and its future dropped, before `'a` does.
    pub unsafe fn spawn_scoped<'a, T: 'a>(
        &'static self,
        future: impl Future<Output = T> + 'a,
    ) -> Task<T> {
        let builder = Builder::new().propagate_panic(true);
        // SAFETY: the reference to this executor stays on its thread, and only what has the reference runs tasks. The caller
        // promises that the task ends in time. The schedule function is Send, Sync and 'static.
        let (runnable, task) =
            unsafe { builder.spawn_unchecked(|()| future, WithInfo(self.inner.schedule())) };
        self.inner.pool.scheduler().start(runnable);
        task
    }

    drives!(inner.pool);
}
