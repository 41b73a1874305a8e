//! The single-thread executor.

use core::cell::OnceCell;
use core::fmt;
use core::future::Future;
use core::marker::PhantomData;
use core::panic::{RefUnwindSafe, UnwindSafe};

use terrace_sync::Arc;
use terrace_sync::cell::UnsafeCell;
use terrace_sync::unmodelled::Weak;

use crate::core::LocalCore;
use crate::drive::{Run, Tick};
use crate::static_executor::StaticLocalExecutor;
use crate::task::{self, PanicHandler, Task};
use crate::{LocalSpawner, OwnedCore, Payload};

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
    /// Made on first use.
    core: OnceCell<OwnedCore>,
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
        Self {
            core: OnceCell::from(OwnedCore::view(core)),
            _tasks: PhantomData,
        }
    }

    /// The shared part. It can be kept and ticked after the executor was forgotten, so there is this for `'static` only.
    #[must_use]
    pub fn core(&self) -> &Arc<LocalCore> {
        self.shared()
    }

    /// Lives on for ever. Tasks that exist go on; tasks spawned from now on are not kept in a list.
    ///
    /// ```
    /// let executor = terrace_local::LocalExecutor::new().leak();
    /// let task = executor.spawn(async { 6 * 7 });
    /// assert_eq!(futures_lite::future::block_on(executor.run(task)), 42);
    /// ```
    #[must_use]
    pub fn leak(mut self) -> &'static StaticLocalExecutor {
        let core = self.core.take().unwrap_or_default();
        StaticLocalExecutor::of(core.leak())
    }
}

