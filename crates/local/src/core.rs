//! What a single-thread executor, its tasks and its spawners share.

use alloc::boxed::Box;
use core::cell::Cell;
use core::future::Future;
use core::task::Waker;

use terrace_sync::atomic::Ordering;
use terrace_sync::unmodelled::Weak;
use terrace_sync::{Arc, OnceLock, const_fn};

use crate::Payload;
use crate::mailbox::Mailbox;
use crate::registry::LocalRegistry;
use crate::task::{self, Core, CoreRef, Register, Runnable, Task};
use crate::thread_id::{AtomicThreadNumber, ThreadNumber, thread_id};

/// Called when something was queued for a thread from elsewhere.
pub type WakeHook = Box<dyn Fn() + Send + Sync>;

/// What a [`LocalExecutor`](crate::LocalExecutor), its tasks and its spawners share.
pub struct LocalCore {
    /// Dangling in a core that is never dropped.
    this: Weak<LocalCore>,
    /// The id of the thread that tasks run on; 0 until it is known.
    owner: AtomicThreadNumber,
    pub(crate) mailbox: Mailbox<Runnable>,
    /// Empty in a core that is never dropped.
    registry: LocalRegistry,
    /// Tasks being run, nested ones counted. Owner only.
    running: Cell<usize>,
    /// Wakes the owner's thread where it does not sleep as a driver.
    hook: OnceLock<WakeHook>,
}

// SAFETY: the registry is touched on the owner's thread only: a task registers in its poll and deregisters when its
// future is dropped, and both happen there. So is `running`: by `run`, which requires it, and after `is_here`. The
// rest is Send and Sync.
unsafe impl Send for LocalCore {}
// SAFETY: as above.
unsafe impl Sync for LocalCore {}

impl LocalCore {
    /// A core owned by the current thread.
    #[must_use]
    pub fn new() -> Arc<Self> {
        let core = Arc::new_cyclic(|this| Self::with(this.clone()));
        core.bind();
        core
    }

    const_fn! {
        /// A core that is never dropped, of the thread that binds it. Its tasks do not register.
        pub(crate) const fn unbound() -> Self {
            Self::with(Weak::new())
        }
    }

    const_fn! {
        const fn with(this: Weak<Self>) -> Self {
            Self {
                this,
                owner: AtomicThreadNumber::new(0),
                mailbox: Mailbox::new(),
                registry: LocalRegistry::new(),
                running: Cell::new(0),
                hook: OnceLock::new(),
            }
        }
    }

    /// Makes the current thread the owner, if there is none.
    #[inline]
    pub(crate) fn bind(&self) {
        if self.owner() == 0 {
            // Ordering: Relaxed. No task exists yet, and who gets one later got it from this thread.
            self.owner.store(thread_id(), Ordering::Relaxed);
        }
    }

    /// Sets what is called after a push from another thread; the first hook stays.
    pub fn set_hook(&self, hook: WakeHook) {
        if let Err(second) = self.hook.set(hook) {
            drop(second);
        }
    }

    /// The id of the owner's thread; 0 if there is none yet.
    #[inline]
    #[must_use]
    pub fn owner(&self) -> ThreadNumber {
        // Ordering: Relaxed, see `bind`.
        self.owner.load(Ordering::Relaxed)
    }

