//! The single-thread executor.

use core::cell::OnceCell;
use core::fmt;
use core::future::{Future, poll_fn};
use core::marker::PhantomData;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::pin::pin;

use terrace_sync::cell::UnsafeCell;
use terrace_sync::unmodelled::Arc;

use crate::cells;
use crate::core::LocalMetrics;
use crate::drive::Drive;
use crate::on_owner::OnOwner;
use crate::spawn::{LocalScheduler, LocalSpawner, Wake};
use crate::task::guarded::boxing_large;
use crate::task::local::cell::LocalCore;
use crate::task::{PanicHandler, Task, spawn_many};
use crate::unwind::Payload;

/// An executor of futures that stay on the thread that made it; they need not be `Send`.
///
/// Any thread may use their wakers, also after the executor is gone. Dropping the executor drops all tasks.
///
/// # Examples
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
#[doc(alias(
    "LocalSet",
    "LocalRuntime",
    "LocalPool",
    "Runtime",
    "new_current_thread"
))]
pub struct LocalExecutor<'a> {
    /// Made on first use, on the executor's thread.
    core: OnceCell<Arc<LocalCore>>,
    pub(crate) end: End,
    /// Invariant over what tasks borrow; neither Send nor Sync.
    _tasks: PhantomData<UnsafeCell<&'a alloc::rc::Rc<()>>>,
}

/// What an executor's drop does with its core.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum End {
    /// It closes the core. A core that it cannot close is leaked.
    Close,
    /// It leaks the core.
    Leak,
    /// Nothing: another executor has the core, too, and closes it.
    Leave,
}

impl UnwindSafe for LocalExecutor<'_> {}
impl RefUnwindSafe for LocalExecutor<'_> {}

impl LocalExecutor<'static> {
    /// A second executor of a core, which the first one closes.
    ///
    /// # Panics
    /// If the core belongs to another thread.
    #[doc(hidden)]
    #[must_use = "an executor runs nothing until it is driven"]
    pub fn view(core: Arc<LocalCore>) -> Self {
        assert!(
            core.is_here(),
            "a single-thread executor is used on its own thread"
        );
        Self {
            core: OnceCell::from(core),
            ..Self::ending(End::Leave)
        }
    }

    /// The shared part. A program can keep and tick it after it forgot the executor, so this is for `'static` only.
    #[doc(hidden)]
    #[must_use = "the call only reads a value"]
    pub fn core(&self) -> &Arc<LocalCore> {
        self.shared()
    }
}

impl<'a> LocalExecutor<'a> {
    /// An executor of the current thread. Allocates nothing yet. The [type](Self) has an example.
    #[must_use = "an executor runs nothing until it is driven"]
    pub const fn new() -> Self {
        Self::ending(End::Close)
    }

    /// An executor that ends so.
    pub(crate) const fn ending(end: End) -> Self {
        Self {
            core: OnceCell::new(),
            end,
            _tasks: PhantomData,
        }
    }

    #[inline]
    fn shared(&self) -> &Arc<LocalCore> {
        self.core.get_or_init(|| match self.end {
            End::Leak => Arc::new(LocalCore::new(None)),
            _ => Arc::new_cyclic(|this| LocalCore::new(Some(this.clone()))),
        })
    }

