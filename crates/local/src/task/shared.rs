//! Tasks on async-task's cell, which any thread may run; and batches of tasks, for all executors.

use core::future::Future;

use terrace_trace::{Caller, Mark};

use super::core::{CoreRef, Schedule};
use super::either::Either;
use super::guarded::{Guarded, boxing_large};
use super::handle::Task;
use super::runnable::{Meta, Own, Runnable};

/// Makes a task. One allocation, two for a [`LARGE`](super::LARGE) future.
///
/// # Safety
/// - If the future or its output is not `Send`, only the current thread runs and drops the runnable, and takes the
///   output. `core` ensures that for every wake.
/// - What the future and its output borrow lives until they have been dropped.
#[inline]
#[cfg_attr(feature = "timeline", track_caller)]
pub unsafe fn build<C: Schedule, F: Future>(
    core: CoreRef<C>,
    future: F,
) -> (Runnable, Task<F::Output>) {
    let mark = Mark::spawned::<F>();
    // SAFETY: the contract of this function is that of the other. A box holds the same future.
    boxing_large!(|future| unsafe { build_marked(core, future, mark) })
}

/// As [`build`], of a task that the timeline knows, and a future that is not large.
///
/// # Safety
/// As [`build`].
#[inline]
pub(super) unsafe fn build_marked<C: Schedule, F: Future>(
    core: CoreRef<C>,
    future: F,
    mark: Mark,
) -> (Runnable, Task<F::Output>) {
    let guarded = Guarded::new(core, future);
    let builder = async_task::Builder::new().metadata(Meta {
        core: guarded.core.cast(),
        mark,
    });
    let guarded = |_: &Meta| guarded;
    // SAFETY: the schedule function is Send, Sync and 'static. The caller promises the rest: where the future and its output
    // go, and that what they borrow lives.
    let (runnable, task) =
        unsafe { builder.spawn_unchecked(guarded, async_task::WithInfo(schedule::<C>)) };
    let (runnable, task) = Either::shared(task.fallible(), runnable);
    (Runnable::own(runnable), Task::new(task))
}

/// The schedule function of every task of a kind of core. It has no size: it finds the core in the cell's metadata.
fn schedule<C: Schedule>(task: Own, info: async_task::ScheduleInfo) {
    let core = task.metadata().core.cast::<C>();
    let mark = task.metadata().mark;
    let task = Runnable::own(task);
    if info.woken_while_running {
        mark.woken_in_poll();
        // SAFETY: `build_marked` put a core of this type there, beside this function. The runnable has not run, so its future
        // has not been dropped.
        unsafe { C::schedule_again(core, task) };
    } else {
        mark.woken();
        // SAFETY: `build_marked` put a core of this type there, beside this function. The runnable has not run, so its future
        // has not been dropped.
        unsafe { C::schedule(core, task) };
    }
}

/// Spawns all `futures` and puts the handles into `handles`. `spawn` builds and queues one without a wake. `notify` is called
/// once, with how many there were, if there were any.
///
/// The iterator and the collection are users' code. Nothing is borrowed while they run. If one of them panics, what was
/// spawned before stays spawned, and `notify` is called during the unwinding.
#[cfg_attr(feature = "timeline", track_caller)]
pub fn spawn_many<F, T>(
    futures: impl IntoIterator<Item = F>,
    handles: &mut impl Extend<Task<T>>,
    mut spawn: impl FnMut(F) -> Task<T>,
    notify: impl FnMut(usize),
) {
    let caller = Caller::here();
    let mut batch = Batch { spawned: 0, notify };
    handles.extend(futures.into_iter().map(|future| {
        let _spawns = caller.spawns();
        let task = spawn(future);
        batch.spawned += 1;
        task
    }));
}

/// Notifies in its destructor, so that a panic does not skip it.
struct Batch<N: FnMut(usize)> {
    spawned: usize,
    notify: N,
}

impl<N: FnMut(usize)> Drop for Batch<N> {
    fn drop(&mut self) {
        if self.spawned != 0 {
            (self.notify)(self.spawned);
        }
    }
}
