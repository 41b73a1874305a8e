//! What a scope's thread runs while it waits for the children, and how its pool counts it.
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

use std::ptr;
use std::time::Duration;

use terrace_sync::time::Instant;

use crate::parts::pacing::Stopwatch;
use crate::parts::scopes::Slot;
use crate::pool::frames::run_task;
use crate::pool::runner;
use crate::pool::shared::Shared;
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
        let Some(child) = (unsafe { self.slot.core().pop_owner(self.turn) }) else {
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
        self.slot.core().has_ended()
    }

    /// The executors and the children take turns, so that a task which keeps waking itself starves none of them.
    fn run_one(&mut self) -> bool {
        self.turn = self.turn.wrapping_add(1);
        let child_first = self.turn % 2 == 0;
        (child_first && self.run_child()) || self.tick() || (!child_first && self.run_child())
    }

    fn has_work(&self) -> bool {
        self.slot.core().waiter_has_work() || self.has_tasks()
    }

    fn announce_sleep(&mut self) {
        if !self.on_worker {
            self.pool.scopes.driver_leaves();
        }
        self.slot.core().announce_sleep();
    }

    /// The wait has found no child to run. So those that do not wait themselves are in the middle of a poll, or are about to be: the
    /// last of them ends within a child's time.
    fn patience(&self) -> Duration {
        let core = self.slot.core();
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
        self.slot.core().end_sleep();
        if !self.on_worker {
            self.pool.scopes.driver_enters();
        }
        self.watch = Stopwatch::start();
    }
}

/// The bit of the thread's record that says: counted.
const COUNTED: usize = 1;

/// What the thread has recorded of its innermost open scope: the pool, and whether the thread is counted there.
#[derive(Clone, Copy)]
pub(super) struct Record(*const ());

impl Record {
    fn of(pool: *const Shared, counted: bool) -> Self {
        let pool: *const () = pool.cast();
        Self(pool.map_addr(|address| address | if counted { COUNTED } else { 0 }))
    }

    fn pool(self) -> *const Shared {
        self.0.map_addr(|address| address & !COUNTED).cast()
    }

    fn is_counted(self) -> bool {
        self.0.addr() & COUNTED != 0
    }

    /// Makes this the thread's record. Returns the one before.
    fn set(self) -> Self {
        Self(terrace_thread::internal::replace_scope(self.0))
    }

    /// A scope of `pool` opens on this thread. Returns the record of the scope that it is nested in.
    #[inline]
    pub(super) fn scope_opens(pool: &Shared) -> Self {
        let outer = Self::of(pool, false).set();
        if ptr::eq(outer.pool(), pool) {
            outer.set();
        }
        outer
    }

    /// The scope of `pool` ends that found this record when it opened, and `has_counted` its thread.
    #[inline]
    pub(super) fn scope_ends(self, pool: &Shared, has_counted: bool) {
        if has_counted {
            pool.scopes.driver_leaves();
        } else if ptr::eq(self.pool(), pool) {
            // The outer scope may have counted the thread since.
            return;
        }
        self.set();
    }
}

/// Counts the current thread, whose innermost open scope is one of `pool`, unless it is counted or a worker of `pool`, which
/// counts as awake anyway. Whether it was counted by this call: the caller's scope then tells [`Record::scope_ends`].
pub(super) fn count_driver(pool: &Shared) -> bool {
    if runner::is_worker_of(pool) {
        return false;
    }
    let own = Record::of(pool, true).set();
    if own.is_counted() || !ptr::eq(own.pool(), pool) {
        // Counted, or in the middle of another pool's scope: then the wait counts the thread.
        own.set();
        return false;
    }
    pool.scopes.driver_enters();
    true
}
