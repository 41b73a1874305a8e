//! How tasks get onto a [`LocalCore`]: from its own thread, and by [`LocalSpawner`] from any. By [`LocalScheduler`] also those in cells
//! that the executor does not make.

use core::fmt;
use core::future::Future;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll};

use async_task::{Runnable, ScheduleInfo};
use terrace_sync::unmodelled::Arc;

use crate::biased::Side;
use crate::mailbox::Queueable;
use crate::on_owner::OnOwner;
use crate::task::Task;
use crate::task::guarded::boxing_large;
use crate::task::local::cell::LocalCore;
use crate::task::local::{build, poll_at_spawn};
use crate::thread_id::{ThreadNumber, thread_id};

impl LocalCore {
    /// Spawns, from any thread, a future that becomes `!Send`, if at all, in its first poll. If the executor is closed, the
    /// future is dropped here and the task counts as cancelled.
    ///
    /// # Safety
    /// Before its first poll the future may be moved to, and dropped on, any thread.
    #[cfg_attr(feature = "timeline", track_caller)]
    pub(crate) unsafe fn spawn_remote<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + 'static,
    ) -> Task<T> {
        // SAFETY: the core stays, as in `spawn_scoped`. The output is Send, and everything is 'static.
        let (item, task) = unsafe { build(NonNull::from(self), future, Side::Remote) };
        // Before the push: the owner may run and count the end of the task right behind it.
        self.tally.add_remote();
        match self.mailbox.spawn_remote(item) {
            Ok(()) => self.call_hook(),
            Err(item) => {
                self.tally.take_back_remote();
                // SAFETY: the mailbox gave the item back, so no other thread knows of the task: this one takes its owner's steps. The
                // caller lets the future be dropped here.
                drop(unsafe { item.arrive() });
            }
        }
        Task::new(task)
    }
}

/// Which call wakes a driver after a spawn.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Wake {
    /// The spawn.
    Now,
    /// The caller, by [`OnOwner::notify`], after a batch.
    Later,
}

impl OnOwner<'_, LocalCore> {
    /// Spawns a task. If the executor is closed, the future is dropped here and the task counts as cancelled.
    #[inline]
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn<T: 'static>(self, future: impl Future<Output = T> + 'static) -> Task<T> {
        // SAFETY: everything is 'static.
        unsafe { self.spawn_scoped(future, Wake::Now) }
    }

    /// Spawns a task and polls it once, if the limits of `polls_at_spawn` allow it. Else as
    /// [`spawn_scoped`](Self::spawn_scoped).
    ///
    /// # Safety
    /// As [`spawn_scoped`](Self::spawn_scoped).
    #[inline]
    #[cfg_attr(feature = "timeline", track_caller)]
    pub(crate) unsafe fn spawn_eager<T>(self, future: impl Future<Output = T>) -> Task<T> {
        if !self.polls_at_spawn() {
            // SAFETY: the caller promises the same.
            return unsafe { self.queue_eager(future) };
        }
        // No close frees the core while this call is entered.
        let _entered = self.enter();
        // SAFETY: `LocalExecutor` makes every core, and frees it after a close only, as in `spawn_scoped`. The close does nothing while
        // this call is entered. The handle of an output that is not Send stays on this thread, as it is not Send. The caller
        // promises that what is borrowed lives.
        Task::new(unsafe { poll_at_spawn(self, future) })
    }

    /// # Safety
    /// As [`spawn_scoped`](Self::spawn_scoped).
    #[cold]
    #[cfg_attr(feature = "timeline", track_caller)]
    unsafe fn queue_eager<T>(self, future: impl Future<Output = T>) -> Task<T> {
        // SAFETY: the caller promises the same.
        unsafe { self.spawn_scoped(future, Wake::Now) }
    }

    /// As [`spawn`](Self::spawn), for a future that borrows.
    ///
    /// # Safety
    /// What the future and its output borrow lives until [`close`](LocalCore::close), or until the task ends and its output is
    /// dropped.
    #[inline]
    #[cfg_attr(feature = "timeline", track_caller)]
    pub(crate) unsafe fn spawn_scoped<T>(
        self,
        future: impl Future<Output = T>,
        wake: Wake,
    ) -> Task<T> {
        // SAFETY: `LocalExecutor` makes every core, and frees it after a close only. The close drops every future and waits for items
        // of ended tasks; while a task runs it does nothing, and the core is leaked. The handle of an output that is not Send
        // stays on this thread, as it is not Send. The caller promises that what is borrowed lives.
        let (item, task) = unsafe { build(NonNull::from(self.get()), future, Side::Local) };
        self.get().tally.queued.bump();
        if self.mailbox().is_closed() {
            drop(item);
        } else if wake == Wake::Later {
            self.mailbox().push_quietly(item);
        } else {
            self.schedule_local(item);
        }
        Task::new(task)
    }
}

