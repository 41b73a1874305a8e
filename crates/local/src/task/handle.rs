//! [`Task`]: the handle of a task, whose output is there.

use core::fmt;
use core::future::Future;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::pin::Pin;
use core::task::{Context, Poll};

use super::fallible::FallibleTask;
use super::id::TaskId;

/// A spawned task: a future of its output.
///
/// Dropping it cancels the task: it is not polled again, and its future is dropped by its executor.
/// [`detach`](Self::detach) lets it run on. It is `Send` if the output is, also where the future is not.
///
/// Awaiting it panics in three cases: the task panicked; its executor was dropped, which cancelled it; or the output was taken
/// before. [`fallible`](Self::fallible) avoids the latter two.
///
/// `M` is the metadata of `async-task`'s handle. Executors of this project spawn tasks without any, so it is `()`. The parameter
/// is there for code that is generic over it.
///
/// # Examples
///
/// ```
/// use terrace_local::LocalExecutor;
///
/// let executor = LocalExecutor::new();
/// let answer = executor.run(async {
///     let awaited = executor.spawn(async { 42 });
///     executor.spawn(async { "detached" }).detach();
///     drop(executor.spawn(async { "cancelled before its first poll" }));
///     awaited.await
/// });
/// assert_eq!(futures_lite::future::block_on(answer), 42);
/// ```
#[doc(alias = "JoinHandle")]
#[must_use = "tasks are cancelled when dropped, use `.detach()` to run them in the background"]
pub struct Task<T, M = ()> {
    inner: FallibleTask<T, M>,
}

impl<T, M> Unpin for Task<T, M> {}
impl<T, M> UnwindSafe for Task<T, M> {}
impl<T, M> RefUnwindSafe for Task<T, M> {}

impl<T> Task<T> {
    #[inline]
    pub(crate) fn new(inner: FallibleTask<T>) -> Self {
        Self { inner }
    }
}

impl<T, M> Task<T, M> {
    /// Lets the task run in the background. Takes one read-modify-write; on the thread of a single-thread executor mostly none.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_local::LocalExecutor::new();
    /// let (sender, words) = std::sync::mpsc::channel();
    /// executor.spawn(async move { sender.send("ran").unwrap() }).detach();
    /// executor.run_until_stalled();
    /// assert_eq!(words.try_recv(), Ok("ran"));
    /// ```
    #[inline]
    pub fn detach(self) {
        self.inner.detach();
    }

    /// Cancels the task and waits until its future has been dropped. Returns the output if it was done before.
    ///
    /// # Panics
    /// With the task's panic, if that came before.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_local::LocalExecutor::new();
    /// let task = executor.spawn(std::future::pending::<()>());
    /// let cancelled = executor.run(task.cancel());
    /// assert_eq!(futures_lite::future::block_on(cancelled), None);
    /// assert!(executor.is_empty());
    /// ```
    #[doc(alias = "abort")]
    pub async fn cancel(self) -> Option<T> {
        self.inner.cancel().await
    }

    /// A handle whose output is `None` if the task was cancelled, or its output was taken before: there this one would panic.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_local::LocalExecutor::new();
    /// let task = executor.spawn(async { 42 }).fallible();
    /// drop(executor);
    /// assert_eq!(futures_lite::future::block_on(task), None);
    /// ```
    pub fn fallible(self) -> FallibleTask<T, M> {
        self.inner
    }

    /// Whether the task is done, cancelled or has panicked.
    #[inline]
    #[must_use = "the call only answers a question"]
    pub fn is_finished(&self) -> bool {
        self.inner.is_finished()
    }

    /// As [`FallibleTask::id`].
    #[must_use = "the call only reads a value"]
    pub fn id(&self) -> Option<TaskId> {
        self.inner.id()
    }

    /// As [`FallibleTask::try_take`].
    ///
    /// # Panics
    /// With the task's panic.
    pub fn try_take(&mut self) -> Option<T> {
        self.inner.try_take()
    }

    /// The task's metadata.
    #[inline]
    pub fn metadata(&self) -> &M {
        &self.inner.metadata
    }
}

impl<T, M> Future for Task<T, M> {
    type Output = T;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        match Pin::new(&mut self.inner).poll(context) {
            Poll::Ready(Some(output)) => Poll::Ready(output),
            Poll::Ready(None) => self.inner.gone(),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<T, M: fmt::Debug> fmt::Debug for Task<T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task")
            .field("finished", &self.is_finished())
            .finish()
    }
}
