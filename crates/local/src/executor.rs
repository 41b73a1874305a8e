//! The single-thread executor.

use core::fmt;
use core::future::Future;
use core::marker::PhantomData;
use core::panic::{RefUnwindSafe, UnwindSafe};

use terrace_sync::Arc;
use terrace_sync::cell::UnsafeCell;

use crate::core::LocalCore;
use crate::drive::{Run, Tick};
use crate::task::{self, Task};

/// An executor of futures that stay on the thread that made it; they need not be `Send`.
///
/// Their wakers may be used anywhere, also after the executor is gone. Dropping the executor drops all tasks.
///
/// ```
/// use std::rc::Rc;
///
/// let executor = terrace_local::LocalExecutor::new();
/// let shared = Rc::new(41);
/// let task = executor.spawn({
///     let shared = Rc::clone(&shared);
///     async move { *shared + 1 }
/// });
/// assert!(executor.try_tick());
/// assert_eq!(futures_lite::future::block_on(task), 42);
/// ```
///
/// ```compile_fail,E0277
/// fn is_send<T: Send>(_: T) {}
/// is_send(terrace_local::LocalExecutor::new());
/// ```
///
/// ```compile_fail,E0597
/// let executor = terrace_local::LocalExecutor::new();
/// let word = String::from("borrowed");
/// let task = executor.spawn(async { word.len() });
/// ```
pub struct LocalExecutor<'a> {
    core: Arc<LocalCore>,
    /// Whether the core is closed with this handle.
    closes: bool,
    /// Invariant over what tasks borrow; neither Send nor Sync.
    _tasks: PhantomData<UnsafeCell<&'a alloc::rc::Rc<()>>>,
}

impl UnwindSafe for LocalExecutor<'_> {}
impl RefUnwindSafe for LocalExecutor<'_> {}

impl LocalExecutor<'static> {
    /// A handle to a core that somebody else closes.
    ///
    /// # Panics
    /// If the core belongs to another thread.
    #[must_use]
    pub fn view(core: Arc<LocalCore>) -> Self {
        let mut view = Self::of(core);
        view.closes = false;
        view
    }

    /// The shared part. It can be kept and ticked after the executor was forgotten, so there is this for `'static` only.
    #[must_use]
    pub fn core(&self) -> &Arc<LocalCore> {
        &self.core
    }
}

impl<'a> LocalExecutor<'a> {
    /// An executor of the current thread.
    #[must_use]
    pub fn new() -> Self {
        Self::of(LocalCore::new())
    }

    fn of(core: Arc<LocalCore>) -> Self {
        assert!(
            core.is_here(),
            "a single-thread executor must be made on its own thread"
        );
        Self {
            core,
            closes: true,
            _tasks: PhantomData,
        }
    }

    /// Spawns a task. One allocation; cancelled when the handle is dropped, unless it is
    /// [detached](Task::detach).
    pub fn spawn<T: 'a>(&self, future: impl Future<Output = T> + 'a) -> Task<T> {
        if task::is_large(&future) {
            // SAFETY: as below.
            return unsafe { self.core.spawn_owner(task::boxed(future)) };
        }
        // SAFETY: the executor is not Send, so this is its thread; it closes before `'a` ends.
        unsafe { self.core.spawn_owner(future) }
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

    /// Runs tasks until `future` is done; sleeps while there is nothing to do. Several at once, nested or side by side,
    /// pass wakes on to each other.
    pub async fn run<T>(&self, future: impl Future<Output = T>) -> T {
        // SAFETY: as in `tick`.
        unsafe { Run::new(&self.core, future) }.await
    }

    /// Whether every task has ended.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        // SAFETY: the executor is not Send, so this is its thread.
        unsafe { self.core.is_empty() }
    }
}

impl Default for LocalExecutor<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for LocalExecutor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalExecutor")
            .field("thread", &self.core.owner())
            .finish_non_exhaustive()
    }
}

impl Drop for LocalExecutor<'_> {
    fn drop(&mut self) {
        if self.closes && !self.core.close() {
            // Dropped out of one of its own tasks, as a process does that exits there: that task still needs it.
            core::mem::forget(Arc::clone(&self.core));
        }
    }
}
