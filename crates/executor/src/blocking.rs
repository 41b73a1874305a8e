//! Closures that block, on threads that come and go: those of the `blocking` crate.

use std::ptr::NonNull;

use terrace_local::boxing_large;
use terrace_local::task::{CoreRef, Runnable, Task};
use terrace_trace::{Span, inside};

use crate::executor::Executor;
use crate::parts::current::Current;
use crate::pool::Shared;
use crate::pool::frames::run_task;
use crate::pool::schedule::{Cause, CoreOf, Kind};
use crate::spawner::Spawner;

/// Closures that run on threads of the `blocking` crate. They are never pending, so they do not register.
enum OnBlocking {}

impl Kind for OnBlocking {
    const REGISTERS: bool = false;

    unsafe fn queue(pool: NonNull<Shared>, task: Runnable, _: Cause) {
        // SAFETY: the task's reference keeps the pool alive: the task has not been handed on yet.
        let pool = unsafe { pool.as_ref() }.arc();
        let turn = blocking::unblock(move || {
            if pool.is_closed() {
                drop(task);
            } else {
                let _inside = inside(Span::Blocking);
                run_task(task);
            }
        });
        turn.detach();
    }
}

/// Queues a closure for the threads that may block.
#[cfg_attr(feature = "timeline", track_caller)]
fn spawn_blocking<T: Send + 'static>(
    pool: &Shared,
    f: impl FnOnce() -> T + Send + 'static,
) -> Task<T> {
    let core = || CoreRef::Shared(CoreOf::<OnBlocking>::counted(pool.arc()));
    let future = async move { f() };
    let (runnable, task) = boxing_large!(|future| {
        // SAFETY: closure and output are Send and 'static, and the core is that of this pool.
        unsafe { pool.make(core(), future) }
    });
    pool.queue_if_open(runnable, Runnable::schedule);
    task
}

impl Executor<'_> {
    /// Calls a closure that may block, for instance in file IO, on a thread that is no worker. So the workers stay free.
    ///
    /// The threads are those of the [`blocking`] crate, which all executors of the process share. They start on demand and end
    /// when they have been idle for a while. There are at most 500; the environment variable `BLOCKING_MAX_THREADS` says otherwise.
    /// A closure beyond that waits for its turn.
    ///
    /// The closure is a task of this executor: [`is_empty`](Self::is_empty), [`wait_idle`](Self::wait_idle),
    /// [`Shutdown::FinishAll`](crate::Shutdown::FinishAll) and [`metrics`](Self::metrics) count it. Its panic reaches the handle, or the
    /// executor's panic handler. To drop the handle drops a closure that no thread has begun to call, and nothing ends one earlier that
    /// runs. The drop of the executor does not wait for closures: one that runs goes on, and the others are dropped.
    ///
    /// No thread polls the closure, so [`current`](fn@crate::current) is `None` in it, and [`Current::spawn`] panics. Where it spawns, it
    /// has a [`Spawner`].
    ///
    /// Cost: two allocations, and the wake of a thread. Worth it from tens of microseconds on.
    ///
    /// Needs feature `blocking`.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, block_on};
    ///
    /// let executor = Builder::new().workers(1).build();
    /// let length = executor.spawn_blocking(|| std::fs::read("Cargo.toml").map(|bytes| bytes.len()));
    /// assert!(block_on(length)? > 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "unblock")]
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_blocking<T: Send + 'static>(
        &self,
        f: impl FnOnce() -> T + Send + 'static,
    ) -> Task<T> {
        spawn_blocking(self.shared(), f)
    }
}

impl Spawner {
    /// As [`Executor::spawn_blocking`]. If the executor is gone, the closure is dropped, and the task counts as cancelled.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, block_on};
    ///
    /// let executor = Builder::new().workers(1).build();
    /// let spawner = executor.spawner();
    /// assert_eq!(block_on(spawner.spawn_blocking(|| 6 * 7)), 42);
    ///
    /// drop(executor);
    /// let late = spawner.spawn_blocking(|| 6 * 7);
    /// assert_eq!(block_on(late.fallible()), None);
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_blocking<T: Send + 'static>(
        &self,
        f: impl FnOnce() -> T + Send + 'static,
    ) -> Task<T> {
        spawn_blocking(&self.pool, f)
    }
}

impl Current {
    /// As [`Executor::spawn_blocking`], on the executor whose task is being polled.
    ///
    /// # Panics
    /// If there is none: see [`Current::spawner`], which returns `None` instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, Current, block_on};
    ///
    /// let executor = Builder::new().workers(1).build();
    /// let task = executor.spawn(async { Current::spawn_blocking(|| 6 * 7).await });
    /// assert_eq!(block_on(task), 42);
    /// ```
    #[track_caller]
    pub fn spawn_blocking<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> Task<T> {
        Self::spawner_for("spawn_blocking").spawn_blocking(f)
    }
}
