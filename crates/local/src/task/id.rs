//! [`TaskId`]: which task one is.

use core::fmt;
use core::future::poll_fn;
use core::num::NonZeroUsize;
use core::task::{Poll, Waker};

/// Which task one is, among those that exist at the same time. See [`FallibleTask::id`](crate::FallibleTask::id).
///
/// It is the address of the task's memory: it takes no room and no counter.
///
/// # Examples
///
/// ```
/// use terrace_local::{LocalExecutor, TaskId};
///
/// let executor = LocalExecutor::new();
/// let task = executor.spawn(TaskId::current());
/// let id = task.id();
/// assert_eq!(futures_lite::future::block_on(executor.run(task)), id);
/// ```
#[doc(alias = "Id")]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(NonZeroUsize);

impl TaskId {
    /// Of the task in the cell at this address.
    pub(super) const fn of_cell(address: NonZeroUsize) -> Self {
        Self(address)
    }

    /// Of the task that a waker wakes, if it is the waker of a task of this project's executors. Combinators that poll with wakers
    /// of their own hide the task's: then the id is that of no task.
    #[must_use = "the call only reads a value"]
    pub fn of(waker: &Waker) -> Option<Self> {
        NonZeroUsize::new(waker.data().addr()).map(Self)
    }

    /// Of the task that awaits this: the one that polls the caller. See [`of`](Self::of). In the first poll of an eager task
    /// it is that of no task.
    pub async fn current() -> Option<Self> {
        poll_fn(|context| Poll::Ready(Self::of(context.waker()))).await
    }
}

impl fmt::Debug for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TaskId({:#x})", self.0)
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}
