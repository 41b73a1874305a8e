//! [`CoreOf`]: what a single-thread executor, its tasks and its spawners share.

pub mod eager;
mod metrics;

use alloc::boxed::Box;
use core::cell::Cell;
use core::fmt;
use core::ptr::NonNull;
use core::task::Waker;

use slab::Slab;
use terrace_sync::cell::UnsafeCell;
use terrace_sync::unmodelled::Weak;
use terrace_sync::{OnceLock, heavy};

use self::eager::{A_TURN, Depth, Entered};
pub use self::metrics::LocalMetrics;
use self::metrics::Tally;
use crate::cells;
use crate::mailbox::{Mailbox, Queueable};
use crate::on_owner::OnOwner;
use crate::registry::{self, Register, UNKEPT, key};
use crate::settle::settle_after;
use crate::task::core::{Core, PanicHandler};
use crate::thread_id::{ThreadNumber, thread_id};
use crate::unwind::{Callback, Contained, contain};

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
    pub(crate) mailbox: Mailbox<R>,
    /// Whether a close is to find every pending task. Invariant of this field and the next five: only the owner touches them, but for a
    /// part of the last.
    pub(crate) keeps_pending: Cell<bool>,
    /// The wakers of pending tasks: a waker that this keeps is a counted one, of two plain counts. Borrowed for one operation of the slab
    /// at a time: no users' code and no drop of a waker runs while a borrow lives.
    pending: UnsafeCell<Slab<Waker>>,
    depth: Depth,
    /// How many more eager children the owner polls before it queues one.
    eager_left: Cell<u32>,
    /// Polls of handles, by the owner, whose tasks had not ended, wrapping.
    awaited: Cell<u32>,
    pub(crate) tally: Tally,
    /// Tells an event loop, or the owner's thread, that something is queued.
    hook: OnceLock<Callback<dyn Fn() + Send + Sync>>,
    pub(crate) panic_handler: OnceLock<PanicHandler>,
}

// SAFETY: methods of `OnOwner`, or behind a check of `is_here`, touch `keeps_pending`, `pending`, `depth`, `eager_left`, `awaited` and
// `tally`. `Register` and `Core::ended` do, too, where tasks are polled and their futures dropped, on the owner's thread. The rest is
// Send and Sync.
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
            keeps_pending: Cell::new(this.is_some()),
            pending: UnsafeCell::new(Slab::new()),
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

    /// The number of the owner's thread.
    #[inline]
    pub fn owner(&self) -> ThreadNumber {
        self.owner
    }

    /// Whether the current thread is the owner.
    #[inline]
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
    pub fn has_work(&self) -> bool {
        self.on_owner()
            .is_some_and(|core| !core.mailbox().is_empty())
    }

    /// Whether the current thread is the owner and in the middle of one of the tasks.
    pub fn is_running(&self) -> bool {
        self.on_owner().is_some_and(|core| core.depth.get() != 0)
    }

    /// A number that grows whenever the owner polls the handle of one of the tasks, and the task has not ended. A thread that
    /// blocks in one of the tasks learns by it whether it blocks on another one. 0 on every other thread.
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
        let pending = || {
            core.pending.with(|pending| {
                // SAFETY: this is the owner's thread. To clone a task's waker raises a count, and runs nothing that borrows.
                let pending = unsafe { &*pending };
                pending.iter().map(|(_, waker)| waker.clone()).collect()
            })
        };
        registry::close(pending, || core.mailbox().drain(drop));
        true
    }

    /// Calls the hook, if there is one.
    #[inline]
    pub(crate) fn call_hook(&self) {
        if let Some(Contained(Some(hook))) = self.hook.get() {
            contain(hook);
        }
    }

    /// Queues a task that another thread woke.
    ///
    /// # Safety
    /// `this` is in place until a close has seen this push leave.
    #[cold]
    pub(crate) unsafe fn schedule_remote(this: NonNull<Self>, task: R) {
        // SAFETY: in place, as the caller promises.
        let mailbox = unsafe { &raw const (*this.as_ptr()).mailbox };
        // SAFETY: a field of something in place is not null.
        let mailbox = unsafe { NonNull::new_unchecked(mailbox.cast_mut()) };
        let last = || {
            // SAFETY: in place: the push calls this before it leaves.
            let this = unsafe { this.as_ref() };
            let wakes = this.mailbox.has_sleeper() || this.hook.get().is_some();
            // None of a core that is never dropped.
            wakes.then(|| this.this.upgrade())
        };
        // SAFETY: the mailbox is in place until a close, which drains it, has seen this push leave.
        let kept = unsafe { Mailbox::push_and_leave(mailbox, task, last) };
        if let Some(_counted) = kept {
            // SAFETY: the counted reference keeps the core in place; without one the core is never freed.
            let this = unsafe { this.as_ref() };
            this.mailbox.wake_sleeper();
            this.call_hook();
        }
    }
}

