//! What a scope's thread runs while it waits for the children, and which sleepers of the pool a push of a child wakes: the slot as the core of
//! its children.
//!
//! A thread off the pool that drives a scope of it counts as busy with that pool, once, however its scopes are nested.
//!
//! A scope opens in its pool at its first child, which any thread may spawn. So the outer scope may open after the inner
//! one, or not at all. The thread therefore records for itself whether it is counted:
//!
//! | on the scope's thread                               | not counted yet                    | counted    |
//! |-----------------------------------------------------|------------------------------------|------------|
//! | its body spawns the first child, or its wait begins | +1, and the scope has counted it   | nothing    |
//! | its wait sleeps, and is awake again                 | cannot be                          | −1, and +1 |
//! | the scope ends that has counted it                  | cannot be                          | −1         |
//!
//! A first child that another thread spawns counts nothing: the scope's thread counts itself when its wait begins.

use std::ptr::NonNull;
use std::time::Duration;

use terrace_local::task::{Core, Runnable, Schedule};
use terrace_sync::time::Instant;
use terrace_thread::ThreadSpawner;

use crate::parts::pacing::Stopwatch;
use crate::parts::scopes::Slot;
use crate::pool::frames::run_task;
use crate::pool::{Shared, runner};
use crate::protocol::scope::ScopeCore;
use crate::run::wait::WaitFor;
use crate::thread_executor::ThreadQueue;
use crate::tuned::{CALL, WAKE};

/// A scope's waiter.
pub(super) struct ScopeWait<'a> {
    pool: &'a Shared,
    slot: &'a Slot<Shared>,
    executors: &'a [&'a ThreadQueue],
    on_worker: bool,
    turn: u32,
    watch: Stopwatch,
}

impl<'a> ScopeWait<'a> {
    /// The thread of the scope in `slot` waits from `began` on. It also ticks the `executors`.
    pub(super) fn new(
        pool: &'a Shared,
        slot: &'a Slot<Shared>,
        executors: &'a [&'a ThreadQueue],
        began: Instant,
    ) -> Self {
        Self {
            pool,
            slot,
            executors,
            on_worker: runner::is_worker_of(pool),
            turn: 0,
            watch: Stopwatch::start_at(began),
        }
    }
}

impl ScopeWait<'_> {
    fn run_child(&mut self) -> bool {
        // SAFETY: this thread opened the scope.
        let Some(child) = (unsafe { self.slot.core.pop_owner(self.turn) }) else {
            return false;
        };
        run_task(child);
        if self.watch.child_ran(self.pool.scopes.pacing(self.slot)) {
            self.pool.reconsider(self.slot);
        }
        true
    }

    /// Whether one of the executors has a task.
    fn has_tasks(&self) -> bool {
        let mut executors = self.executors.iter();
        executors.any(|executor| executor.has_work_here())
    }

    /// Runs a task of one of the executors. The first one to look at changes each second turn.
    fn tick(&self) -> bool {
        if !self.has_tasks() {
            return false;
        }
        let first = self.turn as usize / 2 % self.executors.len();
        let (later, sooner) = self.executors.split_at(first);
        let mut executors = sooner.iter().chain(later);
        executors.any(|executor| executor.try_tick_here())
    }
}

impl WaitFor for ScopeWait<'_> {
    const NAME: &'static str = "a scope";

    fn is_done(&self) -> bool {
        self.slot.core.has_ended()
    }

    /// The executors and the children take turns, so that a task which keeps waking itself starves none of them.
    fn run_one(&mut self) -> bool {
        self.turn = self.turn.wrapping_add(1);
        let child_first = self.turn % 2 == 0;
        (child_first && self.run_child()) || self.tick() || (!child_first && self.run_child())
    }

    fn has_work(&self) -> bool {
        self.slot.core.waiter_has_work() || self.has_tasks()
    }

    fn announce_sleep(&mut self) {
        if !self.on_worker {
            self.pool.scopes.drivers.fall();
        }
        self.slot.core.announce_sleep();
    }

    /// The wait has found no child to run. So those that do not wait themselves are in the middle of a poll, or are about to be: the
    /// last of them ends within a child's time.
    fn patience(&self) -> Duration {
        let core = &self.slot.core;
        let pacing = self.pool.scopes.pacing(self.slot);
        if pacing.outlasts_wakes() {
            Duration::ZERO
        } else if core.pending() > core.cancel().waiting() {
            Duration::from_nanos(pacing.child_ns().into()).max(WAKE)
        } else {
            CALL
        }
    }

    fn end_sleep(&mut self) {
        self.slot.core.end_sleep();
        if !self.on_worker {
            self.pool.scopes.drivers.rise();
        }
        self.watch = Stopwatch::start();
    }
}

