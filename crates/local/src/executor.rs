//! The single-thread executor.

use std::fmt;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::pin;
use std::sync::Weak;
use std::task::{Poll, Waker};

use terrace_sync::atomic::{AtomicU64, Ordering};
use terrace_sync::{Arc, OnceLock};

use crate::Payload;
use crate::mailbox::Mailbox;
use crate::registry::LocalRegistry;
use crate::task::{self, Core, CoreRef, Register, Runnable, Task};

/// Runnables polled by `run` between two polls of its own future.
const RUN_BATCH: usize = 200;

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

std::thread_local! {
    /// This thread's id; plain data without a destructor, readable at any time in the thread's life.
    static ID: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// The current thread's id: a number that no other thread of the process has or will have. One thread-local
/// load after the first call.
#[inline]
#[must_use]
pub fn thread_id() -> u64 {
    let id = ID.with(std::cell::Cell::get);
    if id != 0 { id } else { new_thread_id() }
}

#[cold]
fn new_thread_id() -> u64 {
    // Ordering: Relaxed, only uniqueness counts.
    let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
    ID.with(|cell| cell.set(id));
    id
}

/// Called when something was queued for a thread from elsewhere.
pub type WakeHook = Box<dyn Fn() + Send + Sync>;

/// What a [`LocalExecutor`], its tasks and its spawners share.
pub struct LocalCore {
    this: Weak<LocalCore>,
    /// The id of the thread that tasks run on.
    owner: u64,
    mailbox: Mailbox<Runnable>,
    registry: LocalRegistry,
    /// Wakes the owner's thread where it does not sleep as a driver.
    hook: OnceLock<WakeHook>,
}

// SAFETY: the registry is touched on the owner's thread only: a task registers in its poll and deregisters when its
// future is dropped, and both happen there. The rest is Send and Sync.
unsafe impl Send for LocalCore {}
// SAFETY: as above.
unsafe impl Sync for LocalCore {}

impl LocalCore {
    /// A core owned by the current thread.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            owner: thread_id(),
            mailbox: Mailbox::new(),
            registry: LocalRegistry::default(),
            hook: OnceLock::new(),
        })
    }

    /// Sets what is called after a push from another thread; the first hook stays.
    pub fn set_hook(&self, hook: WakeHook) {
        if let Err(second) = self.hook.set(hook) {
            drop(second);
        }
    }

    /// The id of the owner's thread.
    #[inline]
    #[must_use]
    pub fn owner(&self) -> u64 {
        self.owner
    }

    /// Whether the current thread is the owner.
    #[inline]
    #[must_use]
    pub fn is_here(&self) -> bool {
        self.owner == thread_id()
    }

    /// Whether the current thread is the owner and something is queued; valid after a fence.
    #[inline]
    #[must_use]
    pub fn has_work(&self) -> bool {
        // SAFETY: this is the owner's thread.
        self.is_here() && !unsafe { self.mailbox.is_empty() }
    }

    /// Polls one task if the current thread is the owner and one is queued. Panics of tasks stay in their handles.
    pub fn try_tick(&self) -> bool {
        if !self.is_here() {
            return false;
        }
        // SAFETY: this is the owner's thread.
        match unsafe { self.mailbox.pop() } {
            Some(task) => {
                task.run();
                true
            }
            None => false,
        }
    }

    /// Queues a runnable that may have another core, such as a scope's, and wakes the owner.
    ///
    /// # Safety
    /// It may be run and dropped on the owner's thread; and that thread does not end before it has been run, for
    /// example because it waits for it.
    pub unsafe fn push(&self, task: Runnable) {
        if self.is_here() {
            // SAFETY: this is the owner's thread.
            unsafe { self.mailbox.push_owner(task) };
        } else {
            self.mailbox.push_foreign(task);
            self.wake();
        }
    }

    fn wake(&self) {
        if let Some(hook) = self.hook.get() {
            hook();
        }
    }

    /// Spawns from the owner's thread.
    ///
    /// # Safety
    /// The current thread is the owner; what the future and its output borrow lives until [`close`](Self::close).
    #[inline]
    pub unsafe fn spawn_owner<T>(self: &Arc<Self>, future: impl Future<Output = T>) -> Task<T> {
        let core: Arc<dyn Core> = Arc::clone(self) as Arc<dyn Core>;
        // SAFETY: polls and drops of the future happen where the mailbox is popped, on the owner's thread.
        let (runnable, task) = unsafe { task::build(CoreRef::Shared(core), future) };
        // SAFETY: this is the owner's thread.
        unsafe { self.mailbox.push_owner(runnable) };
        task
    }

    /// Spawns a `Send` future from any thread. If the executor is closed, the future is dropped here and the
    /// task counts as cancelled.
    pub fn spawn_send<T>(
        self: &Arc<Self>,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T>
    where
        T: Send + 'static,
    {
        // SAFETY: the future is Send and 'static.
        unsafe { self.spawn_foreign(future) }
    }

    /// As [`spawn_send`](Self::spawn_send), for a future that becomes `!Send` only in its first poll.
    ///
    /// # Safety
    /// Before its first poll the future may be moved to, and dropped on, any thread.
    pub unsafe fn spawn_foreign<T>(
        self: &Arc<Self>,
        future: impl Future<Output = T> + 'static,
    ) -> Task<T>
    where
        T: Send + 'static,
    {
        let core: Arc<dyn Core> = Arc::clone(self) as Arc<dyn Core>;
        // SAFETY: the output is Send; the future is polled on the owner's thread, and dropped there once it has been.
        let (runnable, task) = unsafe { task::build(CoreRef::Shared(core), future) };
        match self.mailbox.spawn_foreign(runnable) {
            Ok(()) => self.wake(),
            Err(runnable) => drop(runnable),
        }
        task
    }

    /// Drops every task. Later spawns from other threads are dropped by their callers.
    ///
    /// # Panics
    /// On any thread but the owner: futures may be `!Send`.
    pub fn close(&self) {
        assert!(
            self.is_here(),
            "a single-thread executor must be closed on its own thread"
        );
        self.mailbox.close();
        let drain = || {
            // SAFETY: this is the owner's thread.
            unsafe { self.mailbox.drain(drop) }
        };
        // SAFETY: this is the owner's thread.
        unsafe { self.registry.close(drain) };
    }

    /// Whether no task exists that is queued or pending.
    ///
    /// # Safety
    /// The current thread is the owner.
    unsafe fn is_empty(&self) -> bool {
        // SAFETY: forwarded to the caller.
        let queued = !unsafe { self.mailbox.is_empty() };
        // SAFETY: forwarded to the caller.
        !queued && unsafe { self.registry.is_empty() }
    }
}

