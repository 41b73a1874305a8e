//! [`CoreOf`]: what a single-thread executor, its tasks and its spawners share.

pub mod eager;
mod metrics;
mod schedule;

use alloc::boxed::Box;
use core::cell::Cell;
use core::fmt;

use terrace_sync::unmodelled::Weak;
use terrace_sync::{OnceLock, heavy};

use self::eager::{A_TURN, Depth, Entered};
pub use self::metrics::LocalMetrics;
use self::metrics::{Tally, bump};
use crate::cells;
use crate::mailbox::{Mailbox, Queueable};
use crate::on_owner::OnOwner;
use crate::registry::{LocalRegistry, Register};
use crate::settle::settle_after;
use crate::task::core::{Core, PanicHandler};
use crate::thread_id::{ThreadNumber, thread_id};
use crate::unwind::{Callback, Contained};

/// What a [`LocalExecutor`](crate::LocalExecutor), its tasks and its spawners share. Generic over the runnables `R` in its
/// queues, so that it knows nothing of tasks' cells; there is one kind, [`LocalCore`](crate::LocalCore).
///
/// Tasks refer to it without counting. It stays in place until the last future has been dropped, and the last remote
/// push has left. [`close`](Self::close) waits for both, and [`LocalExecutor`](crate::LocalExecutor) leaks a core that it
/// cannot close.
pub struct CoreOf<R: Queueable> {
    /// For the time of a remote wake. Dangling in a core that is never dropped.
    this: Weak<Self>,
    /// The number of the thread that tasks run on.
    owner: ThreadNumber,
    mailbox: Mailbox<R>,
    /// Invariant of this field and the next four: only the owner touches them, but for a part of the last.
    registry: LocalRegistry,
    depth: Depth,
    /// How many more eager children the owner polls before it queues one.
    eager_left: Cell<u32>,
    /// Polls of handles, by the owner, whose tasks had not ended, wrapping.
    awaited: Cell<u32>,
    tally: Tally,
    /// Tells an event loop, or the owner's thread, that something is queued.
    hook: OnceLock<Callback<dyn Fn() + Send + Sync>>,
    panic_handler: OnceLock<PanicHandler>,
}

// SAFETY: methods of `OnOwner`, or behind a check of `is_here`, touch `registry`, `depth`, `eager_left`, `awaited` and `tally`. `Register`
// and `Core::ended` do, too, where tasks are polled and their futures dropped, on the owner's thread. The rest is Send and Sync.
unsafe impl<R: Queueable + Send> Send for CoreOf<R> {}
// SAFETY: see `Send`: other threads reach only what is Sync.
unsafe impl<R: Queueable + Send> Sync for CoreOf<R> {}

impl<R: Queueable> CoreOf<R> {
    /// A core of the current thread. `this` refers to it if its owner drops it some time. Then [`close`](Self::close) finds its
    /// pending tasks.
    pub(crate) fn new(this: Option<Weak<Self>>) -> Self {
        Self {
            owner: thread_id(),
            mailbox: Mailbox::default(),
            registry: LocalRegistry::new(this.is_some()),
            this: this.unwrap_or_default(),
            depth: Depth::default(),
            eager_left: Cell::new(A_TURN),
            awaited: Cell::new(0),
            tally: Tally::default(),
            hook: OnceLock::new(),
            panic_handler: OnceLock::new(),
        }
    }

    /// Sets what is called after each push from another thread. The pushing thread calls it; it must not panic.
    ///
    /// # Panics
    /// If the core has one, or an on-ready hook, already.
    pub fn set_hook(&self, hook: impl Fn() + Send + Sync + 'static) {
        let set = self.hook.set(Contained(Some(Box::new(hook))));
        assert!(set.is_ok(), "this executor already has an on-ready hook");
    }

    /// As [`LocalExecutor::set_panic_handler`](crate::LocalExecutor::set_panic_handler).
    pub(crate) fn set_panic_handler(&self, handler: PanicHandler) {
        let set = self.panic_handler.set(handler);
        assert!(set.is_ok(), "this executor already has a panic handler");
    }