    /// Whether the current thread is the owner.
    #[inline]
    #[must_use]
    pub fn is_here(&self) -> bool {
        self.owner() == thread_id()
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
                // SAFETY: this is the owner's thread.
                unsafe { self.run(task) };
                true
            }
            None => false,
        }
    }

    /// Runs one task.
    ///
    /// # Safety
    /// The current thread is the owner.
    #[inline]
    pub(crate) unsafe fn run(&self, task: Runnable) {
        let _running = Running::new(&self.running);
        task.run();
    }

    /// Whether the current thread is the owner and in the middle of one of the tasks.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.is_here() && self.running.get() != 0
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

    /// Spawns from the owner's thread. If the executor is closed, the future is dropped here and the task counts as
    /// cancelled.
    ///
    /// # Safety
    /// The current thread is the owner; what the future and its output borrow lives until [`close`](Self::close).
    #[inline]
    pub unsafe fn spawn_owner<T>(self: &Arc<Self>, future: impl Future<Output = T>) -> Task<T> {
        let core: Arc<dyn Core> = task::erased(Arc::clone(self));
        // SAFETY: polls and drops of the future happen where the mailbox is popped, on the owner's thread.
        let (runnable, task) = unsafe { task::build(CoreRef::Shared(core), future) };
        if self.mailbox.is_closed() {
            // Its destructor runs here, on the owner's thread.
            drop(runnable);
        } else {
            // SAFETY: this is the owner's thread.
            unsafe { self.mailbox.push_owner(runnable) };
        }
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
        let core: Arc<dyn Core> = task::erased(Arc::clone(self));
        // SAFETY: the output is Send; the future is polled on the owner's thread, and dropped there once it has been.
        let (runnable, task) = unsafe { task::build(CoreRef::Shared(core), future) };
        match self.mailbox.spawn_foreign(runnable) {
            Ok(()) => self.wake(),
            Err(runnable) => drop(runnable),
        }
        task
    }

    /// Drops every task. Later spawns are dropped by their callers.
    ///
    /// Does nothing and returns false inside one of the tasks: that one could not be dropped, and waiting for it would
    /// never end.
    ///
    /// # Panics
    /// On any thread but the owner: futures may be `!Send`.
    #[must_use = "if it is not closed, what tasks borrow must be kept"]
    pub fn close(&self) -> bool {
        assert!(
            self.is_here(),
            "a single-thread executor must be closed on its own thread"
        );
        if self.running.get() != 0 {
            return false;
        }
        self.mailbox.close();
        let drain = || {
            // SAFETY: this is the owner's thread.
            unsafe { self.mailbox.drain(drop) }
        };
        // SAFETY: this is the owner's thread.
        unsafe { self.registry.close(drain) };
        true
    }

    /// Whether no task exists that is queued or pending.
    ///
    /// # Safety
    /// The current thread is the owner.
    pub(crate) unsafe fn is_empty(&self) -> bool {
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
        unsafe { self.mailbox.drain(core::mem::forget) };
    }
}

impl Core for LocalCore {
    unsafe fn schedule(&self, task: Runnable) {
        if self.is_here() {
            // SAFETY: this is the owner's thread.
            unsafe { self.mailbox.push_owner(task) };
            return;
        }
        // The task may hold the last reference to this core, and goes with the push. A core that counts no references
        // is never dropped.
        let _counted = self.this.upgrade();
        self.mailbox.push_foreign(task);
        self.wake();
    }

    fn unhandled_panic(&self, payload: Payload) {
        // The panic hook has reported it.
        crate::drop_payload(payload);
    }

    fn registry(&self) -> Option<&dyn Register> {
        // Counted references are there to be dropped.
        (self.this.strong_count() != 0).then_some(self as &dyn Register)
    }
}

impl Register for LocalCore {
    unsafe fn insert(&self, waker: Waker) -> usize {
        debug_assert!(self.is_here());
        // SAFETY: tasks of this core are polled on the owner's thread.
        unsafe { self.registry.insert(waker) }
    }

    unsafe fn remove(&self, key: usize) -> Option<Waker> {
        debug_assert!(self.is_here());
        // SAFETY: futures of this core are dropped on the owner's thread.
        unsafe { self.registry.remove(key) }
    }
}

/// Counts one run for as long as it lives.
struct Running<'a>(&'a Cell<usize>);

impl<'a> Running<'a> {
    #[inline]
    fn new(running: &'a Cell<usize>) -> Self {
        running.set(running.get() + 1);
        Self(running)
    }
}

impl Drop for Running<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}
