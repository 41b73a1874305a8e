//! Which task a thread has found unfinished when it last polled a handle: a wait asks, which may run that task itself.
//!
//! The answer is exact while the handle lives. A handle that is dropped takes its task back. A wait begins with
//! no answer and puts the old one back ([`outside`]), so that what runs in it does not answer for the poll around it.

use core::cell::Cell;

use super::id::TaskId;

terrace_sync::thread_local! {
    /// It has no destructor, so that destructors of other thread-locals may poll handles.
    static AWAITED: Cell<Option<TaskId>> = const { Cell::new(None) };
}

/// A poll of the handle of this task did not find its end.
#[inline]
pub(super) fn note(task: Option<TaskId>) {
    AWAITED.with(|awaited| awaited.set(task));
}

/// The handle of this task is dropped, and its cell may serve another one.
pub(super) fn forget(task: Option<TaskId>) {
    AWAITED.with(|awaited| {
        if awaited.get() == task {
            awaited.set(None);
        }
    });
}

/// Calls `poll`. Returns the task whose handle it polled last, if it polled one that had not ended.
#[inline]
pub fn asking<T>(poll: impl FnOnce() -> T) -> (T, Option<TaskId>) {
    AWAITED.with(|awaited| awaited.set(None));
    let polled = poll();
    (polled, AWAITED.with(Cell::get))
}

/// Keeps what the thread has polled so far, until it is dropped.
#[must_use = "it ends when it is dropped"]
pub struct Outside(Option<TaskId>);

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