    /// The number of the owner's thread.
    #[inline]
    #[must_use = "the call only reads a value"]
    pub fn owner(&self) -> ThreadNumber {
        self.owner
    }

    /// Whether the current thread is the owner.
    #[inline]
    #[must_use = "the call only answers a question"]
    pub fn is_here(&self) -> bool {
        self.owner() == thread_id()
    }

    /// The owner's side, if the current thread is the owner.
    #[inline]
    #[must_use = "only the proof that is returned gives access"]
    pub fn on_owner(&self) -> Option<OnOwner<'_, Self>> {
        self.is_here().then(|| {
            // SAFETY: the current thread has the owner's number.
            unsafe { OnOwner::assume(self) }
        })
    }

    /// Whether the current thread is the owner and something is queued; valid after a fence.
    #[inline]
    #[must_use = "the call only answers a question"]
    pub fn has_work(&self) -> bool {
        self.on_owner()
            .is_some_and(|core| !core.mailbox().is_empty())
    }

    /// Whether the current thread is the owner and in the middle of one of the tasks.
    #[must_use = "the call only answers a question"]
    pub fn is_running(&self) -> bool {
        self.on_owner().is_some_and(|core| core.depth.get() != 0)
    }

    /// A number that grows whenever the owner polls the handle of one of the tasks, and the task has not ended. A thread that
    /// blocks in one of the tasks learns by it whether it blocks on another one. 0 on every other thread.
    #[must_use = "the call only reads a value"]
    pub fn awaited(&self) -> u32 {
        self.on_owner().map_or(0, |core| core.awaited.get())
    }

    /// Drops every task. A later spawn drops its future at once.
    ///
    /// Does nothing and returns false inside one of the tasks or its destructor. The close could not drop that task,
    /// and would wait for it without end.
    ///
    /// # Panics
    /// On any thread but the owner: futures may be `!Send`.
    #[must_use = "if it is not closed, what tasks borrow must be kept"]
    pub fn close(&self) -> bool {
        let core = self
            .on_owner()
            .expect("a single-thread executor must be closed on its own thread");
        if core.depth.get() != 0 {
            return false;
        }
        let _entered = core.enter();
        self.mailbox.close();
        core.depth.set_closed();
        core.registry().close(|| core.mailbox().drain(drop));
        true
    }

    /// Queues a task that another thread has made; gives it back if the core is closed.
    pub(crate) fn spawn_queued(&self, item: R) -> Result<(), R> {
        // Before the push: the owner may run and count the end of the task right behind it.
        self.tally.add_remote();
        let pushed = self.mailbox.spawn_remote(item);
        match pushed {
            Ok(()) => self.call_hook(),
            Err(_) => self.tally.take_back_remote(),
        }
        pushed
    }
}

