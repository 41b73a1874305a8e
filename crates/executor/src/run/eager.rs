//! Eager spawns: the spawner polls the task once.
//!
//! | the spawning thread                       | polls the child                                                             |
//! |-------------------------------------------|-----------------------------------------------------------------------------|
//! | a worker or `run` future of the pool      | in the middle of its own poll: [`current`](fn@crate::current) is the same, on the normal lane |
//! | any other                                 | as `try_tick` does: it has no seat, and `current` returns `None`             |
//!
//! A background task that spawns keeps its permit: the child's first poll is a part of its own.

use std::future::Future;

use terrace_local::task::{CoreRef, Runnable, Schedule, Task};

use crate::parts::current::{current, replace_lane};
use crate::parts::eager::Entered;
use crate::parts::lanes::Lane;
use crate::pool::runner::poll_inside;
use crate::pool::shared::Shared;
use crate::work::found::Found;

impl Shared {
    /// Spawns a task and polls it once, if the thread's limits allow it. Else as `spawn_task`. The caller borrows the pool's
    /// executor.
    ///
    /// # Safety
    /// As [`spawn_task`](Self::spawn_task).
    #[inline]
    pub(crate) unsafe fn spawn_eager<C: Schedule, F: Future>(
        &self,
        core: CoreRef<C>,
        future: F,
    ) -> Task<F::Output> {
        // SAFETY: the caller promises the same of the future and of `core`.
        let (runnable, task) = unsafe { self.make(core, future) };
        match Entered::try_new() {
            Some(_entered) => poll_at_spawn(self, runnable),
            None => self.push_spawned(runnable),
        }
        task
    }
}

/// Polls a new task on the thread that spawns it.
fn poll_at_spawn(pool: &Shared, task: Runnable) {
    let _current = current()
        .is_some_and(|current| current.lane() != Lane::Normal)
        .then(|| replace_lane(Lane::Normal));
    if let Err(task) = poll_inside(pool, task) {
        Found::Task(task).run_borrowed(pool);
    }
}
