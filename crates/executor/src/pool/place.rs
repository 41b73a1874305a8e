//! Where a runnable goes at the seat of a runner, and which of those at hand the runner takes next.

use terrace_local::task::Runnable;

use super::runner::{Runner, is_worker_of, with_runner_of, with_worker};
use super::shared::Shared;
use crate::protocol::lifo_slot::IN_A_ROW;
use crate::protocol::publish::Publish;

/// Why a runnable is queued.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// It was spawned.
    Spawned,
    /// Another task, or none, has woken it.
    Woken,
    /// It has woken itself in its poll.
    Yielded,
}

/// What a thread that has queued a runnable owes the sleepers.
#[derive(Clone, Copy, PartialEq, Eq)]
#[must_use = "what was queued has to be published"]
pub(crate) enum Owed {
    /// A publish.
    Publish,
    /// A publish unless a sentinel watches: the task lies in the slot.
    PublishUnlessWatched,
    /// Nothing: the runner next takes the head of its ring, or publishes the task before it does
    /// anything else.
    Nothing,
}

/// Queues a runnable at the seat of this thread's runner. Gives it back if the thread is neither worker nor driver of
/// `pool`; the caller then queues it into the injector.
// Into each caller, which knows the cause.
#[inline(always)]
pub(crate) fn place(pool: &Shared, task: Runnable, cause: Cause) -> Result<Owed, Runnable> {
    // The match stands outside of the closures, so that each caller gets the code of its cause alone.
    match cause {
        Cause::Spawned => with_runner_of(pool, |runner| match runner {
            Some(runner) => Ok(runner.queue_spawned(task)),
            None => Err(task),
        }),
        Cause::Woken => with_runner_of(pool, |runner| match runner {
            Some(runner) => Ok(runner.queue_woken(task)),
            None => Err(task),
        }),
        Cause::Yielded => with_runner_of(pool, |runner| match runner {
            Some(runner) => Ok(runner.queue_yielded(task)),
            None => Err(task),
        }),
    }
}

/// A worker of `pool` calls this before it waits for the others to end: no sentinel will be left to look at its slot.
pub(crate) fn empty_slot_in(pool: &Shared) {
    if is_worker_of(pool) {
        with_worker(|worker| worker.map(Runner::empty_slot));
    }
}

impl Runner<'_> {
    /// Takes the task in its slot, unless [`IN_A_ROW`] such tasks ran in a row: then other tasks
    /// have a turn.
    #[inline]
    pub(crate) fn pop_slot(&self) -> Option<Runnable> {
        let row = self.slot_runs.get();
        if row == IN_A_ROW {
            self.slot_runs.set(0);
            return None;
        }
        let task = self.seat().lifo.take();
        self.slot_runs.set(if task.is_some() { row + 1 } else { 0 });
        task
    }

    /// Takes the next task out of its slot or ring, if no other source has a turn before. It finds what a search would
    /// find, at less cost. It publishes a deferred task unless it takes the head of the ring.
    #[inline]
    pub(crate) fn next_at_hand(&self) -> Option<Runnable> {
        if self.seat().lifo.is_empty() {
            if !self.may_run_local() {
                return None;
            }
            let task = self.ring().pop()?;
            self.fairness.ring_ran();
            return Some(task);
        }
        let row = self.slot_runs.get();
        if row == IN_A_ROW || !self.may_run_local() {
            return None;
        }
        self.flush();
        let task = self.seat().lifo.take()?;
        self.slot_runs.set(row + 1);
        self.fairness.slot_ran();
        Some(task)
    }

    /// Whether it may take from its own slot or ring now.
    #[inline]
    fn may_run_local(&self) -> bool {
        self.fairness.may_run_local() && self.pool().lanes.high.is_empty()
    }

    /// Moves the task in its slot to the ring or the injector, and publishes it. The worker calls this before it waits
    /// in the middle of a poll, or ends.
    pub(crate) fn empty_slot(&self) {
        self.seat().lifo.empty(|task| {
            self.ring().push_or_overflow(task, &self.pool().injector);
            self.pool().publish();
        });
    }

    /// Moves all tasks at its seat into the injector, and returns their number. The caller publishes them.
    pub(crate) fn hand_over(&self) -> usize {
        let mut moved = 0;
        let mut inject = |task| {
            self.pool().injector.push(task);
            moved += 1;
        };
        self.seat().lifo.empty(&mut inject);
        let ring = self.ring();
        while let Some(task) = ring.pop() {
            inject(task);
        }
        moved
    }

    /// A task that was spawned goes to the back of the ring.
    #[inline]
    fn queue_spawned(&self, task: Runnable) -> Owed {
        self.push(task);
        Owed::Publish
    }

    /// A task that yielded goes to the back of the ring, behind published tasks.
    #[inline]
    fn queue_yielded(&self, task: Runnable) -> Owed {
        // On an overflow the tasks before it, which were published, have moved out of the ring.
        if self.push(task) {
            return Owed::Publish;
        }
        match self.deferred.pushed() {
            Publish::Now => Owed::Publish,
            Publish::Later => Owed::Nothing,
        }
    }

    /// A worker with an empty ring puts a woken task into its slot. Else the task goes to the back of the ring and
    /// waits its turn. If it did not, the worker would run each of many chains of wakes to its end. The memory that one
    /// chain leaves would be cold for the next.
    #[inline]
    fn queue_woken(&self, task: Runnable) -> Owed {
        if self.is_driver() || self.polled.get() || !self.seat().ring.is_empty() {
            self.push(task);
        } else if let Some(displaced) = self.seat().lifo.put(task) {
            self.push(displaced);
        } else {
            terrace_trace::local_schedule();
            return Owed::PublishUnlessWatched;
        }
        Owed::Publish
    }

    /// Queues `task` into its ring. Returns whether the ring was full: then it has moved tasks into the injector.
    #[inline]
    fn push(&self, task: Runnable) -> bool {
        terrace_trace::local_schedule();
        let overflowed = self.ring().push_or_overflow(task, &self.pool().injector);
        if self.parked.get() {
            // Its own reactor has woken the task: the worker looks first, and wakes others if there is more.
            self.pool().idle.wake_worker(self.index());
        }
        if overflowed {
            self.seat().counts.overflows.add(1);
        }
        overflowed
    }
}
