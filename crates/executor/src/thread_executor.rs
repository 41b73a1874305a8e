//! An executor whose tasks run only where and when its owner ticks it.

use std::fmt;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::{self, NonNull};
use std::task::Poll;

use terrace_local::registry::Registry;
use terrace_local::task::{self, Core, CoreRef, Register, Runnable, Schedule, Task};
use terrace_local::wait_list::{WaitList, Waiter};
use terrace_local::{OnOwner, boxing_large};
use terrace_queue::Injector;
use terrace_sync::Arc;
use terrace_sync::atomic::{AtomicUsize, Ordering};
use terrace_sync::unmodelled::Weak;
use terrace_thread::{Notify, ThreadId};

use crate::pool::frames::run_task;

/// An executor that belongs to the thread that made it and takes `Send` tasks from any thread. No
/// task runs until the owner ticks it through its [`Ticker`], or waits in a scope that ticks it. Once the owner has
/// ended, no thread runs a task: the executor keeps them queued, and its drop cancels them. A thread that waits for such a task waits until that
/// drop. The thread of a scope with a child on the executor waits without end.
///
/// # Examples
///
/// ```
/// let executor = terrace_executor::ThreadExecutor::new();
/// let task = executor.spawn(async { 1 });
/// assert!(!task.is_finished());
/// assert!(executor.ticker().expect("made on this thread").try_tick());
/// assert!(task.is_finished());
/// ```
pub struct ThreadExecutor<'t> {
    queue: Arc<ThreadQueue>,
    /// Invariant: tasks of `'t` go in and come out.
    _futures: PhantomData<fn(&'t ()) -> &'t ()>,
}

/// The queue of a [`ThreadExecutor`], without the lifetime of what its tasks borrow: a scope of `terrace-fork` takes it in its
/// `Config`.
///
/// # Examples
///
/// ```
/// let executor = terrace_executor::ThreadExecutor::new();
/// let task = executor.spawn(async {});
/// assert!(format!("{:?}", executor.queue()).contains("queued: 1"));
/// # drop(task);
/// ```
pub struct ThreadQueue {
    this: Weak<ThreadQueue>,
    tasks: Injector<Runnable>,
    owner: ThreadId,
    /// Wakes the owner where it waits for a scope or in `block_on`.
    notify: Arc<dyn Notify>,
    /// The owner's `tick` futures that sleep. The owner may be inside of one, so a push wakes all.
    ticks: WaitList,
    registry: Registry,
    /// How many tasks the owner is in the middle of. The owner alone writes it.
    polls: AtomicUsize,
}

impl ThreadQueue {
    /// As `spawn`, for a future whose lifetime the executor does not know.
    ///
    /// # Safety
    /// What the future borrows lives until the future has been dropped.
    #[cfg_attr(feature = "timeline", track_caller)]
    pub(crate) unsafe fn spawn_erased<T: Send>(
        &self,
        future: impl Future<Output = T> + Send,
    ) -> Task<T> {
        let core = self.this.upgrade().expect("a queue in use is alive");
        // SAFETY: future and output are Send; the lifetime is the caller's promise.
        let (runnable, task) = unsafe { task::build(CoreRef::Shared(core), future) };
        runnable.schedule();
        task
    }

    /// Its `Debug` output under this name.
    fn describe(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(name)
            .field("owner", &self.owner)
            .field("queued", &self.tasks.len_hint())
            .finish()
    }

    fn is_here(&self) -> bool {
        terrace_thread::id() == self.owner
    }

    /// Runs one task, if the current thread is the owner and there is one.
    pub(crate) fn try_tick_here(&self) -> bool {
        if !self.has_work_here() {
            return false;
        }
        match self.tasks.pop() {
            Some(task) => {
                // Ordering: Relaxed, no other thread writes it, and the owner reads it.
                let polls = self.polls.load(Ordering::Relaxed);
                self.polls.store(polls + 1, Ordering::Relaxed);
                run_task(task);
                self.polls.store(polls, Ordering::Relaxed);
                true
            }
            None => false,
        }
    }

    /// Whether the current thread is the owner and a task is queued; valid after a fence.
    pub(crate) fn has_work_here(&self) -> bool {
        !self.tasks.is_empty() && self.is_here()
    }
}

impl Core for ThreadQueue {
    fn registry(&self) -> Option<&dyn Register> {
        Some(&self.registry)
    }
}

impl Schedule for ThreadQueue {
    unsafe fn schedule(this: NonNull<Self>, task: Runnable) {
        // SAFETY: the task refers to its queue, which is alive up to the push.
        let this = unsafe { this.as_ref() };
        // The task's reference to the queue goes with the push, so the push needs another one.
        let queue = this.this.upgrade().expect("a task keeps its queue");
        queue.tasks.push(task);
        queue.ticks.wake_all();
        if !queue.is_here() {
            queue.notify.notify();
        }
    }
}

impl UnwindSafe for ThreadQueue {}
impl RefUnwindSafe for ThreadQueue {}
impl UnwindSafe for ThreadExecutor<'_> {}
impl RefUnwindSafe for ThreadExecutor<'_> {}

impl<'t> ThreadExecutor<'t> {
    /// An executor owned by the current thread.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::ThreadExecutor::new();
    /// assert!(executor.ticker().is_some(), "this thread owns it");
    /// ```
    #[must_use = "it runs no task until it ticks"]
    pub fn new() -> Self {
        let queue = Arc::new_cyclic(|this| ThreadQueue {
            this: this.clone(),
            tasks: Injector::new(),
            owner: terrace_thread::id(),
            notify: terrace_thread::notifier(),
            ticks: WaitList::default(),
            registry: Registry::default(),
            polls: AtomicUsize::new(0),
        });
        Self {
            queue,
            _futures: PhantomData,
        }
    }

