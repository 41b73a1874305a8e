//! What a scope's thread runs while it waits for the children.

use terrace_sync::time::Instant;

use crate::parts::pacing::Stopwatch;
use crate::parts::scope_slot::Slot;
use crate::parts::spin::Patience;
use crate::pool::frames::run_task;
use crate::pool::runner;
use crate::pool::shared::Shared;
use crate::run::wait::WaitFor;
use crate::thread_executor::ThreadQueue;

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

    /// The wait has found no child to run. So those that do not wait themselves are in the middle of a poll, or are about to be.
    fn patience(&self) -> Patience {
        let core = self.slot.core();
        if self.pool.scopes.pacing(self.slot).outlasts_wakes() {
            Patience::Never
        } else if core.pending() > core.cancel().waiting() {
            Patience::Long
        } else {
            Patience::Short
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