impl<'a> LocalExecutor<'a> {
    /// An executor of the current thread. Allocates nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            core: OnceCell::new(),
            _tasks: PhantomData,
        }
    }

    #[inline]
    fn shared(&self) -> &Arc<LocalCore> {
        self.core.get_or_init(OwnedCore::new)
    }

    /// Spawns a task. One allocation; cancelled when the handle is dropped, unless it is
    /// [detached](Task::detach).
    #[inline]
    pub fn spawn<T: 'a>(&self, future: impl Future<Output = T> + 'a) -> Task<T> {
        if task::is_large(&future) {
            // SAFETY: as below.
            return unsafe { self.shared().spawn_owner(task::boxed(future)) };
        }
        // SAFETY: the executor is not Send, so this is its thread; it closes before `'a` ends.
        unsafe { self.shared().spawn_owner(future) }
    }

    /// Spawns many tasks and puts their handles into `handles`; whoever drives the executor is woken once, at the end.
    ///
    /// The iterator and the collection may use the executor. If one of them panics, what was spawned before stays
    /// spawned.
    ///
    /// ```
    /// let executor = terrace_local::LocalExecutor::new();
    /// let mut tasks = Vec::new();
    /// executor.spawn_many((1..=3).map(|n| async move { n * n }), &mut tasks);
    /// let sum = async {
    ///     let mut sum = 0;
    ///     for task in tasks {
    ///         sum += task.await;
    ///     }
    ///     sum
    /// };
    /// assert_eq!(futures_lite::future::block_on(executor.run(sum)), 14);
    /// ```
    pub fn spawn_many<T: 'a, F: Future<Output = T> + 'a>(
        &self,
        futures: impl IntoIterator<Item = F>,
        handles: &mut impl Extend<Task<T>>,
    ) {
        let core = self.shared();
        let spawn = |future| {
            if task::is_large(&future) {
                // SAFETY: as in `spawn`.
                return unsafe { core.spawn_quietly(task::boxed(future)) };
            }
            // SAFETY: as in `spawn`.
            unsafe { core.spawn_quietly(future) }
        };
        // SAFETY: as in `spawn`.
        task::spawn_many(futures, handles, spawn, |_| unsafe { core.notify_owner() });
    }

    /// Polls one task; false if none is queued.
    #[inline]
    pub fn try_tick(&self) -> bool {
        // SAFETY: the executor is not Send, so this is its thread.
        self.core
            .get()
            .is_some_and(|core| unsafe { core.tick_here() })
    }

    /// Waits until a task is queued and polls it.
    pub async fn tick(&self) {
        // SAFETY: the executor is not Send, nor is what borrows it: this is its thread.
        unsafe { Tick::new(self.shared()) }.await;
    }

    /// Runs tasks until `future` is done; sleeps while there is nothing to do. Several at once, nested or side by side,
    /// pass wakes on to each other.
    ///
    /// `future` is polled first, whenever the caller polls, and when tasks ran and none is left.
    pub async fn run<T>(&self, future: impl Future<Output = T>) -> T {
        // SAFETY: as in `tick`.
        unsafe { Run::new(self.shared(), future) }.await
    }

    /// Polls tasks until none is queued, and returns how many polls that took. Never waits: for frame and event loops,
    /// see [`set_on_ready`](Self::set_on_ready).
    ///
    /// A task that wakes itself in every poll keeps this from returning; where there may be one, call
    /// [`try_tick`](Self::try_tick) a limited number of times.
    ///
    /// ```
    /// let executor = terrace_local::LocalExecutor::new();
    /// executor.spawn(futures_lite::future::yield_now()).detach();
    /// assert_eq!(executor.run_until_stalled(), 2);
    /// assert_eq!(executor.run_until_stalled(), 0);
    /// ```
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
        self.core
            .get()
            .is_none_or(|core| unsafe { core.is_empty() })
    }

    /// A handle that spawns onto this executor from any thread.
    #[must_use]
    pub fn spawner(&self) -> LocalSpawner {
        LocalSpawner::counted(Arc::clone(self.shared()))
    }

    /// Sets what is called when something was queued: at least once each time that the queues go from empty to
    /// non-empty, at once if something is queued already. For event loops of others, which then call
    /// [`run_until_stalled`](Self::run_until_stalled).
    ///
    /// It is called by whoever wakes or spawns, on any thread (without feature `std` also in interrupts), and should do
    /// no more than to ring a bell: it must neither run the executor nor wait. Its panics are dropped.
    ///
    /// # Panics
    /// If there is one already. (The executor of a thread has one: see `terrace_thread::set_notify`.)
    pub fn set_on_ready(&self, hook: impl Fn() + Send + Sync + 'static) {
        let core = self.shared();
        core.set_on_ready(hook);
        // SAFETY: the executor is not Send, so this is its thread.
        unsafe { core.notify_owner() };
    }

    /// Sets who receives the payloads of panics that no handle will see: of detached tasks, and of destructors. Without
    /// it they are dropped, after the panic hook has reported them. Called on whatever thread drops the last trace of
    /// the task; its own panics are dropped.
    ///
    /// # Panics
    /// If there is one already.
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    ///
    /// let (sender, panics) = channel();
    /// let executor = terrace_local::LocalExecutor::new();
    /// executor.set_panic_handler(move |payload| drop(sender.send(payload)));
    /// executor.spawn(async { std::panic::panic_any("oh") }).detach();
    /// executor.try_tick();
    /// assert_eq!(panics.recv().unwrap().downcast_ref(), Some(&"oh"));
    /// ```
    pub fn set_panic_handler(&self, handler: impl Fn(Payload) + Send + Sync + 'static) {
        self.shared().set_panic_handler(PanicHandler::new(handler));
    }
}

impl Default for LocalExecutor<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for LocalExecutor<'_> {
    /// Drops all tasks. Written out, because it tells the compiler that what tasks borrow is used here.
    fn drop(&mut self) {
        drop(self.core.take());
    }
}

impl fmt::Debug for LocalExecutor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unused = LocalCore::unbound(Weak::new(), true);
        let core = self.core.get().map_or(&unused, |core| core);
        // SAFETY: the executor is not Send, so this is its thread.
        unsafe { core.debug("LocalExecutor", f) }
    }
}