impl<'a, R: Queueable> OnOwner<'a, CoreOf<R>> {
    /// The queues, and the owner's side of them.
    #[inline]
    pub(crate) fn mailbox(self) -> OnOwner<'a, Mailbox<R>> {
        // SAFETY: the mailbox belongs to the thread that owns the core.
        unsafe { self.part(|core| &core.mailbox) }
    }

    /// Begins a call in which the core must not be closed.
    #[inline]
    pub(crate) fn enter(self) -> Entered<'a> {
        self.get().depth.enter()
    }

    /// Queues a task that the owner's thread woke or spawned.
    #[inline]
    pub(crate) fn schedule_local(self, task: R) {
        if self.mailbox.has_sleeper() || self.depth.has_on_ready() {
            self.push_and_announce(task);
        } else {
            self.mailbox().push_quietly(task);
        }
    }

    /// [`schedule_local`](Self::schedule_local) where a driver sleeps, or the core has an on-ready hook.
    #[cold]
    fn push_and_announce(self, task: R) {
        let was_empty = self.mailbox().is_empty();
        self.mailbox().push_quietly(task);
        self.announce(was_empty);
    }

    /// Wakes a sleeping driver, and calls an on-ready hook if the queues `were_empty` before the push.
    #[cold]
    fn announce(self, were_empty: bool) {
        // The code of users that runs here may drop the executor. A close does nothing while this call is entered.
        let _entered = self.enter();
        self.mailbox.wake_sleeper();
        if were_empty && self.depth.has_on_ready() {
            self.call_hook();
        }
    }

    /// Wakes a driver or an event loop of this thread, if something is queued: after a batch that was queued quietly.
    pub(crate) fn notify(self) {
        if !self.mailbox().is_empty() {
            self.announce(true);
        }
    }

    /// Calls an on-ready hook if something is queued: a driver stops now.
    #[inline]
    pub(crate) fn notify_of_rest(self) {
        if self.depth.has_on_ready() && self.has_queued() {
            // The hook is users' code. A close does nothing while this call is entered.
            let _entered = self.enter();
            self.call_hook();
        }
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
            self.get().tally.eager.bump();
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

    /// A driver is about to sleep: the thread keeps no memory that it need not keep.
    pub(crate) fn rest(self) {
        self.get().tally.parks.bump();
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

    /// Whether a task is queued.
    pub(crate) fn has_queued(self) -> bool {
        // An item that other threads pushed may be one of a task that has ended.
        self.mailbox().admit();
        !self.mailbox().is_empty()
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
        self.tally.ended.bump();
    }

    fn abandoned(&self) {
        // Else a thread drops a future that it could not spawn, because the executor is closed.
        if self.is_here() {
            self.tally.ended.bump();
        }
    }

    fn panic_handler(&self) -> Option<PanicHandler> {
        self.panic_handler.get().cloned()
    }

    #[inline]
    fn registry(&self) -> Option<&dyn Register> {
        Some(self)
    }
}

/// The registry: no lock.
impl<R: Queueable> Register for CoreOf<R> {
    #[inline]
    unsafe fn insert(&self, waker: &Waker) -> u32 {
        if !self.keeps_pending.get() {
            return UNKEPT;
        }
        let waker = waker.clone();
        self.pending.with_mut(|pending| {
            // SAFETY: the caller is in a poll of a task, and the owner alone polls them. `Slab::insert` moves wakers without running
            // their code.
            let pending = unsafe { &mut *pending };
            key(pending.insert(waker))
        })
    }

    /// `None` if the core does not keep the task.
    #[inline]
    unsafe fn remove(&self, key: u32) -> Option<Waker> {
        if key == UNKEPT {
            return None;
        }
        self.pending.with_mut(|pending| {
            // SAFETY: the caller polls or drops the future of a task, and the owner alone does either. `try_remove` moves a waker
            // without running its code.
            let pending = unsafe { &mut *pending };
            pending.try_remove(key as usize)
        })
    }
}
