//! The single-thread executor that is never dropped.

use alloc::rc::Rc;
use core::fmt;
use core::future::Future;
use core::marker::PhantomData;
use core::panic::{RefUnwindSafe, UnwindSafe};

use terrace_sync::const_fn;

use crate::core::LocalCore;
use crate::drive::{Run, Tick};
use crate::task::{self, Core, CoreRef, Task};

/// A [`LocalExecutor`](crate::LocalExecutor) that is never dropped: its tasks count no references and are kept in no
/// list.
///
/// It belongs to the thread that spawns onto it. Spawning takes `&'static self`: leak one.
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
pub struct StaticLocalExecutor {
    core: LocalCore,
    /// Neither Send nor Sync.
    _thread: PhantomData<Rc<()>>,
}

impl UnwindSafe for StaticLocalExecutor {}
impl RefUnwindSafe for StaticLocalExecutor {}

impl StaticLocalExecutor {
    const_fn! {
        /// An executor of the current thread.
        #[must_use]
        pub const fn new() -> Self {
            Self {
                core: LocalCore::unbound(),
                _thread: PhantomData,
            }
        }
    }

    /// Spawns a task. One allocation; spawned, run and detached it takes four read-modify-writes, all of its own cell's.
    /// Cancelled when the handle is dropped, unless it is [detached](Task::detach).
    #[inline]
    pub fn spawn<T: 'static>(&'static self, future: impl Future<Output = T> + 'static) -> Task<T> {
        if task::is_large(&future) {
            return self.spawn_small(task::boxed(future));
        }
        self.spawn_small(future)
    }

    #[inline]
    fn spawn_small<T: 'static>(
        &'static self,
        future: impl Future<Output = T> + 'static,
    ) -> Task<T> {
        let core: &'static dyn Core = &self.core;
        // SAFETY: the executor is not Send, so this is its thread, where the core has tasks polled and dropped;
        // everything is 'static.
        let (runnable, task) = unsafe { task::build(CoreRef::Static(core), future) };
        self.core.bind();
        // SAFETY: as above.
        unsafe { self.core.mailbox.push_owner(runnable) };
        task
    }

    /// Polls one task; false if none is queued.
    pub fn try_tick(&self) -> bool {
        self.core.try_tick()
    }

    /// Waits until a task is queued and polls it.
    pub async fn tick(&self) {
        // SAFETY: the executor is not Send, nor is what borrows it: this is its thread.
        unsafe { Tick::new(&self.core) }.await;
    }

    /// Runs tasks until `future` is done; sleeps while there is nothing to do.
    pub async fn run<T>(&self, future: impl Future<Output = T>) -> T {
        // SAFETY: as in `tick`.
        unsafe { Run::new(&self.core, future) }.await
    }
}

impl Default for StaticLocalExecutor {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for StaticLocalExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaticLocalExecutor")
            .field("thread", &self.core.owner())
            .finish_non_exhaustive()
    }
}
