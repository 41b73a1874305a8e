//! The handles of a task.

use core::fmt;
use core::future::Future;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use super::Outcome;
use super::biased::Handle;
use super::either::{Either, Kind};
use crate::unwind::resume_unwind;

/// A spawned task: a future of its output.
///
/// Dropping it cancels the task: it is not polled again, and its future is dropped by its executor.
/// [`detach`](Self::detach) lets it run on. It is `Send` if the output is, also where the future is not.
///
/// Awaiting it panics with the task's panic, or if the task was cancelled because its executor was dropped;
/// [`fallible`](Self::fallible) avoids the latter.
#[must_use = "tasks are cancelled when dropped, use `.detach()` to run them in the background"]
pub struct Task<T> {
    inner: FallibleTask<T>,
}

impl<T> UnwindSafe for Task<T> {}
impl<T> RefUnwindSafe for Task<T> {}

impl<T> Task<T> {
    #[inline]
    pub(super) fn new(task: Either<T>) -> Self {
        Self {
            inner: FallibleTask { task },
        }
    }

    #[inline]
    pub(crate) fn local(task: Handle<Outcome<T>>) -> Self {
        Self::new(Either::local(task))
    }

    /// Lets the task run in the background. One read-modify-write; mostly none on the thread of a single-thread
    /// executor.
    #[inline]
    pub fn detach(self) {
        self.inner.detach();
    }

    /// Cancels the task and waits until its future has been dropped. Returns the output if it was done before.
    ///
    /// # Panics
    /// With the task's panic, if that came before.
    pub async fn cancel(self) -> Option<T> {
        self.inner.cancel().await
    }

    /// A handle whose output is `None` where this one would panic because the task was cancelled.
    pub fn fallible(self) -> FallibleTask<T> {
        self.inner
    }

    /// Whether the task is done, cancelled or has panicked.
    #[inline]
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.inner.is_finished()
    }

    /// As [`FallibleTask::try_take`].
    ///
    /// # Panics
    /// With the task's panic.
    pub fn try_take(&mut self) -> Option<T> {
        self.inner.try_take()
    }
}

/// The output, or the task's panic.
fn deliver<T>(outcome: Outcome<T>) -> T {
    outcome
        .into_result()
        .unwrap_or_else(|payload| resume_unwind(payload))
}

impl<T> Future for Task<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        Pin::new(&mut self.inner).poll(context).map(|output| {
            output.expect(
                "the task has no output: its executor dropped it, or the output was taken before",
            )
        })
    }
}

impl<T> fmt::Debug for Task<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task")
            .field("finished", &self.is_finished())
            .finish()
    }
}

/// A spawned task whose output is `None` if it was cancelled; else as [`Task`].
#[must_use = "tasks are cancelled when dropped, use `.detach()` to run them in the background"]
pub struct FallibleTask<T> {
    task: Either<T>,
}

impl<T> UnwindSafe for FallibleTask<T> {}
impl<T> RefUnwindSafe for FallibleTask<T> {}

impl<T> FallibleTask<T> {
    /// Lets the task run in the background.
    #[inline]
    pub fn detach(self) {
        match self.task.into_kind() {
            Kind::Shared(task) => task.detach(),
            Kind::Local(task) => task.detach(),
        }
    }

    /// Cancels the task and waits until its future has been dropped. Returns the output if it was done before.
    ///
    /// # Panics
    /// With the task's panic, if that came before.
    pub async fn cancel(self) -> Option<T> {
        let outcome = match self.task.into_kind() {
            Kind::Shared(task) => task.cancel().await,
            Kind::Local(mut task) => {
                task.cancel();
                task.await
            }
        };
        outcome.map(deliver)
    }

    /// Whether the task is done, cancelled or has panicked.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.task.is_finished()
    }

    /// Takes the output if the task is done; `None` if it is not, was cancelled, or was taken from before. For polling
    /// from a frame loop: does not wait, allocate, or make a waker.
    ///
    /// Once the task is done or cancelled this counts as a poll: a waker left by an earlier one need not be woken.
    ///
    /// # Panics
    /// With the task's panic.
    ///
    /// ```
    /// let executor = terrace_local::LocalExecutor::new();
    /// let mut task = executor.spawn(async { "done" });
    /// assert_eq!(task.try_take(), None);
    /// executor.try_tick();
    /// assert_eq!(task.try_take(), Some("done"));
    /// assert_eq!(task.try_take(), None);
    /// ```
    pub fn try_take(&mut self) -> Option<T> {
        if !self.is_finished() {
            return None;
        }
        match Pin::new(self).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => output,
            // Cancelled, and its future is not dropped yet.
            Poll::Pending => None,
        }
    }
}

impl<T> Future for FallibleTask<T> {
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        Pin::new(&mut self.task)
            .poll(context)
            .map(|outcome| outcome.map(deliver))
    }
}

impl<T> fmt::Debug for FallibleTask<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FallibleTask")
            .field("finished", &self.is_finished())
            .finish()
    }
}