/// Spawns tasks onto a single-thread executor, from any thread; they run on the executor's thread and nowhere else.
///
/// After the executor's drop, a spawn drops its future at once, and the task counts as cancelled; see
/// [`FallibleTask`](crate::FallibleTask).
///
/// # Examples
///
/// ```
/// use terrace_local::LocalExecutor;
///
/// let executor = LocalExecutor::new();
/// let spawner = executor.spawner();
/// let make = || async { *std::rc::Rc::new(42) };
/// let task = std::thread::spawn(move || spawner.spawn_with(make));
/// let task = task.join().unwrap();
/// assert_eq!(futures_lite::future::block_on(executor.run(task)), 42);
/// ```
#[doc(alias("Handle", "RemoteHandle", "SendSpawner"))]
#[derive(Clone)]
pub struct LocalSpawner {
    pub(crate) core: Arc<LocalCore>,
}

// A panic of a task stays in the task, so a spawner is never seen half-changed.
impl UnwindSafe for LocalSpawner {}
impl RefUnwindSafe for LocalSpawner {}

impl LocalSpawner {
    /// The id of the thread that tasks run on.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_local::LocalExecutor;
    ///
    /// let (here, peer) = (LocalExecutor::new(), LocalExecutor::new());
    /// let thread = here.spawner().thread_id();
    /// assert_eq!(thread, peer.spawner().thread_id());
    /// let other = std::thread::spawn(|| LocalExecutor::new().spawner().thread_id());
    /// assert_ne!(thread, other.join().unwrap());
    /// ```
    #[must_use = "the call only reads a value"]
    pub fn thread_id(&self) -> ThreadNumber {
        self.core.owner()
    }

