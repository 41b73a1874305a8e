//! Which task a thread has found unfinished when it last polled a handle: a wait asks, which may run that task itself.
//!
//! A handle that is dropped takes its task back. A wait in the middle of a poll puts the answer of that poll back at its end
//! ([`outside`]): the handles that the thread polls in the wait are none of that poll's.

use core::cell::Cell;
use core::task::Context;

use super::id::TaskId;

/// A task, and whom its handle was polled for.
#[derive(Clone, Copy)]
struct Awaited {
    task: TaskId,
    /// What the waker points to.
    waker: *const (),
}

terrace_sync::thread_local! {
    /// It has no destructor, so that destructors of other thread-locals may poll handles.
    static AWAITED: Cell<Option<Awaited>> = const { Cell::new(None) };
}

/// A poll of the handle of this task did not find its end, and left the waker of `context` with it.
#[inline]
pub(super) fn note(task: Option<TaskId>, context: &Context<'_>) {
    let waker = context.waker().data();
    AWAITED.with(|awaited| awaited.set(task.map(|task| Awaited { task, waker })));
}

/// The handle of this task is dropped, and its cell may serve another one.
pub(super) fn forget(task: Option<TaskId>) {
    AWAITED.with(|awaited| {
        if awaited.get().map(|awaited| awaited.task) == task {
            awaited.set(None);
        }
    });
}

/// Calls `poll` with a context. Returns the task whose handle it polled last with the same waker, if that handle was the last of
/// all, and the task had not ended.
#[inline]
pub fn asking<T>(
    context: &mut Context<'_>,
    poll: impl FnOnce(&mut Context<'_>) -> T,
) -> (T, Option<TaskId>) {
    AWAITED.with(|awaited| awaited.set(None));
    let polled = poll(context);
    let awaited = AWAITED.with(Cell::get);
    let own = awaited.filter(|awaited| awaited.waker == context.waker().data());
    (polled, own.map(|awaited| awaited.task))
}

/// Keeps what the thread has polled so far, until it is dropped.
#[must_use = "it ends when it is dropped"]
pub struct Outside(Option<Awaited>);

/// The thread waits in the middle of a poll, and polls other futures until the result is dropped.
#[inline]
pub fn outside() -> Outside {
    Outside(AWAITED.with(Cell::get))
}

impl Drop for Outside {
    #[inline]
    fn drop(&mut self) {
        AWAITED.with(|awaited| awaited.set(self.0));
    }
}
