//! [`poll_at_spawn`]: the first poll of a task of many threads, before it has a cell of async-task.

use core::future::Future;
use core::task::{Context, Poll};

use terrace_trace::Mark;

use super::core::{Core, CoreRef, Schedule};
use super::handle::Task;
use super::local::room::Room;
use super::shared::build_marked;
use crate::relay::Lender;

/// Whether [`poll_at_spawn`] has room for the future.
#[inline(always)]
#[must_use]
pub const fn has_room<C: Core, F: Future>(_future: &F) -> bool {
    Room::<C, F>::CLASS.is_some()
}

/// How far the first poll of a task has brought it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the caller counts the end"]
pub enum First {
    /// It has ended: the handle is finished.
    Ended,
    /// It is pending.
    Pending,
}

/// Polls the future of a new task once. If that ends it, the handle is finished, and the thread keeps the memory for its next one:
/// no allocation, no read-modify-write. If not, the task is one of [`build`](super::build), made with `reference`, and pending.
///
/// The core does not hear of an end in this poll. The caller counts that for less, as it knows already on which seat the thread is.
///
/// A pending one has cost two allocations instead of one, and a third if its poll has cloned its waker.
///
/// # Safety
/// - As [`build`](super::build).
/// - There is [room](has_room) for the future.
/// - `core` stays in place during the call.
#[inline]
#[cfg_attr(feature = "timeline", track_caller)]
pub unsafe fn poll_at_spawn<P: Core, C: Schedule, F: Future>(
    core: &P,
    future: F,
    reference: impl FnOnce() -> CoreRef<C>,
) -> (Task<F::Output>, First) {
    // SAFETY: the caller says that there is room, and keeps the core during this call, which uses the room up.
    let room = unsafe { Room::new(core, future) };
    let lender = Lender::new();
    let mark = Mark::spawned::<F>();
    let polling = mark.polls();
    // SAFETY: this is the first poll of a new room.
    let polled = unsafe { room.poll(&mut Context::from_waker(&lender.lend())) };
    drop(polling);
    match polled {
        Poll::Ready(outcome) => {
            // SAFETY: the poll has returned this outcome.
            let task = Task::local(unsafe { room.finish(outcome) });
            (task, First::Ended)
        }
        Poll::Pending => {
            // SAFETY: the poll has returned `Pending`. The caller promises the rest.
            let task = unsafe { make_pending(room, lender, reference(), mark) };
            (task, First::Pending)
        }
    }
}

/// The task of a future that is pending after its first poll.
///
/// # Safety
/// As [`poll_at_spawn`], whose poll of `room` with a waker of `lender` has returned `Pending`.
#[inline(never)]
unsafe fn make_pending<P: Core, C: Schedule, F: Future>(
    room: Room<P, F>,
    lender: Lender,
    reference: CoreRef<C>,
    mark: Mark,
) -> Task<F::Output> {
    // SAFETY: the caller says that the poll was pending.
    let future = unsafe { room.into_pending(lender) };
    // SAFETY: the caller promises the same of the future that is in the room.
    let (runnable, task) = unsafe { build_marked(reference, future, mark) };
    // Registers the task and settles the relay. It does not reach the future.
    runnable.run();
    task
}
