//! The single-thread executor that is never dropped.

use alloc::rc::Rc;
use core::fmt;
use core::future::Future;
use core::marker::PhantomData;
use core::panic::{RefUnwindSafe, UnwindSafe};

use terrace_sync::const_fn;
use terrace_sync::unmodelled::Weak;

use crate::core::LocalCore;
use crate::drive::{Run, Tick};
use crate::task::{self, PanicHandler, Task};
use crate::{LocalSpawner, Payload};

/// A [`LocalExecutor`](crate::LocalExecutor) that is never dropped: its tasks are kept in no list, only counted while they
/// are pending.
///
/// It belongs to the thread that spawns onto it. Spawning takes `&'static self`: leak one, or make one by
/// [`LocalExecutor::leak`](crate::LocalExecutor::leak).
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
                core: LocalCore::unbound(Weak::new(), false),
                _thread: PhantomData,
            }
        }
    }

    /// The executor with this core, on its thread.
    pub(crate) fn of(core: &'static LocalCore) -> &'static Self {
        debug_assert!(core.is_here());
        let this: *const Self = core::ptr::from_ref(core).cast();
        // SAFETY: transparent, and what else it claims is that this is the core's thread.
        unsafe { &*this }
    }

    /// Spawns a task. One allocation; spawned, run and detached it takes no read-modify-write.
    /// Cancelled when the handle is dropped, unless it is [detached](Task::detach).
    #[inline]
    pub fn spawn<T: 'static>(&'static self, future: impl Future<Output = T> + 'static) -> Task<T> {
        if task::is_large(&future) {
            // SAFETY: as below.
            return unsafe { self.core.spawn_owner(task::boxed(future)) };
        }
        // SAFETY: the executor is not Send, so this is its thread, where the core has tasks polled and dropped;
        // everything is 'static.
        unsafe { self.core.spawn_owner(future) }
    }

    /// As [`LocalExecutor::spawn_many`](crate::LocalExecutor::spawn_many).
    pub fn spawn_many<T: 'static, F: Future<Output = T> + 'static>(
        &'static self,
        futures: impl IntoIterator<Item = F>,
        handles: &mut impl Extend<Task<T>>,
    ) {
        let spawn = |future| {
            if task::is_large(&future) {
                // SAFETY: as in `spawn`.
                return unsafe { self.core.spawn_quietly(task::boxed(future)) };
            }
            // SAFETY: as in `spawn`.
            unsafe { self.core.spawn_quietly(future) }
        };
        // SAFETY: as in `spawn`.
        task::spawn_many(futures, handles, spawn, |_| unsafe {
            self.core.notify_owner();
        });
    }

    /// Spawns a task that borrows.
    ///
    /// # Safety
    /// The task ends, or is cancelled and its future dropped, before `'a` does, and so is its output taken or dropped.
    pub unsafe fn spawn_scoped<'a, T: 'a>(
        &'static self,
        future: impl Future<Output = T> + 'a,
    ) -> Task<T> {
        if task::is_large(&future) {
            // SAFETY: as below.
            return unsafe { self.core.spawn_owner(task::boxed(future)) };
        }
        // SAFETY: as in `spawn`, but for the lifetime, which is the caller's promise.
        unsafe { self.core.spawn_owner(future) }
    }

    /// Polls one task; false if none is queued.
    #[inline]
    pub fn try_tick(&self) -> bool {
        // SAFETY: the executor is not Send, so this is its thread.
        unsafe { self.core.tick_here() }
    }

    /// Waits until a task is queued and polls it.
    pub async fn tick(&self) {
        // SAFETY: the executor is not Send, nor is what borrows it: this is its thread.
        unsafe { Tick::new(&self.core) }.await;
    }

    /// As [`LocalExecutor::run`](crate::LocalExecutor::run).
    pub async fn run<T>(&self, future: impl Future<Output = T>) -> T {
        // SAFETY: as in `tick`.
        unsafe { Run::new(&self.core, future) }.await
    }

    /// As [`LocalExecutor::run_until_stalled`](crate::LocalExecutor::run_until_stalled).
    pub fn run_until_stalled(&self) -> usize {
        let mut polls = 0;
        while self.try_tick() {
            polls += 1;
        }
        polls
    }

    /// Whether every task has ended.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        // SAFETY: the executor is not Send, so this is its thread.
        unsafe { self.core.is_empty() }
    }

    /// A handle that spawns onto this executor from any thread.
    #[must_use]
    pub fn spawner(&'static self) -> LocalSpawner {
        self.core.bind();
        LocalSpawner::of_static(&self.core)
    }

    /// As [`LocalExecutor::set_on_ready`](crate::LocalExecutor::set_on_ready).
    ///
    /// # Panics
    /// If there is one already.
    pub fn set_on_ready(&self, hook: impl Fn() + Send + Sync + 'static) {
        self.core.set_on_ready(hook);
        // SAFETY: the executor is not Send, so this is its thread.
        unsafe { self.core.notify_owner() };
    }

    /// As [`LocalExecutor::set_panic_handler`](crate::LocalExecutor::set_panic_handler).
    ///
    /// # Panics
    /// If there is one already.
    pub fn set_panic_handler(&self, handler: impl Fn(Payload) + Send + Sync + 'static) {
        self.core.set_panic_handler(PanicHandler::new(handler));
    }
}

impl Default for StaticLocalExecutor {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for StaticLocalExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the executor is not Send, so this is its thread.
        unsafe { self.core.debug("StaticLocalExecutor", f) }
    }
}
