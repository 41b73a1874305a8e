//! The executor that lives as long as the program.

use std::fmt;
use std::future::Future;
use std::io;
use std::panic::{RefUnwindSafe, UnwindSafe};

use terrace_local::task::{self, CoreRef, Task};
use terrace_sync::OnceLock;

use crate::pool::current::Current;
use crate::pool::lanes::{Lane, OnLane};
use crate::pool::schedule::Unregistered;
use crate::pool::threads::Pool;
use crate::pool::{Shared, driver};

/// An executor that lives as long as the program: spawning counts no references and keeps no
/// list of tasks.
///
/// It sits in a `static`, or is made by [`Executor::leak`](crate::Executor::leak) or
/// [`Builder::try_build_static`](crate::Builder::try_build_static). Its tasks are never dropped with it; its threads can
/// be ended by [`shutdown`](Self::shutdown).
///
/// ```
/// static EXECUTOR: terrace_executor::StaticExecutor = terrace_executor::StaticExecutor::new();
///
/// let task = EXECUTOR.spawn(async { 6 * 7 });
/// assert_eq!(terrace_executor::block_on(EXECUTOR.run(task)), 42);
/// ```
pub struct StaticExecutor {
    /// Made at first use.
    pool: OnceLock<Pool>,
}

impl UnwindSafe for StaticExecutor {}
impl RefUnwindSafe for StaticExecutor {}

impl StaticExecutor {
    terrace_sync::const_fn! {
        /// An executor without worker threads; [`set_workers`](Self::set_workers) starts some.
        pub const fn new() -> Self {
            Self { pool: OnceLock::new() }
        }
    }

    pub(crate) fn leak_pool(pool: Pool) -> &'static Self {
        let cell = OnceLock::new();
        let Ok(()) = cell.set(pool) else {
            unreachable!("the cell is new")
        };
        Box::leak(Box::new(Self { pool: cell }))
    }

    #[inline]
    pub(crate) fn pool(&self) -> &Pool {
        self.pool.get_or_init(Pool::bare)
    }

    #[inline]
    fn shared(&self) -> &Shared {
        &self.pool().shared
    }

    #[inline]
    fn core(&'static self) -> CoreRef<Unregistered> {
        CoreRef::Static(self.shared().unregistered())
    }

    /// The number of worker threads, spare ones not counted.
    pub fn workers(&self) -> usize {
        self.shared().workers()
    }

    /// As [`Executor::set_workers`](crate::Executor::set_workers).
    ///
    /// # Errors
    /// When the operating system cannot start a thread; those that were started stay.
    pub fn set_workers(&'static self, workers: usize) -> io::Result<()> {
        self.pool().shared.set_workers(workers)
    }

    /// As [`Executor::current_or_any`](crate::Executor::current_or_any).
    #[must_use]
    pub fn current_or_any(&self) -> Option<Current> {
        self.shared().current_or_any()
    }

    /// As [`Executor::is_empty`](crate::Executor::is_empty).
    pub fn is_empty(&self) -> bool {
        self.shared().active() == 0
    }

    /// Spawns a task, as [`Executor::spawn`](crate::Executor::spawn) does. One allocation, no lock, no reference count.
    pub fn spawn<T: Send + 'static>(
        &'static self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        if task::is_large(&future) {
            // SAFETY: the future is 'static.
            return unsafe { self.spawn_scoped(task::boxed(future)) };
        }
        // SAFETY: as above.
        unsafe { self.spawn_scoped(future) }
    }

    /// Spawns a task that may borrow.
    ///
    /// # Safety
    /// The task has ended, or was cancelled and its future dropped, before `'a` ends.
    pub unsafe fn spawn_scoped<'a, T: Send + 'a>(
        &'static self,
        future: impl Future<Output = T> + Send + 'a,
    ) -> Task<T> {
        if task::is_large(&future) {
            // SAFETY: future and output are Send; what they borrow is the caller's promise.
            return unsafe { self.shared().spawn_task(self.core(), task::boxed(future)) };
        }
        // SAFETY: as above.
        unsafe { self.shared().spawn_task(self.core(), future) }
    }

    /// As [`Executor::spawn_on`](crate::Executor::spawn_on).
    pub fn spawn_on<T: Send + 'static>(
        &'static self,
        lane: Lane,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        if task::is_large(&future) {
            return self.spawn_on_here(lane, task::boxed(future));
        }
        self.spawn_on_here(lane, future)
    }

    fn spawn_on_here<T: Send + 'static>(
        &'static self,
        lane: Lane,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        let pool = self.shared();
        match lane {
            Lane::Normal => self.spawn(future),
            Lane::High => {
                let core = CoreRef::Static(OnLane::<true, false>::of(pool));
                // SAFETY: future and output are Send and 'static.
                unsafe { pool.spawn_on_core(core, future) }
            }
            Lane::Background => {
                let core = CoreRef::Static(OnLane::<false, false>::of(pool));
                // SAFETY: as above.
                unsafe { pool.spawn_on_core(core, future) }
            }
        }
    }

    /// As [`Executor::spawn_many`](crate::Executor::spawn_many).
    pub fn spawn_many<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
        &'static self,
        futures: impl IntoIterator<Item = F>,
        handles: &mut impl Extend<Task<F::Output>>,
    ) {
        // SAFETY: futures and outputs are Send and 'static.
        unsafe { self.shared().spawn_tasks(|| self.core(), futures, handles) }
    }

    /// As [`Executor::try_tick`](crate::Executor::try_tick).
    pub fn try_tick(&self) -> bool {
        driver::try_tick(self.shared())
    }

    /// As [`Executor::tick`](crate::Executor::tick).
    pub async fn tick(&self) {
        driver::tick(self.shared()).await;
    }

    /// As [`Executor::run`](crate::Executor::run).
    pub async fn run<T>(&self, future: impl Future<Output = T>) -> T {
        driver::run(self.shared(), future).await
    }
}

impl Default for StaticExecutor {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for StaticExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pool.get() {
            Some(pool) => pool.shared.describe("StaticExecutor", f),
            None => f
                .debug_struct("StaticExecutor")
                .field("active", &0)
                .finish_non_exhaustive(),
        }
    }
}