    /// Queues a task for the owner; it is cancelled when the handle is dropped, unless it is
    /// [detached](Task::detach). One allocation; the queue allocates while it grows.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::ThreadExecutor;
    ///
    /// let executor = ThreadExecutor::new();
    /// let task = std::thread::scope(|scope| {
    ///     // Any thread may spawn; the tasks run here.
    ///     scope.spawn(|| executor.spawn(async { std::thread::current().id() })).join().unwrap()
    /// });
    /// executor.ticker().expect("made on this thread").try_tick();
    /// assert_eq!(terrace_executor::block_on(task), std::thread::current().id());
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn<T: Send + 't>(&self, future: impl Future<Output = T> + Send + 't) -> Task<T> {
        boxing_large!(|future| {
            // SAFETY: the executor drops its tasks before `'t` ends, in its own drop.
            unsafe { self.queue.spawn_erased(future) }
        })
    }

    /// The right to run tasks; `None` on any thread but the owner.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::ThreadExecutor::new();
    /// assert!(executor.ticker().is_some());
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| assert!(executor.ticker().is_none()));
    /// });
    /// ```
    #[must_use = "it runs no task until it ticks"]
    pub fn ticker<'e>(&'e self) -> Option<Ticker<'t, 'e>> {
        self.queue.is_here().then_some(Ticker {
            executor: self,
            _not_send: PhantomData,
        })
    }

    /// Whether both are the same executor.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::ThreadExecutor;
    ///
    /// let (one, other) = (ThreadExecutor::new(), ThreadExecutor::new());
    /// assert!(one.is_same(&one));
    /// assert!(!one.is_same(&other));
    /// ```
    #[must_use = "the call only answers a question"]
    pub fn is_same(&self, other: &Self) -> bool {
        ptr::eq(self, other)
    }

    /// Its queue. Its type has no lifetime, so a scope can tick it for any `'t`.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{ThreadExecutor, ThreadQueue};
    ///
    /// /// What a scope is given, whatever the executor's tasks borrow.
    /// struct Config<'a> {
    ///     external: &'a ThreadQueue,
    /// }
    ///
    /// let word = String::from("borrowed");
    /// let executor = ThreadExecutor::new();
    /// let task = executor.spawn(async { word.len() });
    /// let config = Config { external: executor.queue() };
    /// assert!(std::ptr::eq(config.external, executor.queue()));
    /// # drop(task);
    /// ```
    #[must_use = "the call only reads a value"]
    pub fn queue(&self) -> &ThreadQueue {
        &self.queue
    }
}

impl Default for ThreadExecutor<'_> {
    /// The same as [`new`](Self::new): owned by the current thread.
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ThreadExecutor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.queue.describe("ThreadExecutor", f)
    }
}

impl fmt::Debug for ThreadQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe("ThreadQueue", f)
    }
}

impl Drop for ThreadExecutor<'_> {
    fn drop(&mut self) {
        let queue = &self.queue;
        // A ticker borrows the executor, so the process exits inside one of its tasks. This cannot drop that task, nor
        // wait for it, so it leaks all.
        // Ordering: Relaxed, as in `try_tick_here`.
        if queue.polls.load(Ordering::Relaxed) != 0 {
            return;
        }
        queue.registry.close(|| {
            let mut dropped = false;
            while let Some(task) = queue.tasks.pop() {
                dropped = true;
                drop(task);
            }
            dropped
        });
    }
}

/// Runs the tasks of a [`ThreadExecutor`] on its own thread.
///
/// # Examples
///
/// ```
/// use terrace_executor::{ThreadExecutor, block_on};
///
/// let executor = ThreadExecutor::new();
/// let ticker = executor.ticker().expect("made on this thread");
/// assert!(!ticker.try_tick(), "nothing is queued");
///
/// let task = executor.spawn(async { 6 * 7 });
/// block_on(ticker.tick());
/// assert!(task.is_finished());
/// ```
#[must_use = "it runs no task until it ticks"]
pub struct Ticker<'t, 'e> {
    executor: &'e ThreadExecutor<'t>,
    _not_send: PhantomData<*const ()>,
}

impl Ticker<'_, '_> {
    /// Runs one task; false if there was none.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::ThreadExecutor::new();
    /// let ticker = executor.ticker().expect("made on this thread");
    /// let task = executor.spawn(async { 6 * 7 });
    /// assert!(ticker.try_tick());
    /// assert!(task.is_finished() && !ticker.try_tick());
    /// ```
    pub fn try_tick(&self) -> bool {
        self.executor.queue.try_tick_here()
    }

    /// Waits until there is a task and runs it. Its first poll that finds none costs one allocation.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{ThreadExecutor, block_on};
    ///
    /// let executor = ThreadExecutor::new();
    /// let ticker = executor.ticker().expect("made on this thread");
    /// std::thread::scope(|scope| {
    ///     let spawned = scope.spawn(|| executor.spawn(async { 6 * 7 }));
    ///     block_on(ticker.tick());
    ///     assert!(spawned.join().unwrap().is_finished());
    /// });
    /// ```
    pub async fn tick(&self) {
        let queue = &*self.executor.queue;
        // SAFETY: a ticker, and so this future, stays on the thread that owns the queue.
        let mut waiter = Waiter::new(unsafe { OnOwner::assume(&queue.ticks) });
        poll_fn(|context| {
            waiter.wake_up();
            if queue.try_tick_here() {
                return Poll::Ready(());
            }
            if waiter.sleep_unless(context.waker(), || queue.has_work_here()) {
                return Poll::Pending;
            }
            queue.try_tick_here();
            Poll::Ready(())
        })
        .await;
    }
}

impl fmt::Debug for Ticker<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticker")
            .field("executor", self.executor)
            .finish()
    }
}