impl<'a, R: Queueable> OnOwner<'a, CoreOf<R>> {
    /// The queues, and the owner's side of them.
    #[inline]
    pub(crate) fn mailbox(self) -> OnOwner<'a, Mailbox<R>> {
        // SAFETY: the mailbox belongs to the thread that owns the core.
        unsafe { self.part(|core| &core.mailbox) }
    }

    /// Where tasks register for the time they are pending.
    #[inline]
    pub(crate) fn registry(self) -> OnOwner<'a, LocalRegistry> {
        // SAFETY: the registry belongs to the thread that owns the core.
        unsafe { self.part(|core| &core.registry) }
    }

    /// Begins a call in which the core must not be closed.
    #[inline]
    pub(crate) fn enter(self) -> Entered<'a> {
        self.get().depth.enter()
    }

    /// As [`LocalExecutor::set_on_ready`](crate::LocalExecutor::set_on_ready).
    pub(crate) fn set_on_ready(self, hook: impl Fn() + Send + Sync + 'static) {
        self.set_hook(hook);
        self.depth.set_on_ready();
        // Pairs with the fence of a remote push, before its look for the hook: the push finds the hook, or this thread the item.
        heavy();
        self.notify();
    }

    /// Whether an eager child is polled as it is spawned. Counts it.
    #[inline]
    pub(crate) fn polls_at_spawn(self) -> bool {
        let left = &self.get().eager_left;
        let (fewer, was_none) = left.get().overflowing_sub(1);
        left.set(fewer);
        if was_none {
            left.set(A_TURN);
            return false;
        }
        let polls = self.get().depth.allows_eager();
        if polls {
            bump(&self.get().tally.eager);
        }
        polls
    }

    /// A turn begins, of a task or of a driver's own future.
    #[inline]
    pub(crate) fn begin_turn(self) {
        self.get().eager_left.set(A_TURN);
    }

    /// Counts a poll of a handle whose task has not ended.
    #[inline]
    pub(crate) fn note_awaited(self) {
        self.awaited.set(self.awaited.get().wrapping_add(1));
    }

    /// Counts a task that this thread queues as it spawns it.
    #[inline]
    pub(crate) fn count_spawn(self) {
        bump(&self.get().tally.queued);
    }

    /// Counts a poll of a task.
    #[inline]
    pub(crate) fn count_poll(self) {
        bump(&self.get().tally.polls);
    }

    /// A driver is about to sleep: the thread keeps no memory that it need not keep.
    pub(crate) fn rest(self) {
        bump(&self.get().tally.parks);
        cells::give_back();
        self.settle();
    }

    /// A driver is about to sleep, or lets other futures of its thread have their turn. See [`settle_after`].
    #[inline]
    pub(crate) fn settle(self) {
        let tally = &self.get().tally;
        let polls = tally.polls.get();
        if settle_after(polls.wrapping_sub(tally.settled.get())) {
            tally.settled.set(polls);
        }
    }

    /// As [`LocalExecutor::metrics`](crate::LocalExecutor::metrics).
    pub(crate) fn metrics(self) -> LocalMetrics {
        // First: an item of another thread is in the run queue, and its spawn in the tally, or neither matters yet.
        self.mailbox().admit();
        let tally = &self.get().tally;
        LocalMetrics {
            num_alive_tasks: tally.alive(),
            spawned_tasks_count: tally.spawned(),
            queue_depth: self.mailbox().queued(),
            poll_count: tally.polls.get().wrapping_add(tally.eager.get()),
            park_count: tally.parks.get(),
        }
    }

    /// Whether a task is queued.
    pub(crate) fn has_queued(self) -> bool {
        // An item that other threads pushed may be one of a task that has ended.
        self.mailbox().admit();
        !self.mailbox().is_empty()
    }

    /// Whether every task has ended.
    pub(crate) fn is_empty(self) -> bool {
        self.get().tally.alive() == 0
    }

    /// What executors show of themselves.
    pub(crate) fn debug(self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(name)
            .field("thread", &self.owner())
            .field("queued", &self.mailbox().queued())
            .field("running", &self.depth.get())
            .field("alive", &self.get().tally.alive())
            .finish_non_exhaustive()
    }
}

impl<R: Queueable> Drop for CoreOf<R> {
    fn drop(&mut self) {
        // SAFETY: `&mut self` excludes every other thread.
        let mailbox = unsafe { OnOwner::assume(&self.mailbox) };
        debug_assert!(mailbox.is_empty(), "a core is dropped after its close");
    }
}

impl<R: Queueable + Send + 'static> Core for CoreOf<R> {
    const COUNTS: bool = true;

    #[inline]
    unsafe fn ended(&self) {
        debug_assert!(self.is_here());
        bump(&self.tally.ended);
    }

    fn abandoned(&self) {
        // Else a thread drops a future that it could not spawn, because the executor is closed.
        if self.is_here() {
            bump(&self.tally.ended);
        }
    }

    fn panic_handler(&self) -> Option<PanicHandler> {
        self.panic_handler.get().cloned()
    }

    #[inline]
    fn registry(&self) -> Option<&dyn Register> {
        Some(&self.registry)
    }
}
