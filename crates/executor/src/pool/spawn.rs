//! Making tasks of a pool: one by one, many at once, or eagerly, with a poll by the spawner.
//!
//! | the thread that spawns eagerly            | polls the child                                                             |
//! |-------------------------------------------|-----------------------------------------------------------------------------|
//! | a worker or `run` future of the pool      | in the middle of its own poll: [`current`](fn@crate::current) is the same, on the normal lane |
//! | any other                                 | as `try_tick` does: it has no seat, and `current` returns a visitor          |
//!
//! A background task that spawns keeps its permit: the child's first poll is a part of its own.
//!
//! A thread whose last eager children all ended at once polls the next one before it makes a cell
//! (`terrace_local::task::poll_at_spawn`).

use std::future::Future;

use terrace_local::boxing_large;
use terrace_local::task::{self, CoreRef, First, Runnable, Schedule, Task};
use terrace_sync::{Arc, light};
use terrace_trace::{Caller, inspect};

use super::Shared;
use super::frames::{self, poll_new_inside, run_task, traced};
use super::runner::{self, is_inside};
use super::schedule::{Cause, CoreOf, OnLane, Usual, place};
use crate::guard::OnDrop;
use crate::parts::current::{current, replace_lane};
use crate::parts::injector::Lane;
use crate::parts::turns::Entered;
use crate::tuned::SPAWN_BATCH;

impl Shared {
    /// Makes a task and queues it; the caller publishes it.
    ///
    /// # Safety
    /// The future and its output are Send, and what they borrow lives until they have been dropped. `core` refers to
    /// this pool.
    #[inline]
    #[cfg_attr(feature = "timeline", track_caller)]
    pub(crate) unsafe fn make<C: Schedule, F: Future>(
        &self,
        core: CoreRef<C>,
        future: F,
    ) -> (Runnable, Task<F::Output>) {
        // It may call code of the program, which may panic: before the task counts.
        let future = inspect::task(&self.records, future);
        // The cell counts the task out again, by `Core::ended`.
        const { assert!(C::COUNTS) };
        runner::count_spawn(self);
        terrace_trace::spawn();
        // SAFETY: the caller's promise about the future; `core` is one whose tasks may run anywhere.
        unsafe { task::build(core, future) }
    }

    /// Spawns a task: a runner of this pool queues it into its own ring, any other thread into the injector.
    ///
    /// # Safety
    /// The future and its output are Send, and what they borrow lives until they have been dropped. `core` refers to
    /// this pool.
    #[inline]
    #[cfg_attr(feature = "timeline", track_caller)]
    pub(crate) unsafe fn spawn_task<C: Schedule, F: Future>(
        &self,
        core: CoreRef<C>,
        future: F,
    ) -> Task<F::Output> {
        // SAFETY: the caller promises the same of the future and of `core`.
        let (runnable, task) = unsafe { self.make(core, future) };
        self.push_spawned(runnable);
        task
    }

    /// Spawns all `futures` as one batch, and hands out their handles as it makes them. It publishes them together:
    /// every [`SPAWN_BATCH`] tasks, and at the end, also if the iterator panics.
    ///
    /// # Safety
    /// As [`spawn_task`](Self::spawn_task), for every future.
    #[cfg_attr(feature = "timeline", track_caller)]
    pub(crate) unsafe fn spawn_tasks<C: Schedule, F: Future>(
        &self,
        core: impl Fn() -> CoreRef<C>,
        futures: impl IntoIterator<Item = F>,
        handles: &mut impl Extend<Task<F::Output>>,
    ) {
        let caller = Caller::here();
        let mut batch = Batch::new(self);
        handles.extend(futures.into_iter().map(|future| {
            let _spawns = caller.spawns();
            let (runnable, task) = boxing_large!(|future| {
                // SAFETY: the caller promises the same of the future and of `core`.
                unsafe { self.make(core(), future) }
            });
            batch.push(runnable);
            task
        }));
    }
}

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
        if !inspect::ENABLED
            && task::has_room::<CoreOf<Usual>, F>(&future)
            && entered.is_likely_to_end()
        {
            // SAFETY: the caller promises the same of the future and of `reference`, and there is room.
            let (task, first) = unsafe { self.poll_first(reference, future) };
            if first == First::Pending {
                entered.pending(is_inside(self));
            }
            return task;
        }
        // SAFETY: the caller promises the same of the future and of `reference`.
        let (runnable, task) = unsafe { self.make(reference(), future) };
        let lane = on_normal_lane();
        if is_inside(self) {
            run_task(runnable);
        } else {
            frames::visiting(self, || run_task(runnable));
        }
        drop(lane);
        if task.is_finished() {
            entered.ended();
        } else {
            entered.pending(is_inside(self));
        }
        task
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
            task::poll_at_spawn(CoreOf::<Usual>::of(self), future, reference)
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
        let poll = || unsafe { task::poll_at_spawn(CoreOf::<Usual>::of(self), future, reference) };
        if is_inside(self) {
            return poll_new_inside(self, poll);
        }
        runner::count_spawn(self);
        let (task, first) = frames::visiting(self, || traced(poll));
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
fn on_normal_lane() -> Option<OnDrop<impl FnMut()>> {
    (!is_on_normal_lane()).then(|| replace_lane(Lane::Normal))
}

/// Spawns a task of `pool` on the high lane or the background lane. If the pool has ended, or another thread ends it during the call, this
/// thread drops the task.
///
/// # Safety
/// The future and its output are Send, and what they borrow lives until they have been dropped.
#[cfg_attr(feature = "timeline", track_caller)]
pub(crate) unsafe fn spawn_on<F: Future>(
    pool: &Arc<Shared>,
    lane: Lane,
    future: F,
) -> Task<F::Output> {
    let counted = Arc::clone(pool);
    let (runnable, task) = if lane == Lane::High {
        let core = CoreRef::Shared(CoreOf::<OnLane<true>>::counted(counted));
        // SAFETY: the caller promises the same of the future, and `core` refers to this pool.
        unsafe { pool.make(core, future) }
    } else {
        let core = CoreRef::Shared(CoreOf::<OnLane<false>>::counted(counted));
        // SAFETY: the caller promises the same of the future, and `core` refers to this pool.
        unsafe { pool.make(core, future) }
    };
    pool.queue_if_open(runnable, |runnable| {
        runnable.schedule();
        // Fence pair: `heavy` in `Closed::set`. The background lane does not always publish.
        light();
        pool.drop_if_closed();
    });
    task
}

/// Tasks that were made and are not published yet.
pub(crate) struct Batch<'p> {
    pool: &'p Shared,
    /// How many are queued: in the runner's own ring, or in the injector.
    queued: usize,
}

impl<'p> Batch<'p> {
    /// An empty one.
    pub(crate) fn new(pool: &'p Shared) -> Self {
        Self { pool, queued: 0 }
    }

    /// Queues a task. The batch publishes it some time, at its drop at the latest.
    pub(crate) fn push(&mut self, task: Runnable) {
        // `publish` does what is owed for the whole batch.
        if let Err(task) = place(self.pool, task, Cause::Spawned) {
            self.pool.injector.push(task);
        }
        self.queued += 1;
        if self.queued >= SPAWN_BATCH {
            self.publish();
        }
    }

    fn publish(&mut self) {
        let items = std::mem::take(&mut self.queued);
        self.pool.publish_tasks(items);
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.publish();
        // The executor may be gone: foreign cells outlive it.
        self.pool.drop_if_closed();
    }
}
