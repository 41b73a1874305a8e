//! [`TaskSet`]: tasks whose results come as they end, each on its own.

use alloc::vec::Vec;
use core::fmt;
use core::future::{Future, poll_fn};
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::task::{Context, Poll, Waker};

use super::spawn::Spawn;
use super::tasks::{Shield, Tasks, discard_all};
use crate::unwind::{Payload, contain};

/// Why a task of a [`TaskSet`] has no output.
///
/// # Examples
///
/// ```
/// use terrace_local::{LocalExecutor, TaskError, TaskSet};
///
/// let executor = LocalExecutor::new();
/// let mut set = TaskSet::new(&executor);
/// set.spawn(async { panic!("ends this task alone") });
/// executor.run_until_stalled();
/// let Some((0, Err(TaskError::Panicked(payload)))) = set.try_join_next() else {
///     unreachable!("the task has panicked");
/// };
/// assert_eq!(payload.downcast_ref(), Some(&"ends this task alone"));
/// # set.spawn(async {});
/// ```
#[doc(alias = "JoinError")]
pub enum TaskError {
    /// It was aborted, or its executor was dropped.
    Cancelled,
    /// It panicked, with this payload.
    Panicked(Payload),
}

impl TaskError {
    /// Whether the task was aborted, or its executor was dropped.
    #[must_use = "the call only answers a question"]
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled)
    }
}

impl fmt::Debug for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cancelled => "Cancelled",
            Self::Panicked(_) => "Panicked(..)",
        })
    }
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cancelled => "the task was cancelled",
            Self::Panicked(_) => "the task panicked",
        })
    }
}

impl core::error::Error for TaskError {}

/// Tasks in a collection: their results come as they end, and a drop of the set aborts those that have not.
///
/// It is what tokio calls a `JoinSet`. Tasks do not depend on each other: a panic or an abort is the result of that task. For tasks
/// that end together take a [`TaskGroup`](super::TaskGroup).
///
/// `S` spawns the tasks: a reference to an executor, or a spawner. See [`Spawn`].
///
/// # Cost
///
/// A task takes a slot, and each 16 of them an allocation once the set waits or looks. Its end takes up to four read-modify-writes more
/// than that of a task alone. Between two polls of the set, 1,024 tasks (512 on 32-bit targets) wake its task at most once, and so do all
/// spawns together. A poll looks at one word for each 1,024 slots, and at the tasks that have ended. A new task takes the slot of one
/// that has ended. A poll that finds more than two blocks of 16 slots beyond one a task moves the tasks together, and gives each a new
/// waker. An abort by number looks for it in all slots.
///
/// A poll with another waker than that of the last one gives each task a new one. So a set of thousands is best awaited by one task or by
/// one `block_on`. A thread that is no worker may also call `block_on` for each result: its waker stays the same.
///
/// # Examples
///
/// ```
/// use terrace_local::{LocalExecutor, TaskSet};
///
/// let executor = LocalExecutor::new();
/// let mut set = TaskSet::new(&executor);
/// for n in 1..=3 {
///     set.spawn(async move { n * n });
/// }
/// let sum = async {
///     let mut sum = 0;
///     while let Some((_number, result)) = set.join_next().await {
///         sum += result.unwrap();
///     }
///     sum
/// };
/// assert_eq!(futures_lite::future::block_on(executor.run(sum)), 14);
/// ```
#[doc(alias("JoinSet", "FuturesUnordered"))]
#[must_use = "a set aborts its tasks when it is dropped"]
pub struct TaskSet<S, T> {
    spawner: S,
    tasks: Tasks<T>,
}

// A panic of a task is its result.
impl<S, T> UnwindSafe for TaskSet<S, T> {}
impl<S, T> RefUnwindSafe for TaskSet<S, T> {}

impl<S, T> TaskSet<S, T> {
    /// An empty set. Allocates nothing yet.
    pub const fn new(spawner: S) -> Self {
        Self {
            spawner,
            tasks: Tasks::new(),
        }
    }

    /// Spawns a task, and returns its number: 0 for the first task of the set, and greater ones for later tasks.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_local::{LocalExecutor, TaskSet};
    ///
    /// let executor = LocalExecutor::new();
    /// let mut set = TaskSet::new(&executor);
    /// assert_eq!((set.spawn(async { 'a' }), set.spawn(async { 'b' })), (0, 1));
    /// assert_eq!(set.len(), 2);
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn<F>(&mut self, future: F) -> usize
    where
        F: Future<Output = T>,
        S: Spawn<F>,
    {
        let number = self.tasks.number();
        let task = self.spawner.spawn_task(future);
        self.tasks.push(number, task.fallible(), Shield::No);
        number
    }

    /// As [`spawn`](Self::spawn), and polls the task once before it returns. See
    /// [`LocalExecutor::spawn_eager`](crate::LocalExecutor::spawn_eager).
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_local::{LocalExecutor, TaskSet};
    ///
    /// let executor = LocalExecutor::new();
    /// let mut set = TaskSet::new(&executor);
    /// set.spawn_eager(async { 42 });
    /// assert!(matches!(set.try_join_next(), Some((0, Ok(42)))));
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_eager<F>(&mut self, future: F) -> usize
    where
        F: Future<Output = T>,
        S: Spawn<F>,
    {
        let number = self.tasks.number();
        let task = self.spawner.spawn_task_eager(future);
        self.tasks.push(number, task.fallible(), Shield::No);
        number
    }

    /// Waits for the next task that ends: its number, and its output or why there is none. `None` if the set is empty. It may be
    /// called again then, and also after further spawns.
    ///
    /// A task has ended once its future has been dropped. If this future is dropped, no result is lost.
    pub async fn join_next(&mut self) -> Option<(usize, Result<T, TaskError>)> {
        poll_fn(|context| self.poll_join_next(context)).await
    }