    /// Spawns a `Send` future. One allocation.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_local::LocalExecutor::new();
    /// let spawner = executor.spawner();
    /// let task = std::thread::spawn(move || spawner.spawn(async { 6 * 7 })).join().unwrap();
    /// assert_eq!(futures_lite::future::block_on(executor.run(task)), 42);
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn<T>(&self, future: impl Future<Output = T> + Send + 'static) -> Task<T>
    where
        T: Send + 'static,
    {
        // SAFETY: the future is Send.
        boxing_large!(|future| unsafe { self.spawn_unchecked(future, First::InQueue) })
    }

    /// As [`LocalExecutor::spawn_eager`](crate::LocalExecutor::spawn_eager) on the executor's thread. On any other thread as
    /// [`spawn`](Self::spawn).
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_local::LocalExecutor::new();
    /// let spawner = executor.spawner();
    /// assert!(spawner.spawn_eager(async {}).is_finished());
    /// let task = std::thread::spawn(move || spawner.spawn_eager(async {})).join().unwrap();
    /// assert!(!task.is_finished());
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_eager<T>(&self, future: impl Future<Output = T> + Send + 'static) -> Task<T>
    where
        T: Send + 'static,
    {
        // SAFETY: the future is Send.
        boxing_large!(|future| unsafe { self.spawn_unchecked(future, First::AtSpawn) })
    }

    /// Spawns the future that `make` returns, which need not be `Send`: `make` is called on the executor's thread.
    /// The [type](Self) has an example.
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_with<F>(&self, make: impl FnOnce() -> F + Send + 'static) -> Task<F::Output>
    where
        F: Future + 'static,
        F::Output: Send + 'static,
    {
        let future = async move { make().await };
        // SAFETY: before its first poll the future consists of `make` alone, which is Send.
        boxing_large!(|future| unsafe { self.spawn_unchecked(future, First::InQueue) })
    }

    /// As [`spawn_with`](Self::spawn_with). On the executor's thread it calls `make`, and polls the future once, before it
    /// returns, as [`LocalExecutor::spawn_eager`](crate::LocalExecutor::spawn_eager) does.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_local::LocalExecutor::new();
    /// let mut task = executor.spawner().spawn_eager_with(|| async { *std::rc::Rc::new(42) });
    /// assert_eq!(task.try_take(), Some(42));
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_eager_with<F>(&self, make: impl FnOnce() -> F + Send + 'static) -> Task<F::Output>
    where
        F: Future + 'static,
        F::Output: Send + 'static,
    {
        let future = async move { make().await };
        // SAFETY: before its first poll the future consists of `make` alone, which is Send.
        boxing_large!(|future| unsafe { self.spawn_unchecked(future, First::AtSpawn) })
    }

    /// # Safety
    /// Before its first poll the future may be moved to, and dropped on, any thread.
    #[inline]
    #[cfg_attr(feature = "timeline", track_caller)]
    unsafe fn spawn_unchecked<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + 'static,
        first: First,
    ) -> Task<T> {
        match (self.core.on_owner(), first) {
            (Some(core), First::InQueue) => core.spawn(future),
            // SAFETY: everything is 'static.
            (Some(core), First::AtSpawn) => unsafe { core.spawn_eager(future) },
            // SAFETY: the caller says that the future may be on any thread until its first poll.
            (None, _) => unsafe { self.core.spawn_remote(future) },
        }
    }
}

/// Where a task has its first poll, if its executor's thread spawns it.
#[derive(Clone, Copy)]
enum First {
    /// Out of the queue.
    InQueue,
    /// In the call that spawns it.
    AtSpawn,
}

impl fmt::Debug for LocalSpawner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalSpawner")
            .field("thread", &self.thread_id())
            .finish()
    }
}

/// Queues runnables of [`async_task`] cells on the executor of one thread.
/// [`LocalExecutor::scheduler`](crate::LocalExecutor::scheduler) makes it.
///
/// It is for programs that bring their own cells: with metadata of their own in the schedule function, or with the plain
/// [`async_task::Task`] as the handle. The schedule function of a cell keeps a scheduler, and calls [`schedule`](Self::schedule).
/// The runnables lie in the same queues as the executor's own tasks, and have their turns in the same order.
///
/// The executor's thread alone runs a runnable that was given to a scheduler, and it alone drops one. So the future need not be
/// `Send`. `async_task::spawn_local` makes cells of such futures without unsafe code.
///
/// These things of the executor's own tasks they lack:
///
/// - Each call of `schedule` makes a small task that holds the runnable: one allocation a wake. So an interrupt must not wake them.
/// - A panic stays in the cell only if the cell was built with `Builder::propagate_panic`. Else it is a panic of the small task,
///   which goes to the executor's panic handler.
/// - The drop of the executor drops the runnables that are queued. It does not find the cells that wait for a wake, and
///   [`is_empty`](crate::LocalExecutor::is_empty) does not count them. A later wake on the executor's thread drops the runnable. One on
///   another thread leaks it, since its future may have to stay on its thread; a handle that awaits it waits without end.
///
/// # Examples
///
/// ```
/// use async_task::{Runnable, ScheduleInfo, WithInfo};
///
/// let executor = terrace_local::LocalExecutor::new();
/// let scheduler = executor.scheduler();
/// let schedule = move |runnable: Runnable, info: ScheduleInfo| scheduler.schedule(runnable, info);
/// let number = std::rc::Rc::new(42);
/// let (runnable, task) = async_task::spawn_local(async move { *number }, WithInfo(schedule));
/// runnable.schedule();
/// assert_eq!(futures_lite::future::block_on(executor.run(task)), 42);
/// ```
#[derive(Clone)]
pub struct LocalScheduler {
    pub(crate) spawner: LocalSpawner,
}

impl LocalScheduler {
    /// Queues a runnable behind all others, and wakes the executor's thread: the body of a schedule function.
    /// The [type](Self) has an example.
    pub fn schedule(&self, runnable: Runnable, _info: ScheduleInfo) {
        self.start(runnable);
    }

    /// As [`schedule`](Self::schedule), for a caller that has no [`ScheduleInfo`].
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_local::LocalExecutor::new();
    /// let scheduler = executor.scheduler();
    /// let schedule = move |runnable| scheduler.start(runnable);
    /// let (runnable, task) = async_task::spawn_local(async { 6 * 7 }, schedule);
    /// runnable.schedule();
    /// assert_eq!(futures_lite::future::block_on(executor.run(task)), 42);
    /// ```
    pub fn start(&self, runnable: Runnable) {
        let turn = Turn {
            runnable: Some(runnable),
            owner: self.spawner.thread_id(),
        };
        self.spawner.spawn(turn).detach();
    }
}

impl fmt::Debug for LocalScheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalScheduler")
            .field("thread", &self.spawner.thread_id())
            .finish()
    }
}

/// The small task of one turn of a runnable.
struct Turn {
    /// There until it is polled.
    runnable: Option<Runnable>,
    owner: ThreadNumber,
}

impl Future for Turn {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        // The executor polls its tasks on its own thread.
        if let Some(runnable) = self.runnable.take() {
            runnable.run();
        }
        Poll::Ready(())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.owner != thread_id() {
            // The executor has ended, and the runnable's future may have to stay on that thread.
            core::mem::forget(self.runnable.take());
        }
    }
}