    /// The owner's side of the core.
    #[inline]
    pub(crate) fn here(&self) -> OnOwner<'_, LocalCore> {
        // SAFETY: the core was made or viewed on the owner's thread, and the executor is not Send.
        unsafe { OnOwner::assume(self.shared()) }
    }

    /// Spawns a task. One allocation; cancelled when the handle is dropped, unless it is
    /// [detached](Task::detach).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::rc::Rc;
    ///
    /// let executor = terrace_local::LocalExecutor::new();
    /// let not_send = Rc::new(42);
    /// let task = executor.spawn(async move { *not_send });
    /// assert_eq!(futures_lite::future::block_on(executor.run(task)), 42);
    /// ```
    #[doc(alias = "spawn_local")]
    #[inline]
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn<T: 'a>(&self, future: impl Future<Output = T> + 'a) -> Task<T> {
        // SAFETY: the executor's drop, which comes before the end of `'a`, closes the core or leaks it. The latter happens
        // inside of a task, where the process exits, and in `leak`, where `'a` is `'static`.
        boxing_large!(|future| unsafe { self.here().spawn_scoped(future, Wake::Now) })
    }

    /// Spawns a task and polls it once, before this method returns. A task that this ends never sees a queue: its handle is
    /// finished. A task that is pending then is as any other. For children that are mostly done at once, out of a cache, a pool or a
    /// buffered channel.
    ///
    /// The task is queued, as [`spawn`](Self::spawn) does it, in three cases. The executor is closed. Or the thread is in the
    /// middle of 16 polls of this executor, each spawned by the one before. Or it is each 200th eager child of
    /// a turn: so a task that spawns and awaits eager children in a loop gives other tasks their turn.
    ///
    /// The child's first poll, and what it wakes, runs inside of this call. So the caller holds no lock and no borrow that
    /// the child may want. A panic of the poll is the task's, as ever.
    ///
    /// Cost of a child that is done at once: no allocation where one before it has left its memory, no read-modify-write, no wake.
    /// A thread keeps one free cell of each of five sizes, 128 bytes to 2 KiB, until an executor of it has nothing to do, or is
    /// dropped; with feature `std` only. Else it costs one allocation, and so does a child that is pending.
    ///
    /// Source: eager tasks of CPython 3.12 (gh-104144).
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_local::LocalExecutor::new();
    /// let mut task = executor.spawn_eager(async { 6 * 7 });
    /// assert!(task.is_finished() && !executor.has_queued());
    /// assert_eq!(task.try_take(), Some(42));
    /// ```
    #[inline]
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_eager<T: 'a>(&self, future: impl Future<Output = T> + 'a) -> Task<T> {
        // SAFETY: as in `spawn`, the core is closed or leaked before `'a` ends.
        boxing_large!(|future| unsafe { self.here().spawn_eager(future) })
    }

    /// Spawns many tasks and puts their handles into `handles`. Wakes a sleeping [`run`](Self::run) or [`tick`](Self::tick) once,
    /// at the end.
    ///
    /// The iterator and the collection may use the executor. If one of them panics, what was spawned before stays spawned.
    ///
    /// # Examples
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
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_many<T: 'a, F: Future<Output = T> + 'a>(
        &self,
        futures: impl IntoIterator<Item = F>,
        handles: &mut impl Extend<Task<T>>,
    ) {
        let core = self.here();
        let spawn = |future| {
            // SAFETY: as in `spawn`, the core is closed or leaked before `'a` ends.
            boxing_large!(|future| unsafe { core.spawn_scoped(future, Wake::Later) })
        };
        spawn_many(futures, handles, spawn, |_| core.notify());
    }

    /// Polls one task; false if none is queued.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_local::LocalExecutor::new();
    /// let task = executor.spawn(async {});
    /// assert!(executor.try_tick());
    /// assert!(task.is_finished() && !executor.try_tick());
    /// ```
    #[inline]
    pub fn try_tick(&self) -> bool {
        self.here().tick()
    }

    /// Waits until a task is queued and polls it.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_local::LocalExecutor::new();
    /// let task = executor.spawn(async {});
    /// futures_lite::future::block_on(executor.tick());
    /// assert!(task.is_finished());
    /// ```
    pub async fn tick(&self) {
        let mut drive = Drive::new(self.here());
        poll_fn(|context| drive.poll_tick(context)).await;
    }

    /// Runs tasks until `future` is done; sleeps while there is nothing to do. Several of these futures at once, nested or side by
    /// side, pass wakes on to each other.
    ///
    /// It polls `future` first, at each poll of its own, and again when tasks ran and none is left.
    ///
    /// # Examples
    ///
    /// ```
    /// use futures_lite::future::block_on;
    ///
    /// let executor = terrace_local::LocalExecutor::new();
    /// let sum = executor.run(async {
    ///     let (two, three) = (executor.spawn(async { 2 }), executor.spawn(async { 3 }));
    ///     two.await + three.await
    /// });
    /// assert_eq!(block_on(sum), 5);
    /// ```
    #[doc(alias = "run_until")]
    pub async fn run<T>(&self, future: impl Future<Output = T>) -> T {
        let mut drive = Drive::new(self.here());
        // It is dropped before the driver, which looks last: its destructor may spawn.
        let mut future = pin!(future);
        poll_fn(|context| drive.poll_run(future.as_mut(), context)).await
    }

    /// Polls tasks until none is queued, and returns how many polls that took. Never waits: for frame and event loops,
    /// see [`set_on_ready`](Self::set_on_ready).
    ///
    /// A task that wakes itself in every poll keeps this from returning. If there may be one, call [`try_tick`](Self::try_tick) a
    /// limited number of times. [`has_queued`](Self::has_queued) then says whether tasks are left, and the hook is called again.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_local::LocalExecutor::new();
    /// executor.spawn(futures_lite::future::yield_now()).detach();
    /// assert_eq!(executor.run_until_stalled(), 2);
    /// assert_eq!(executor.run_until_stalled(), 0);
    /// ```
    pub fn run_until_stalled(&self) -> usize {
        let core = self.here();
        let mut polls = 0;
        while let Some(task) = core.mailbox().pop() {
            core.run(task);
            polls += 1;
        }
        polls
    }

    /// Polls up to `budget` tasks, and returns whether more are queued. Never waits: for an event loop that has other things to do,
    /// too. Where it returns true it has called the [on-ready hook](Self::set_on_ready), so the bell rings again while work is left.
    ///
    /// A budget of 0 polls nothing. It says whether tasks are queued, and calls the hook if so.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_local::LocalExecutor::new();
    /// for _ in 0..5 {
    ///     executor.spawn(async {}).detach();
    /// }
    /// assert!(executor.run_for(3));
    /// assert!(!executor.run_for(3));
    /// ```
    pub fn run_for(&self, budget: usize) -> bool {
        let core = self.here();
        for _ in 0..budget {
            let Some(task) = core.mailbox().pop() else {
                cells::give_back();
                return false;
            };
            core.run(task);
        }
        core.notify_of_rest();
        core.has_queued()
    }

    /// Whether a task is queued, so that [`try_tick`](Self::try_tick) would poll one. A few loads.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_local::LocalExecutor::new();
    /// assert!(!executor.has_queued());
    /// executor.spawn(async {}).detach();
    /// assert!(executor.has_queued() && executor.try_tick());
    /// assert!(!executor.has_queued());
    /// ```
    #[must_use = "the call only answers a question"]
    pub fn has_queued(&self) -> bool {
        self.here().has_queued()
    }

    /// Whether every task has ended.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_local::LocalExecutor::new();
    /// let waits = executor.spawn(std::future::pending::<()>());
    /// executor.run_until_stalled();
    /// assert!(!executor.is_empty() && !executor.has_queued());
    /// # drop(waits);
    /// ```
    #[must_use = "the call only answers a question"]
    pub fn is_empty(&self) -> bool {
        self.here().tally.alive() == 0
    }

    /// What the executor has done so far, in numbers. A few loads; zeros before its first use.
    ///
    /// The numbers cost a task three additions to plain memory of its thread, and a spawn by another thread one read-modify-write.
    /// [`LocalMetrics`] has an example.
    #[must_use = "it is a copy for the caller to read"]
    pub fn metrics(&self) -> LocalMetrics {
        let core = self.here();
        // First: an item of another thread is in the run queue, and its spawn in the tally, or neither matters yet.
        core.mailbox().admit();
        let tally = &core.tally;
        LocalMetrics {
            num_alive_tasks: tally.alive(),
            spawned_tasks_count: tally.spawned(),
            queue_depth: core.mailbox().queued(),
            poll_count: tally.polls.get().wrapping_add(tally.eager.get()),
            park_count: tally.parks.get(),
        }
    }

    /// A handle that spawns onto this executor from any thread.
    /// [`LocalSpawner`] has an example.
    #[must_use = "a handle spawns nothing by itself"]
    pub fn spawner(&self) -> LocalSpawner {
        let core = Arc::clone(self.shared());
        LocalSpawner { core }
    }

    /// Sets a hook for an event loop that drives this executor. A push calls it at least once each time that the queues
    /// go from empty to non-empty. This method calls it at once if a task is queued already. The event loop then calls
    /// [`run_for`](Self::run_for), or [`run_until_stalled`](Self::run_until_stalled).
    ///
    /// Each `run_for` and each [`try_tick`](Self::try_tick) that leaves a task queued calls the hook again. So does a [`tick`](Self::tick) or
    /// [`run`](Self::run) that ends and leaves one. So one tick a call is enough to run all tasks.
    ///
    /// The thread that wakes or spawns calls the hook, without feature `std` also an interrupt. The hook should do no more than
    /// notify the event loop: it must neither run the executor nor wait. The executor drops its panics.
    ///
    /// # Panics
    /// If there is one already. (The executor of a thread has one: see `terrace_thread::set_notify`.)
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    ///
    /// let executor = terrace_local::LocalExecutor::new();
    /// let (bell, events) = channel();
    /// // An error says that the loop has ended.
    /// executor.set_on_ready(move || drop(bell.send(())));
    ///
    /// let spawner = executor.spawner();
    /// let task = std::thread::spawn(move || spawner.spawn(async { 42 })).join().unwrap();
    /// while !task.is_finished() {
    ///     events.recv().unwrap();
    ///     executor.run_for(10);
    /// }
    /// ```
    pub fn set_on_ready(&self, hook: impl Fn() + Send + Sync + 'static) {
        self.here().set_on_ready(hook);
    }

    /// Sets a handler for the payloads of panics that no handle sees: of detached tasks, and of destructors. Without it the
    /// executor drops them, after the panic hook has reported them. The thread that drops the last reference to the task calls the
    /// handler; a panic of the handler is dropped.
    ///
    /// # Panics
    /// If there is one already.
    ///
    /// # Examples
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
        let set = self.here().panic_handler.set(PanicHandler::new(handler));
        assert!(set.is_ok(), "this executor already has a panic handler");
    }
}

impl LocalExecutor<'_> {
    /// A handle that queues runnables of cells which the executor did not make, from any thread.
    /// [`LocalScheduler`] has an example.
    #[must_use = "a handle spawns nothing by itself"]
    pub fn scheduler(&self) -> LocalScheduler {
        LocalScheduler {
            spawner: self.spawner(),
        }
    }
}

impl Default for LocalExecutor<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for LocalExecutor<'_> {
    /// Drops all tasks. Written out, so that the compiler knows that it uses what tasks borrow.
    fn drop(&mut self) {
        let Some(core) = self.core.take() else {
            return;
        };
        let is_kept = match self.end {
            // False inside of one of its tasks, for instance where a process exits there: that task still needs the core.
            End::Close => !core.close(),
            End::Leak => true,
            End::Leave => return,
        };
        cells::give_back();
        if is_kept {
            core::mem::forget(core);
        }
    }
}

impl fmt::Debug for LocalExecutor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.here().debug("LocalExecutor", f)
    }
}
