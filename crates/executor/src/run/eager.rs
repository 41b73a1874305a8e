//! Eager spawns: the spawner polls the task once.
//!
//! | the spawning thread                       | polls the child                                                             |
//! |-------------------------------------------|-----------------------------------------------------------------------------|
//! | a worker or `run` future of the pool      | in the middle of its own poll: [`current`](fn@crate::current) is the same, on the normal lane |
//! | any other                                 | as `try_tick` does: it has no seat, and `current` returns a visitor          |
//!
//! A background task that spawns keeps its permit: the child's first poll is a part of its own.
//!
//! A thread whose last eager children all ended at once polls the next one before it makes a cell
//! (`terrace_local::task::poll_at_spawn`).

use std::future::Future;

use terrace_local::task::{self, CoreRef, First, Schedule, Task};

use crate::parts::current::{RestoresCurrent, current, replace_lane};
use crate::parts::eager::Entered;
use crate::parts::inspect;
use crate::parts::lanes::Lane;
use crate::pool::frames;
use crate::pool::poll::{poll_elsewhere, poll_inside, poll_new_inside};
use crate::pool::runner::{self, is_inside};
use crate::pool::shared::Shared;
use crate::work::found::Found;

impl Shared {
    /// Spawns a task and polls it once, if the thread's limits allow it. Else as `spawn_task`. The caller borrows the pool's
    /// executor. `reference` refers to this pool.
    ///
    /// # Safety
    /// As [`spawn_task`](Self::spawn_task).
    #[inline]
    #[cfg_attr(feature = "timeline", track_caller)]
    pub(crate) unsafe fn spawn_eager<C: Schedule, F: Future>(
        &self,
        reference: impl FnOnce() -> CoreRef<C>,
        future: F,
    ) -> Task<F::Output> {
        let Some(entered) = Entered::try_new() else {
            // SAFETY: the caller promises the same of the future and of `reference`.
            return unsafe { self.spawn_task(reference(), future) };
        };
        // A record is made with a cell.
        if !inspect::ENABLED && task::has_room::<Self, F>(&future) && entered.is_likely_to_end() {
            // SAFETY: the caller promises the same of the future and of `reference`, and there is room.
            let (task, first) = unsafe { self.poll_first(reference, future) };
            if first == First::Pending {
                self.note_pending(entered);
            }
            return task;
        }
        // SAFETY: the caller promises the same of the future and of `reference`.
        let (runnable, task) = unsafe { self.make(reference(), future) };
        let lane = on_normal_lane();
        if is_inside(self) {
            poll_inside(self, || runnable.run());
        } else {
            Found::Task(runnable).run_borrowed(self);
        }
        drop(lane);
        if task.is_finished() {
            entered.ended();
        } else {
            self.note_pending(entered);
        }
        task
    }

    /// An eager child is pending.
    #[inline]
    fn note_pending(&self, entered: Entered) {
        if is_inside(self) {
            entered.pending_in_turn();
        } else {
            entered.pending();
        }
    }

    /// Polls a new task on this thread, and makes a cell if the poll is pending.
    ///
    /// # Safety
    /// As [`spawn_task`](Self::spawn_task), and there is room for the future. The caller borrows the pool's executor.
    #[inline]
    #[cfg_attr(feature = "timeline", track_caller)]
    unsafe fn poll_first<C: Schedule, F: Future>(
        &self,
        reference: impl FnOnce() -> CoreRef<C>,
        future: F,
    ) -> (Task<F::Output>, First) {
        if !is_inside(self) || !is_on_normal_lane() {
            // SAFETY: the contract of this function is that of the other.
            return unsafe { self.poll_first_elsewhere(reference, future) };
        }
        terrace_trace::spawn();
        // SAFETY: the caller promises the same of the future, and that there is room. The pool is in place: `self` borrows it.
        poll_new_inside(self, || unsafe {
            task::poll_at_spawn(self, future, reference)
        })
    }

    /// As [`poll_first`](Self::poll_first), on a thread that is in the middle of no runner of this pool, or on another lane.
    ///
    /// # Safety
    /// As `poll_first`.
    // Not into the callers, which mostly are inside, on the normal lane.
    #[inline(never)]
    #[cfg_attr(feature = "timeline", track_caller)]
    unsafe fn poll_first_elsewhere<C: Schedule, F: Future>(
        &self,
        reference: impl FnOnce() -> CoreRef<C>,
        future: F,
    ) -> (Task<F::Output>, First) {
        terrace_trace::spawn();
        let _lane = on_normal_lane();
        // SAFETY: the caller promises the same of the future, and that there is room. The pool is in place: `self` borrows it.
        let poll = || unsafe { task::poll_at_spawn(self, future, reference) };
        if is_inside(self) {
            return poll_new_inside(self, poll);
        }
        runner::count_spawn(self);
        let (task, first) = frames::visiting(self, || poll_elsewhere(poll));
        if first == First::Ended {
            runner::count_end(self);
        }
        (task, first)
    }
}

/// Whether a child's first poll runs on the lane of its parent.
#[inline]
fn is_on_normal_lane() -> bool {
    current().is_none_or(|current| current.lane() == Lane::Normal)
}

/// The child's first poll runs on the normal lane, until the guard is dropped.
#[inline]
fn on_normal_lane() -> Option<RestoresCurrent> {
    (!is_on_normal_lane()).then(|| replace_lane(Lane::Normal))
}
