//! A poll of a task, as the traces and the current runner see it.
//!
//! | the poll is        | by                                 | a task that yields in it                          |
//! |--------------------|------------------------------------|---------------------------------------------------|
//! | a turn of a loop   | `Runner::run_turn`                 | may be published later, by the next turn          |
//! | inside of a turn   | `poll_inside`, `poll_new_inside`   | is published at once; the turn around goes on as before |
//! | anywhere else      | `run_task`, `poll_elsewhere`       | is published at once                              |

use terrace_local::task::{First, Runnable};

use super::runner::{Runner, with_runner, with_runner_of};
use super::shared::Shared;
use crate::parts::eager;

impl Runner<'_> {
    /// Polls a task in the loop of this runner, whose next turn follows.
    #[inline]
    pub(crate) fn run_turn(&self, task: Runnable) {
        self.count_poll();
        self.deferred.allow();
        eager::begin_turn();
        poll_task(task);
    }
}

/// Polls a task once, on any thread. A panic does not come out of it: the task's cell keeps it for the handle.
pub(crate) fn run_task(task: Runnable) {
    poll_elsewhere(|| task.run());
}

/// Calls `poll`, which polls a task, on any thread.
#[inline]
pub(crate) fn poll_elsewhere<T>(poll: impl FnOnce() -> T) -> T {
    begin_no_turn();
    traced(poll)
}

/// What the thread does next is not a turn of the innermost runner's loop.
pub(crate) fn begin_no_turn() {
    with_runner(|runner| runner.map(|runner| runner.deferred.forbid()));
}

/// Calls `poll`, which polls a task of `pool` in the middle of the poll of another one.
///
/// # Panics
/// If the thread is not [in the middle of a runner](super::runner::is_inside) of that pool.
#[inline]
pub(crate) fn poll_inside<T>(pool: &Shared, poll: impl FnOnce() -> T) -> T {
    with_runner_of(pool, |runner| {
        let runner = runner.expect("the caller has seen the runner");
        runner.deferred.suspend(|| traced(poll))
    })
}

/// As [`poll_inside`], of a new task. Counts it, and its end if the poll brings that.
///
/// # Panics
/// As `poll_inside`.
#[inline]
pub(crate) fn poll_new_inside<T>(pool: &Shared, poll: impl FnOnce() -> (T, First)) -> (T, First) {
    with_runner_of(pool, |runner| {
        let runner = runner.expect("the caller has seen the runner");
        runner.seat().count.spawn();
        let (task, first) = runner.deferred.suspend(|| traced(poll));
        if first == First::Ended {
            runner.seat().count.end();
            pool.quiet.ended(&pool.seats);
        }
        (task, first)
    })
}

/// Polls a task in the loop of a runner, or where there is none.
#[inline]
pub(super) fn poll_task(task: Runnable) {
    traced(|| task.run());
}

/// Calls `poll`, which polls a task.
#[inline(always)]
fn traced<T>(poll: impl FnOnce() -> T) -> T {
    terrace_trace::run_begin();
    poll()
}
