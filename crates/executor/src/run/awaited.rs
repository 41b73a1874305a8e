//! A worker that blocks on a task runs that task itself, if it is at hand: no other thread has to be woken for it.
//!
//! `block_on` asks for it where nothing but the end of that task can wake its future. The run is a turn of the worker in the
//! middle of its wait. It happens only where the wait has nothing else to do:
//!
//! - The task is the only one in the worker's ring, and the high lane is empty.
//! - The thread has no tasks of its own, and there are no pools without workers, which it would have to drive.
//! - Such runs, and those of last resort, nest no deeper than [`NESTED_HELP`]. A wait does at most
//!   [`AWAITED_RUNS`](crate::tuned::AWAITED_RUNS) of them between two polls of its future.
//!
//! The task may block its thread. So during the run the wait still counts as one: the thread lends its permits, and the watch sees
//! a waiter.

use terrace_local::TaskId;
use terrace_thread::internal::has_tasks;

use super::threadless;
use crate::parts::eager;
use crate::pool::frames;
use crate::pool::poll::run_task;
use crate::pool::runner::{self, Runner};
use crate::tuned::NESTED_HELP;

/// Runs the task `awaited`, which the thread waits for, if the thread is a worker and has it at hand. False if not.
pub(super) fn run(awaited: TaskId) -> bool {
    runner::with_worker(|worker| worker.is_some_and(|worker| worker.run_awaited(awaited)))
}

impl Runner<'_> {
    /// Whether the worker may run the only task in its ring in the middle of a wait.
    fn may_run_its_only_task(&self) -> bool {
        let pool = self.pool();
        self.in_loop.get()
            && !self.polled.get()
            && self.nested_help.get() < NESTED_HELP
            && self.seat().ring.len() == 1
            && pool.lanes.high.is_empty()
            && !threadless::any()
            && !has_tasks()
    }

    fn run_awaited(&self, awaited: TaskId) -> bool {
        if !self.may_run_its_only_task() {
            return false;
        }
        let Some(task) = self.ring().pop() else {
            return false;
        };
        if task.id() != Some(awaited) {
            // A thread that looked for work in the meantime has missed it.
            self.ring().push_or_overflow(task, &self.pool().injector);
            self.pool().publish();
            return false;
        }
        let depth = self.nested_help.get();
        self.nested_help.set(depth + 1);
        let lent = frames::lend();
        eager::begin_turn();
        self.pool()
            .waits_beneath
            .during(|| self.enter(|| run_task(task)));
        drop(lent);
        self.nested_help.set(depth);
        true
    }
}
