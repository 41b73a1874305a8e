//! What a single-thread executor, its tasks and its spawners share.

mod schedule;

use core::cell::Cell;
use core::fmt;
use core::future::Future;
use core::ptr::NonNull;
use core::task::Waker;

use terrace_sync::atomic::Ordering;
use terrace_sync::unmodelled::Weak;
use terrace_sync::{OnceLock, const_fn};

use crate::hook::Hook;
use crate::mailbox::Mailbox;
use crate::registry::LocalRegistry;
use crate::task::{Item, PanicHandler, Register, Runnable, Task, biased};
use crate::thread_id::{AtomicThreadNumber, ThreadNumber, thread_id};

/// What a [`LocalExecutor`](crate::LocalExecutor), its tasks and its spawners share.
///
/// Tasks refer to it without counting: it stays in place until the last future has been dropped, and the last push from
/// another thread has left. [`close`](Self::close) waits for both, and [`OwnedCore`](crate::OwnedCore) leaks what was not closed.
pub struct LocalCore {
    /// For the time of a wake from elsewhere. Dangling in a core that is never dropped.
    this: Weak<LocalCore>,
    /// The id of the thread that tasks run on; 0 until it is known.
    owner: AtomicThreadNumber,
    pub(crate) mailbox: Mailbox<Item>,
    registry: LocalRegistry,
    /// Tasks being run and closes in progress, nested ones counted. Owner only.
    running: Cell<usize>,
    /// Tells whoever drives the executor that something is queued.
    hook: OnceLock<Hook>,
    panic_handler: OnceLock<PanicHandler>,
}

// SAFETY: the registry is touched on the owner's thread only: a task registers in its poll and deregisters when its
// future is dropped, and both happen there. So is `running`: by `run`, which requires it, and after `is_here`. The
// rest is Send and Sync.
unsafe impl Send for LocalCore {}
// SAFETY: as above.
unsafe impl Sync for LocalCore {}

