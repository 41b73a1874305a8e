//! A worker that blocks on a task runs that task itself, if it is at hand: no other thread has to be woken for it.
//!
//! `block_on` asks for it where nothing but the end of that task can wake its future. So the run delays nothing that the
//! future could do in the meantime. The task is at hand if it is the only one in the worker's ring.

use terrace_local::TaskId;

use crate::pool::poll::run_task;
use crate::pool::runner::{self, Runner};
use crate::tuned::NESTED_HELP;

/// Runs the task `awaited`, which the thread waits for, if the thread is a worker and has it at hand. False if not.
pub(super) fn run(awaited: Option<TaskId>) -> bool {
    runner::with_worker(|worker| worker.is_some_and(|worker| worker.run_awaited(awaited)))
}

impl Runner<'_> {
    fn run_awaited(&self, awaited: Option<TaskId>) -> bool {
        let depth = self.awaited_runs.get();
        let in_own_turn = self.in_loop.get() && !self.polled.get();
        if depth == NESTED_HELP || !in_own_turn || self.seat().ring.len() != 1 {
            return false;
        }
        let Some(task) = self.ring().pop() else {
            return false;
        };
        if task.id() != awaited {
            // A thread that looked for work in the meantime has missed it.
            self.ring().push_or_overflow(task, &self.pool().injector);
            self.pool().publish();
            return false;
        }
        self.awaited_runs.set(depth + 1);
        self.enter(|| run_task(task));
        self.awaited_runs.set(depth);
        true
    }
}