impl Drop for LocalCore {
    fn drop(&mut self) {
        // Nothing is queued after a close. Without one the owner's thread is gone, or leaked its executor: futures that
        // may be `!Send` are leaked rather than dropped here.
        // SAFETY: `&mut self` excludes everybody else.
        unsafe { self.mailbox.drain(std::mem::forget) };
    }
}

impl Core for LocalCore {
    unsafe fn schedule(&self, task: Runnable) {
        if self.is_here() {
            // SAFETY: this is the owner's thread.
            unsafe { self.mailbox.push_owner(task) };
            return;
        }
        // The task may hold the last reference to this core, and goes with the push.
        let core = self.this.upgrade().expect("a task keeps its core");
        core.mailbox.push_foreign(task);
        core.wake();
    }

    fn unhandled_panic(&self, payload: Payload) {
        // The panic hook has reported it.
        crate::drop_payload(payload);
    }

    fn registry(&self) -> Option<&dyn Register> {
        Some(self)
    }
}

impl Register for LocalCore {
    fn insert(&self, waker: Waker) -> usize {
        debug_assert!(self.is_here());
        // SAFETY: a task registers in its poll, which happens on the owner's thread.
        unsafe { self.registry.insert(waker) }
    }

    fn remove(&self, key: usize) -> Option<Waker> {
        debug_assert!(self.is_here());
        // SAFETY: a task deregisters when its future is dropped, which happens on the owner's thread.
        unsafe { self.registry.remove(key) }
    }
}

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
    _tasks: PhantomData<std::cell::UnsafeCell<&'a std::rc::Rc<()>>>,
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

    /// The shared part.
    #[must_use]
    pub fn core(&self) -> &Arc<LocalCore> {
        &self.core
    }

    /// Spawns a task. One allocation; cancelled when the handle is dropped, unless it is
    /// [detached](Task::detach).
    pub fn spawn<T: 'a>(&self, future: impl Future<Output = T> + 'a) -> Task<T> {
        // SAFETY: the executor is not Send, so this is its thread; it closes before `'a` ends.
        unsafe { self.core.spawn_owner(future) }
    }

    /// Polls one task; false if none is queued.
    pub fn try_tick(&self) -> bool {
        self.core.try_tick()
    }

    /// Waits until a task is queued and polls it.
    pub async fn tick(&self) {
        let mut driver = Driver {
            core: &self.core,
            key: None,
        };
        poll_fn(|context| {
            driver.wake_up();
            if self.core.try_tick() || driver.sleep(context.waker()) {
                return Poll::Ready(());
            }
            Poll::Pending
        })
        .await;
    }

    /// Runs tasks until `future` is done; sleeps while there is nothing to do.
    pub async fn run<T>(&self, future: impl Future<Output = T>) -> T {
        let mut driver = Driver {
            core: &self.core,
            key: None,
        };
        let mut future = pin!(future);
        poll_fn(|context| {
            driver.wake_up();
            if let Poll::Ready(output) = future.as_mut().poll(context) {
                return Poll::Ready(output);
            }
            for _ in 0..RUN_BATCH {
                if !self.core.try_tick() {
                    if !driver.sleep(context.waker()) {
                        return Poll::Pending;
                    }
                }
            }
            // More to do: let the others of this thread have their turn.
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await
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
        if self.closes {
            self.core.close();
        }
    }
}

/// One `run` or `tick` in progress.
struct Driver<'a> {
    core: &'a LocalCore,
    /// Set while it is registered as sleeping.
    key: Option<u64>,
}

impl Driver<'_> {
    fn wake_up(&mut self) {
        if let Some(key) = self.key.take() {
            self.core.mailbox.end_sleep(key);
        }
    }

    /// Goes to sleep; true if something turned up meanwhile and was polled.
    fn sleep(&mut self, waker: &Waker) -> bool {
        // SAFETY: drivers borrow their executor, which is not Send: this is its thread.
        self.key = unsafe { self.core.mailbox.sleep(waker.clone()) };
        self.key.is_none() && self.core.try_tick()
    }
}

impl Drop for Driver<'_> {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            let woken = !self.core.mailbox.end_sleep(key);
            // A wake that this driver will not follow, or work that it leaves, is the next driver's.
            if woken {
                self.core.mailbox.wake_driver();
            }
        } else if self.core.has_work() {
            self.core.mailbox.wake_driver();
        }
    }
}