impl LocalCore {
    const_fn! {
        /// A core of the thread that binds it; `this` refers to it if it is counted. `closes` says whether it may have to drop its pending tasks.
        pub(crate) const fn unbound(this: Weak<Self>, closes: bool) -> Self {
            Self {
                this,
                owner: AtomicThreadNumber::new(0),
                mailbox: Mailbox::new(),
                registry: LocalRegistry::new(closes),
                running: Cell::new(0),
                hook: OnceLock::new(),
                panic_handler: OnceLock::new(),
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

    /// Sets what is called after each push from another thread. Called by whoever pushes; must not panic.
    ///
    /// # Panics
    /// If there is one, or an on-ready hook, already.
    pub fn set_hook(&self, hook: impl Fn() + Send + Sync + 'static) {
        self.set(Hook::new(hook, false));
    }

    /// As [`LocalExecutor::set_on_ready`](crate::LocalExecutor::set_on_ready).
    pub(crate) fn set_on_ready(&self, hook: impl Fn() + Send + Sync + 'static) {
        self.set(Hook::new(hook, true));
    }

    fn set(&self, hook: Hook) {
        let set = self.hook.set(hook);
        assert!(
            set.is_ok(),
            "this executor already tells somebody when there is work"
        );
    }

    /// As [`LocalExecutor::set_panic_handler`](crate::LocalExecutor::set_panic_handler).
    pub(crate) fn set_panic_handler(&self, handler: PanicHandler) {
        let set = self.panic_handler.set(handler);
        assert!(set.is_ok(), "this executor already has a panic handler");
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
        // SAFETY: this is the owner's thread.
        self.is_here() && unsafe { self.tick_here() }
    }

    /// As `try_tick`.
    ///
    /// # Safety
    /// The current thread is the owner, or there is none.
    #[inline]
    pub(crate) unsafe fn tick_here(&self) -> bool {
        // SAFETY: forwarded to the caller.
        match unsafe { self.mailbox.pop() } {
            Some(task) => {
                // SAFETY: forwarded to the caller.
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
    pub(crate) unsafe fn run(&self, task: Item) {
        let _running = Running::new(&self.running);
        // SAFETY: forwarded to the caller; nobody frees the core while this counts as a run.
        unsafe { task.run() };
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
        let (this, item) = (NonNull::from(self), Item::runnable(task));
        if self.is_here() {
            // SAFETY: this is the owner's thread; borrowed, the core is in place.
            unsafe { Self::schedule_here(this, item) };
        } else {
            // SAFETY: borrowed, the core is in place.
            unsafe { Self::schedule_from_elsewhere(this, item) };
        }
    }

    /// Spawns from the owner's thread. If the executor is closed, the future is dropped here and the task counts as
    /// cancelled.
    ///
    /// # Safety
    /// The current thread is the owner, or there is none, which binds the core to it; what the future and its output
    /// borrow lives until [`close`](Self::close), or until the task ends; the core is dropped after a close only.
    #[inline]
    pub unsafe fn spawn_owner<T>(&self, future: impl Future<Output = T>) -> Task<T> {
        // SAFETY: forwarded to the caller.
        let (item, task) = unsafe { self.build_here(future) };
        if let Some(item) = item {
            // SAFETY: this is the owner's thread.
            unsafe { Self::schedule_here(NonNull::from(self), item) };
        }
        task
    }

    /// As [`spawn_owner`](Self::spawn_owner) for a batch: [`notify_owner`](Self::notify_owner) comes after it.
    ///
    /// # Safety
    /// As [`spawn_owner`](Self::spawn_owner).
    pub(crate) unsafe fn spawn_quietly<T>(&self, future: impl Future<Output = T>) -> Task<T> {
        // SAFETY: forwarded to the caller.
        let (item, task) = unsafe { self.build_here(future) };
        if let Some(item) = item {
            // SAFETY: this is the owner's thread.
            unsafe { self.mailbox.push_quietly(item) };
        }
        task
    }

    /// Makes a task of the owner's thread, and its item, unless the executor is closed.
    ///
    /// # Safety
    /// As [`spawn_owner`](Self::spawn_owner).
    #[inline]
    unsafe fn build_here<T>(&self, future: impl Future<Output = T>) -> (Option<Item>, Task<T>) {
        self.bind();
        // SAFETY: it has an owner now; the rest is forwarded to the caller.
        let (item, task) = unsafe { self.build(future, true) };
        if self.mailbox.is_closed() {
            // SAFETY: just made; the future's destructor runs here, on the owner's thread.
            unsafe { item.reject() };
            return (None, task);
        }
        (Some(item), task)
    }

    /// # Safety
    /// As [`spawn_owner`](Self::spawn_owner), and there is an owner; `home` says whether this is its thread.
    #[inline]
    unsafe fn build<T>(&self, future: impl Future<Output = T>, home: bool) -> (Item, Task<T>) {
        // SAFETY: the core is dropped after a close only, on the thread where tasks end, see `OwnedCore`; the close
        // does nothing while one of them is running, and waits for items of ended ones. Polls and drops of the future
        // happen where the mailbox is popped, on the owner's thread; what it borrows is the caller's promise.
        let (item, task) = unsafe { biased::build(NonNull::from(self), future, home) };
        (item, Task::local(task))
    }

    /// Wakes whoever drives this thread, if something is queued: after a batch that was queued quietly.
    ///
    /// # Safety
    /// The current thread is the owner.
    pub(crate) unsafe fn notify_owner(&self) {
        // SAFETY: forwarded to the caller.
        if !unsafe { self.mailbox.is_empty() } {
            // SAFETY: forwarded to the caller; the core is borrowed.
            unsafe { Self::announce_here(NonNull::from(self), true) };
        }
    }

    /// Spawns from any thread a future that becomes `!Send`, if at all, in its first poll. If the executor is closed, the
    /// future is dropped here and the task counts as cancelled.
    ///
    /// # Safety
    /// Before its first poll the future may be moved to, and dropped on, any thread. The core is dropped after a close
    /// only, and not during the call.
    pub(crate) unsafe fn spawn_foreign<T>(
        &self,
        future: impl Future<Output = T> + 'static,
    ) -> Task<T>
    where
        T: Send + 'static,
    {
        // SAFETY: the output is Send; the future is polled on the owner's thread, and dropped there once it has been.
        let (item, task) = unsafe { self.build(future, false) };
        match self.mailbox.spawn_foreign(item) {
            Ok(()) => self.call_hook(),
            // SAFETY: given back, so that nobody knows of it; the future may be dropped here.
            Err(item) => unsafe { item.reject() },
        }
        task
    }

    /// Drops every task. Later spawns are dropped by their callers.
    ///
    /// Does nothing and returns false inside one of the tasks, or of its destructor: that one could not be dropped, and
    /// waiting for it would never end.
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
        let _running = Running::new(&self.running);
        self.mailbox.close();
        let drain = || {
            // SAFETY: this is the owner's thread.
            unsafe { self.mailbox.drain(drop) }
        };
        // SAFETY: this is the owner's thread.
        unsafe { self.registry.close(drain) };
        true
    }

    /// Never closes from now on, so that tasks need not be found again.
    ///
    /// # Safety
    /// The current thread is the owner; the core is neither closed nor dropped any more.
    pub(crate) unsafe fn keep_for_ever(&self) {
        // SAFETY: forwarded to the caller.
        unsafe { self.registry.keep_no_more() };
    }

    /// Whether no task exists that is queued, being run or pending.
    ///
    /// # Safety
    /// The current thread is the owner, or there is none.
    pub(crate) unsafe fn is_empty(&self) -> bool {
        // What comes from elsewhere may be of tasks that have ended.
        // SAFETY: forwarded to the caller.
        unsafe { self.mailbox.admit() };
        // SAFETY: forwarded to the caller.
        let queued = !unsafe { self.mailbox.is_empty() };
        // SAFETY: forwarded to the caller.
        let pending = unsafe { self.registry.len() };
        !queued && pending == 0 && self.running.get() == 0
    }

    /// What executors show of themselves.
    ///
    /// # Safety
    /// The current thread is the owner, or there is none.
    pub(crate) unsafe fn debug(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: forwarded to the caller.
        let queued = unsafe { self.mailbox.queued() };
        // SAFETY: forwarded to the caller.
        let pending = unsafe { self.registry.len() };
        f.debug_struct(name)
            .field("thread", &self.owner())
            .field("queued", &queued)
            .field("running", &self.running.get())
            .field("registered", &pending)
            .finish_non_exhaustive()
    }
}

impl Drop for LocalCore {
    fn drop(&mut self) {
        // SAFETY: `&mut self` excludes everybody else.
        let empty = unsafe { self.mailbox.is_empty() };
        debug_assert!(empty, "a core is dropped after its close");
    }
}

impl Register for LocalCore {
    #[inline]
    unsafe fn insert(&self, waker: &Waker) -> u32 {
        debug_assert!(self.is_here());
        // SAFETY: tasks of this core are polled on the owner's thread.
        unsafe { self.registry.insert(waker) }
    }

    #[inline]
    unsafe fn remove(&self, key: u32) -> Option<Waker> {
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