    /// As [`join_next`](Self::join_next), by a poll. After a pending one, no other call takes a wake away: the waiting task is woken by
    /// a spawn, to poll the new task, by an end that [`abort`](Self::abort) or [`try_join_next`](Self::try_join_next) sees, and by
    /// [`detach_all`](Self::detach_all).
    pub fn poll_join_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<(usize, Result<T, TaskError>)>> {
        if self.tasks.ended.is_empty() {
            self.tasks.look(context.waker());
        }
        let next = self.next_ended();
        self.tasks.waits = next.is_none() && !self.tasks.running.is_empty();
        if self.tasks.waits {
            return Poll::Pending;
        }
        Poll::Ready(next)
    }

    /// The result of a task that has ended, if there is one. Does not wait: the tasks go on to wake the task that waited for the set last,
    /// or none.
    pub fn try_join_next(&mut self) -> Option<(usize, Result<T, TaskError>)> {
        if self.tasks.ended.is_empty() {
            self.tasks.look_beside(Waker::noop());
        }
        self.next_ended()
    }

    /// The first result that the set has found.
    fn next_ended(&mut self) -> Option<(usize, Result<T, TaskError>)> {
        let (number, end) = self.tasks.ended.pop_front()?;
        let result = match end {
            Some(Ok(value)) => Ok(value),
            Some(Err(payload)) => Err(TaskError::Panicked(payload)),
            None => Err(TaskError::Cancelled),
        };
        Some((number, result))
    }

    /// Waits until all tasks have ended, and returns their outputs in the order of their spawns.
    ///
    /// # Errors
    /// The first task in that order that has no output; the outputs of all others are dropped. The set is empty in any case.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_local::{LocalExecutor, TaskSet};
    ///
    /// let executor = LocalExecutor::new();
    /// let mut set = TaskSet::new(&executor);
    /// for n in 1..=3 {
    ///     set.spawn(async move { n * n });
    /// }
    /// let squares = futures_lite::future::block_on(executor.run(set.join_all()));
    /// assert_eq!(squares.unwrap(), [1, 4, 9]);
    /// ```
    pub async fn join_all(&mut self) -> Result<Vec<T>, TaskError> {
        let mut results = Vec::with_capacity(self.len());
        while let Some(result) = self.join_next().await {
            results.push(result);
        }
        results.sort_unstable_by_key(|(number, _)| *number);
        let Some(failed) = results.iter().position(|(_, result)| result.is_err()) else {
            return results.into_iter().map(|(_, result)| result).collect();
        };
        let (_, failed) = results.swap_remove(failed);
        discard_all(results);
        failed.map(|value| alloc::vec![value])
    }

    /// Aborts a task by its number: it is not polled again, and its result is [`TaskError::Cancelled`] once its executor has dropped
    /// its future. Returns false if there is no such task, or the set has seen its end. The output of a task that was done
    /// before stays its result.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_local::{LocalExecutor, TaskSet};
    ///
    /// let executor = LocalExecutor::new();
    /// let mut set = TaskSet::new(&executor);
    /// let number = set.spawn(std::future::pending::<()>());
    /// assert!(set.abort(number));
    /// let end = futures_lite::future::block_on(executor.run(set.join_next()));
    /// assert!(end.unwrap().1.unwrap_err().is_cancelled());
    /// ```
    pub fn abort(&mut self, number: usize) -> bool {
        self.tasks.cancel(|task| task.number == number)
    }

    /// Aborts all tasks. Their results still come.
    pub fn abort_all(&mut self) {
        self.tasks.cancel(|_| true);
    }

    /// Aborts all tasks, waits until all have ended, and drops their results.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_local::{LocalExecutor, TaskSet};
    ///
    /// let executor = LocalExecutor::new();
    /// let mut set = TaskSet::new(&executor);
    /// set.spawn(std::future::pending::<()>());
    /// futures_lite::future::block_on(executor.run(set.shutdown()));
    /// assert!(set.is_empty() && executor.is_empty());
    /// ```
    pub async fn shutdown(&mut self) {
        self.abort_all();
        while let Some(result) = self.join_next().await {
            contain(|| drop(result));
        }
    }

    /// Lets all tasks run on in the background, and drops the results of those that have ended.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_local::{LocalExecutor, TaskSet};
    ///
    /// let executor = LocalExecutor::new();
    /// let mut set = TaskSet::new(&executor);
    /// set.spawn(async {});
    /// set.detach_all();
    /// drop(set);
    /// assert_eq!(executor.run_until_stalled(), 1);
    /// ```
    pub fn detach_all(&mut self) {
        for (_, task) in core::mem::take(&mut self.tasks.running) {
            task.task.detach();
        }
        self.tasks.wake();
        self.tasks.discard();
    }

    /// Tasks that have not ended, and results that were not handed out.
    #[must_use = "the call only reads a count"]
    pub fn len(&self) -> usize {
        self.tasks.running.len() + self.tasks.ended.len()
    }

    /// Whether the set has neither a task nor a result.
    #[must_use = "the call only answers a question"]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// See [`Tasks::lengths`].
    #[cfg(test)]
    pub(super) fn lengths(&self) -> [usize; 2] {
        self.tasks.lengths()
    }
}

impl<S, T> Drop for TaskSet<S, T> {
    fn drop(&mut self) {
        self.tasks.discard();
    }
}

impl<S, T> fmt::Debug for TaskSet<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskSet")
            .field("running", &self.tasks.running.len())
            .field("ended", &self.tasks.ended.len())
            .finish_non_exhaustive()
    }
}