/// Which thread a push wakes.
#[derive(Clone, Copy, PartialEq, Eq)]
#[must_use = "a push that wakes no thread where it should is a lost wake"]
enum Wakes {
    /// No thread: an awake thread will take the child, and a sentinel watches.
    None,
    /// The scope's sleeping waiter.
    Waiter,
    /// A worker, as the sleeping protocol chooses.
    Worker,
}

/// Which thread the pusher has to wake for a child that it has just pushed. `looks`: the pusher looks at the list when its present work
/// is done, as the scope's own thread and a worker of the pool do.
fn after_push(slot: &Slot<Shared>, pool: &Shared, looks: bool) -> Wakes {
    ScopeCore::<Runnable, ThreadSpawner>::after_push();
    let asleep = slot.core.is_asleep();
    let driven = looks || !asleep;
    if driven && pool.idle.has_sentinel() && pool.surplus(slot) == 0 {
        Wakes::None
    } else if asleep {
        Wakes::Waiter
    } else {
        Wakes::Worker
    }
}

/// Puts a child into the list of its scope, on the scope's own thread, which looks at the list before it sleeps.
///
/// # Safety
/// The calling thread is the scope's, and the scope is open.
#[inline]
unsafe fn push_own(slot: &Slot<Shared>, child: Runnable) {
    // SAFETY: an open scope borrows its pool.
    let pool = unsafe { &*slot.pool() };
    // SAFETY: this is the owner's thread.
    unsafe { slot.core.push_owner(child) };
    if after_push(slot, pool, true) != Wakes::None {
        pool.publish();
    }
}

/// Puts a child into the list of its scope, on another thread than the scope's. `wake` wakes the scope's thread.
#[inline]
fn push_remote(slot: &Slot<Shared>, pool: &Shared, child: Runnable, wake: impl FnOnce()) {
    slot.core.push_remote(child);
    match after_push(slot, pool, runner::is_worker_of(pool)) {
        Wakes::None => {}
        Wakes::Worker => pool.publish(),
        Wakes::Waiter => wake(),
    }
}

/// Puts a child that was just made into the list of its scope.
///
/// # Safety
/// The caller is the scope's body or a living child, so the scope is open during the call.
#[inline]
pub(super) unsafe fn push_spawned(slot: &Slot<Shared>, child: Runnable) {
    let core = &slot.core;
    if core.is_owner(terrace_thread::id().get()) {
        // SAFETY: the caller keeps the scope open.
        return unsafe { push_own(slot, child) };
    }
    // SAFETY: an open scope borrows its pool.
    let pool = unsafe { &*slot.pool() };
    push_remote(slot, pool, child, || {
        if core.claim_wake() {
            // SAFETY: the caller keeps the scope open.
            unsafe { core.waiter() }.notify();
        }
    });
}

impl Core for Slot<Shared> {}

impl Schedule for Slot<Shared> {
    unsafe fn schedule(this: NonNull<Self>, child: Runnable) {
        // SAFETY: the child's scope is open up to the push, and the slot lives as long as the pool.
        let slot = unsafe { this.as_ref() };
        let core = &slot.core;
        if core.is_owner(terrace_thread::id().get()) {
            // SAFETY: this is the waiter's thread, inside of its scope.
            return unsafe { push_own(slot, child) };
        }
        // As soon as the child is pushed, it may run and end, and its scope may close. So this
        // clones the pool's reference and the waiter's handle before the push. The slot lives as
        // long as the pool.
        // SAFETY: the child that is being scheduled has not ended, so its scope is open and the
        // pool alive, up to the push.
        let pool = unsafe { &*slot.pool() }.arc();
        // SAFETY: the same child keeps the scope open up to the push.
        let waiter = unsafe { core.waiter() };
        // The pusher does not claim the flag. It may belong to the slot's next scope by now, whose waiter would then sleep on. One wake
        // too many does no harm.
        push_remote(slot, &pool, child, || waiter.notify());
    }
}
