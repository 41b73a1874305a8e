//! The executors with worker threads.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};

use terrace_local::task::{self, Core, CoreRef, Task};
use terrace_sync::Arc;

use crate::builder::Builder;
use crate::pool::threads::Pool;
use crate::pool::worker::run_task;
use crate::pool::{Shared, current};

/// A work-stealing executor of `Send` futures with worker threads of its own.
///
/// Dropping it ends the workers once they have finished the polls they are in, joins them (except
/// the current thread, where an executor is dropped on its own worker), and drops every task that
/// is not finished.
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
/// ```
/// let executor = terrace_executor::Builder::new().workers(2).build();
/// let task = executor.spawn(async { 6 * 7 });
/// assert_eq!(terrace_executor::block_on(task), 42);
/// ```
pub struct Executor<'a> {
    pool: Pool,
    _futures: PhantomData<fn(&'a ()) -> &'a ()>,
}

// SAFETY: the futures that the marker stands for are Send, as `spawn` requires.
unsafe impl Send for Executor<'_> {}
// SAFETY: as above; the pool itself is made to be shared.
unsafe impl Sync for Executor<'_> {}

impl UnwindSafe for Executor<'_> {}
impl RefUnwindSafe for Executor<'_> {}

impl Executor<'static> {
    /// Settings for a new executor.
    pub fn builder() -> Builder {
        Builder::new()
    }

    pub(crate) fn from_pool(pool: Pool) -> Self {
        Self {
            pool,
            _futures: PhantomData,
        }
    }
}

impl<'a> Executor<'a> {
    /// The number of worker threads.
    pub fn workers(&self) -> usize {
        self.pool.shared.workers
    }

    /// Spawns a task: onto the current worker's own queue, from elsewhere into the injector.
    ///
    /// One allocation, one more every 31 tasks where the injector is used. The task is cancelled
    /// when the returned handle is dropped, unless it is [detached](Task::detach).
    pub fn spawn<T: Send + 'a>(&self, future: impl Future<Output = T> + Send + 'a) -> Task<T> {
        if task::is_large(&future) {
            return self.spawn_here(task::boxed(future));
        }
        self.spawn_here(future)
    }

    #[inline]
    fn spawn_here<T: Send + 'a>(&self, future: impl Future<Output = T> + Send + 'a) -> Task<T> {
        let pool = &self.pool.shared;
        let core: Arc<dyn Core> = Arc::clone(pool) as Arc<dyn Core>;
        // SAFETY: future and output are Send; they live for `'a`, and the executor drops its tasks
        // before `'a` ends, in its own drop.
        let (runnable, task) = unsafe { task::build(CoreRef::Shared(core), future) };
        terrace_trace::spawn(current::index());
        pool.push_task(runnable);
        task
    }

    /// Polls one queued task on the current thread, whichever that is; false if none is queued. For frame and event
    /// loops that drive an executor without workers.
    pub fn try_tick(&self) -> bool {
        match self.pool.shared.pop_any() {
            Some(task) => {
                run_task(task);
                true
            }
            None => false,
        }
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.pool.shared
    }
}

impl fmt::Debug for Executor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        debug(&self.pool.shared, "Executor", f)
    }
}

/// An executor that lives as long as the program: spawning counts no references and keeps no
/// list of tasks.
///
/// The handle is `Copy`. Its workers are never joined.
#[derive(Clone, Copy)]
pub struct StaticExecutor {
    shared: &'static Shared,
}

impl StaticExecutor {
    pub(crate) fn from_pool(pool: Pool) -> Self {
        let pool: &'static Pool = Box::leak(Box::new(pool));
        Self {
            shared: &pool.shared,
        }
    }

    /// The number of worker threads.
    pub fn workers(&self) -> usize {
        self.shared.workers
    }

    /// Spawns a task, as [`Executor::spawn`] does. One allocation, no lock, no reference count.
    pub fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        if task::is_large(&future) {
            return self.spawn_here(task::boxed(future));
        }
        self.spawn_here(future)
    }

    #[inline]
    fn spawn_here<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        // SAFETY: future and output are Send and 'static.
        let (runnable, task) = unsafe { task::build(CoreRef::Static(self.shared), future) };
        terrace_trace::spawn(current::index());
        self.shared.push_task(runnable);
        task
    }
}

impl fmt::Debug for StaticExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        debug(self.shared, "StaticExecutor", f)
    }
}

fn debug(pool: &Shared, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.debug_struct(name)
        .field("workers", &pool.workers)
        .field("awake", &pool.idle.awake())
        .field("injected", &pool.injector.len_hint())
        .finish()
}
