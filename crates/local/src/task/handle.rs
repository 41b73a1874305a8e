//! The handles of a task.

use core::fmt;
use core::future::{Future, poll_fn};
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use super::either::{Either, End};
use super::id::TaskId;
use crate::unwind::{Payload, resume_unwind};

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
    pub(crate) fn new(task: Either<T>) -> Self {
        Self {
            inner: FallibleTask { task, metadata: () },
        }
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

/// The output, or the task's panic.
#[inline]
fn deliver<T>(result: Result<T, Payload>) -> T {
    result.unwrap_or_else(|payload| resume_unwind(payload))
}

impl<T, M> Future for Task<T, M> {
    type Output = T;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        match Pin::new(&mut self.inner).poll(context) {
            Poll::Ready(Some(output)) => Poll::Ready(output),
            Poll::Ready(None) => self.inner.task.gone(),
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

/// A spawned task whose output is `None` if it was cancelled, or taken before; else as [`Task`].
///
/// # Examples
///
/// ```
/// let executor = terrace_local::LocalExecutor::new();
/// let (runs, lost) = (executor.spawn(async { 1 }).fallible(), executor.spawn(async { 2 }).fallible());
/// assert!(executor.try_tick());
/// // Its drop cancels the tasks that have not run.
/// drop(executor);
/// assert_eq!(futures_lite::future::block_on(async { (runs.await, lost.await) }), (Some(1), None));
/// ```
#[must_use = "tasks are cancelled when dropped, use `.detach()` to run them in the background"]
pub struct FallibleTask<T, M = ()> {
    task: Either<T>,
    metadata: M,
}

impl<T, M> Unpin for FallibleTask<T, M> {}
impl<T, M> UnwindSafe for FallibleTask<T, M> {}
impl<T, M> RefUnwindSafe for FallibleTask<T, M> {}

impl<T, M> FallibleTask<T, M> {
    /// Lets the task run in the background.
    #[inline]
    pub fn detach(self) {
        self.task.detach();
    }

    /// Cancels the task and waits until its future has been dropped. Returns the output if it was done before.
    ///
    /// # Panics
    /// With the task's panic, if that came before.
    pub async fn cancel(mut self) -> Option<T> {
        let mut begins = true;
        let end = poll_fn(|context| {
            if core::mem::take(&mut begins) {
                self.begin_cancel(context)
            } else {
                self.poll_end(context)
            }
        });
        end.await.map(deliver)
    }

    /// The result or the panic of a task that has ended; within it `None` if the task was cancelled. Leaves the waker of `context` with
    /// a task whose future is still to be dropped, and with no other.
    #[inline]
    pub(crate) fn take_finished(&mut self, context: &mut Context<'_>) -> Option<End<T>> {
        if let Some(result) = self.task.take_fresh() {
            return Some(Some(result));
        }
        if !self.is_finished() {
            return None;
        }
        match self.poll_end(context) {
            Poll::Ready(end) => Some(end),
            // The task is cancelled, and its executor has not dropped the future yet.
            Poll::Pending => None,
        }
    }

    /// Polls for the end: the result, or the panic as a value. `None` if the task was cancelled. Out of line, to keep polls of tasks
    /// that ended in the call that spawned them short.
    #[inline(never)]
    pub(crate) fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<End<T>> {
        self.task.poll_end(context)
    }

    /// Cancels the task. [`poll_end`](Self::poll_end) says when its future has been dropped.
    pub(crate) fn begin_cancel(&mut self, context: &mut Context<'_>) -> Poll<End<T>> {
        self.task.begin_cancel(context)
    }

    /// Whether the task is done, cancelled or has panicked.
    #[must_use = "the call only answers a question"]
    pub fn is_finished(&self) -> bool {
        self.task.is_finished()
    }

    /// Which task this is, for logs and maps: the same as [`TaskId::current`] inside of it. No two tasks have the same id at a time;
    /// a later task may get the id of one that has ended. It may be `None` where the task ended in the call that
    /// spawned it, and once this handle has returned the task's end.
    #[must_use = "the call only reads a value"]
    pub fn id(&self) -> Option<TaskId> {
        self.task.id()
    }

    /// Takes the output if the task is done. `None` if it is not, was cancelled, or the output was taken before. For a frame
    /// loop that polls: it does not wait, allocate, or make a waker.
    ///
    /// Once the task is done or cancelled this counts as a poll: the task need not wake a waker that an earlier one left.
    ///
    /// # Panics
    /// With the task's panic.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_local::LocalExecutor::new();
    /// let mut task = executor.spawn(async { "done" });
    /// assert_eq!(task.try_take(), None);
    /// executor.try_tick();
    /// assert_eq!(task.try_take(), Some("done"));
    /// assert_eq!(task.try_take(), None);
    /// ```
    #[inline]
    pub fn try_take(&mut self) -> Option<T> {
        let end = self.take_finished(&mut Context::from_waker(Waker::noop()));
        end.flatten().map(deliver)
    }
}

impl<T, M> Future for FallibleTask<T, M> {
    type Output = Option<T>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let end = match self.task.take_fresh() {
            Some(result) => Poll::Ready(Some(result)),
            None => self.poll_end(context),
        };
        end.map(|end| end.map(deliver))
    }
}

impl<T, M: fmt::Debug> fmt::Debug for FallibleTask<T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FallibleTask")
            .field("finished", &self.is_finished())
            .finish()
    }
}
