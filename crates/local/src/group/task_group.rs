//! [`TaskGroup`]: tasks that end together.
//!
//! The first failure begins the end of the group: all others but shielded ones are cancelled. Each of them stays in its slot until its
//! future has been dropped.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt;
use core::future::{Future, poll_fn};
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::task::{Context, Poll, Waker};

use super::spawn::Spawn;
use super::tasks::{Shield, Tasks, discard_all};
use crate::task::fallible::End;
use crate::task::{FallibleTask, Task};
use crate::unwind::{contain, resume_unwind};

/// So many queued children are worth a yield of the group's task.
const WORTH_A_YIELD: usize = 2;

/// Tasks that end together: structured concurrency, as in Python's `asyncio.TaskGroup` and Swift's task groups.
///
/// Each child is a future of a `Result<T, E>`. The first child that fails, by an error or a panic, cancels all others.
/// [`join_all`](Self::join_all) and [`next`](Self::next) return that failure once every child has ended: once its future has been
/// dropped. So no child of a group that was awaited to its end outlives it.
///
/// `S` spawns the children: a reference to an executor, or a spawner. See [`Spawn`].
///
/// # What a child may borrow
///
/// What tasks of the executor may borrow: values that live for `'a` of a `LocalExecutor<'a>` or an `Executor<'a>`, nothing on the
/// others. A child cannot borrow a local variable of the future that has the group. That would be sound only if the group's
/// destructor were sure to run, and to wait: a program may forget a group, or the future that it is in. The executor's own
/// drop ends every child in any case, so a forgotten group is sound.
///
/// ```compile_fail,E0597
/// use std::convert::Infallible;
/// use terrace_local::{LocalExecutor, TaskGroup};
///
/// let executor = LocalExecutor::new();
/// let local = String::from("borrowed");
/// let mut group = TaskGroup::<_, usize, Infallible>::new(&executor);
/// group.spawn(async { Ok(local.len()) });
/// ```
///
/// # The end of a group
///
/// | the group is                        | its children                                                                        |
/// |-------------------------------------|-------------------------------------------------------------------------------------|
/// | joined, or cancelled and awaited    | have ended, and their futures have been dropped                                      |
/// | dropped in the middle               | are cancelled: no poll of them begins from now on. Their executor drops their futures at its next turn. The drop waits for nothing |
/// | forgotten                           | run on. What the handles keep is leaked: a cell for each child, and its outcome       |
///
/// A drop that waited for the executor would wait without end where it runs in a task of that executor's only thread. Another
/// thread may be in a poll of a child at that time, and ends it.
///
/// A panic of the destructor of a value or an error that no caller gets goes no further than the panic hook. So it loses no
/// child, and no value beside it.
///
/// A group that has ended is empty, and may be used again. A child that is spawned after a failure, and before the group was
/// joined, is dropped unpolled.
///
/// # Cost
///
/// An [eager](Self::spawn_eager) child that is done at once takes room for its value, and no wake. A group whose children all
/// were completes without suspending its caller. On a `LocalExecutor` it takes no atomic read-modify-write, and two allocations:
/// its list of values, and the one that it returns.
///
/// A poll of the group after several queued children yields once if one of them has not ended, so that they have their turn. Those
/// that end in it cost what they cost alone, and a slot. The first spawn behind a pending poll wakes the group's task.
///
/// Any other child takes a slot, and each 16 of them an allocation. Its end takes three read-modify-writes more than that of a
/// task: two count its waker's reference, and one sets its bit. The first of each 16 to end takes one more. Between two polls of the
/// group, 1,024 children (512 on 32-bit targets) wake its task at most once. A poll looks at one word for each 1,024 slots, and at the
/// children that have ended. A new child takes the slot of one that has ended. A poll that finds more than two blocks of 16
/// slots beyond one a child moves the children together, and gives each a new waker. A poll with another waker than that of the last
/// one gives new ones, too.
///
/// # Examples
///
/// ```
/// use std::convert::Infallible;
/// use terrace_local::{LocalExecutor, TaskGroup};
///
/// let executor = LocalExecutor::new();
/// let sum = async {
///     let mut group = TaskGroup::<_, u32, Infallible>::new(&executor);
///     for n in 1..=3 {
///         group.spawn_eager(async move { Ok(n * n) });
///     }
///     let Ok(squares) = group.join_all().await;
///     squares
/// };
/// assert_eq!(futures_lite::future::block_on(executor.run(sum)), [1, 4, 9]);
/// ```
#[doc(alias("JoinSet", "TaskTracker", "nursery"))]
#[must_use = "a group cancels its children when it is dropped"]
pub struct TaskGroup<S, T, E> {
    spawner: S,
    tasks: Tasks<Result<T, E>>,
    /// Values that no caller has got, with the numbers of their children, in the order in which the group has found them.
    done: VecDeque<(usize, T)>,
    /// The first end of a child that was no value; within it `None` if the executor dropped a child that the group has not cancelled.
    failure: Option<End<Result<T, E>>>,
    /// Whether the group ends: it has cancelled its children.
    ends: bool,
    /// Children that were queued since the last poll, and have not had a turn for all that the group knows.
    queued: usize,
}

// A panic of a child ends the group in order.
impl<S, T, E> UnwindSafe for TaskGroup<S, T, E> {}
impl<S, T, E> RefUnwindSafe for TaskGroup<S, T, E> {}

impl<S, T, E> TaskGroup<S, T, E> {
    /// An empty group. Allocates nothing yet.
    pub const fn new(spawner: S) -> Self {
        Self {
            spawner,
            tasks: Tasks::new(),
            done: VecDeque::new(),
            failure: None,
            ends: false,
            queued: 0,
        }
    }

    /// An empty group with room for the values of so many children.
    pub fn with_capacity(spawner: S, children: usize) -> Self {
        let mut this = Self::new(spawner);
        this.done.reserve(children);
        this
    }

    /// Spawns a child, and returns its number: 0 for the first child of the group, and for the first one after it has ended.
    ///
    /// Where the group is failing or being cancelled, it drops the future instead. The child counts as cancelled.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_local::{LocalExecutor, TaskGroup};
    ///
    /// let executor = LocalExecutor::new();
    /// let mut group = TaskGroup::<_, u32, &str>::new(&executor);
    /// assert_eq!((group.spawn(async { Ok(1) }), group.spawn(async { Ok(2) })), (0, 1));
    /// let values = futures_lite::future::block_on(executor.run(group.join_all()));
    /// assert_eq!(values, Ok(vec![1, 2]));
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn<F>(&mut self, future: F) -> usize
    where
        F: Future<Output = Result<T, E>>,
        S: Spawn<F>,
    {
        self.queued += 1;
        self.spawn_by(S::spawn_task, future, Shield::No)
    }

    /// As [`spawn`](Self::spawn), and polls the child once before it returns. See
    /// [`LocalExecutor::spawn_eager`](crate::LocalExecutor::spawn_eager). A failure in that poll cancels the other children at once.
    #[inline]
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_eager<F>(&mut self, future: F) -> usize
    where
        F: Future<Output = Result<T, E>>,
        S: Spawn<F>,
    {
        self.spawn_by(S::spawn_task_eager, future, Shield::No)
    }

    /// As [`spawn`](Self::spawn), for a child that runs to its end: neither a failure of another one nor
    /// [`cancel`](Self::cancel) cancels it. The group waits for it all the same. A drop of the group lets it run on in the
    /// background, as the one child that may outlive the group.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_local::{LocalExecutor, TaskGroup};
    ///
    /// let executor = LocalExecutor::new();
    /// let mut group = TaskGroup::<_, u32, &str>::new(&executor);
    /// let (sender, written) = std::sync::mpsc::channel();
    /// group.spawn_shielded(async move { Ok(sender.send("to its end").map_or(0, |()| 1)) });
    /// group.spawn(async { Err("fails") });
    /// let values = futures_lite::future::block_on(executor.run(group.join_all()));
    /// assert_eq!((values, written.try_recv()), (Err("fails"), Ok("to its end")));
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_shielded<F>(&mut self, future: F) -> usize
    where
        F: Future<Output = Result<T, E>>,
        S: Spawn<F>,
    {
        self.queued += 1;
        self.spawn_by(S::spawn_task, future, Shield::Yes)
    }

    #[inline]
    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn_by<F>(
        &mut self,
        spawn: impl FnOnce(&S, F) -> Task<Result<T, E>>,
        future: F,
        shield: Shield,
    ) -> usize
    where
        F: Future<Output = Result<T, E>>,
    {
        let number = self.tasks.number();
        if self.ends {
            drop(future);
        } else {
            self.push(number, spawn(&self.spawner, future).fallible(), shield);
        }
        number
    }

    /// A child that was just spawned, and perhaps polled.
    #[inline]
    fn push(&mut self, number: usize, mut task: FallibleTask<Result<T, E>>, shield: Shield) {
        match task.take_finished(&mut Context::from_waker(Waker::noop())) {
            Some(Some(Ok(Ok(value)))) => self.done.push_back((number, value)),
            Some(end) => self.fail_at_spawn(number, end),
            None => self.tasks.push(number, task, shield),
        }
    }

    #[cold]
    fn fail_at_spawn(&mut self, number: usize, end: End<Result<T, E>>) {
        self.tasks.ended.push_back((number, end));
        self.cancel_if_failed();
    }

    /// Waits until all children have ended, and returns their values in the order of their spawns, without those that
    /// [`next`](Self::next) has returned. Does not suspend if all have ended.
    ///
    /// If this future is dropped, the group goes on.
    ///
    /// # Errors
    /// The first error of a child, after all have ended.
    ///
    /// # Panics
    /// With the first panic of a child, if no error came before, after all have ended. Also if the executor dropped a child.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_local::{LocalExecutor, TaskGroup};
    ///
    /// let executor = LocalExecutor::new();
    /// let mut group = TaskGroup::<_, u32, &str>::new(&executor);
    /// group.spawn(std::future::pending());
    /// group.spawn(async { Err("fails, and cancels the other child") });
    /// let values = futures_lite::future::block_on(executor.run(group.join_all()));
    /// assert_eq!(values, Err("fails, and cancels the other child"));
    /// ```
    #[doc(alias = "try_join_all")]
    pub async fn join_all(&mut self) -> Result<Vec<T>, E> {
        poll_fn(|context| self.poll(context)).await;
        self.finish()
    }

    /// Waits for the next child that is done: its number and value. `None` if no child is left.
    ///
    /// Children that were done at their spawn come first, in order. If this future is dropped, no value is lost.
    ///
    /// # Errors
    /// The first error of a child, once all have ended. Then the group is empty.
    ///
    /// # Panics
    /// As [`join_all`](Self::join_all).
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_local::{LocalExecutor, TaskGroup};
    ///
    /// let executor = LocalExecutor::new();
    /// let mut group = TaskGroup::<_, u32, &str>::new(&executor);
    /// group.spawn(std::future::pending());
    /// group.spawn(async { Ok(42) });
    /// let first = futures_lite::future::block_on(executor.run(group.next()));
    /// assert_eq!(first, Some(Ok((1, 42))));
    /// ```
    #[doc(alias = "join_next")]
    pub async fn next(&mut self) -> Option<Result<(usize, T), E>> {
        poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &Context<'_>) -> Poll<Option<Result<(usize, T), E>>> {
        if let Some(done) = self.next_done() {
            return Poll::Ready(Some(Ok(done)));
        }
        let all = self.poll(context);
        if let Some(done) = self.next_done() {
            self.tasks.waits = false;
            return Poll::Ready(Some(Ok(done)));
        }
        if all.is_pending() {
            return Poll::Pending;
        }
        // A group without a failure has nothing left.
        let failure = self.finish().err();
        Poll::Ready(failure.map(Err))
    }

    /// Polls the children that have woken the group, and new ones. Ready when all have ended.
    ///
    /// If several children were queued since the last poll, and one has not ended, the group's task lets them have their turn first,
    /// by a yield. Those that end in it are not polled before: that saves each an awaiter, three read-modify-writes and a part of a
    /// block.
    fn poll(&mut self, context: &Context<'_>) -> Poll<()> {
        if core::mem::take(&mut self.queued) >= WORTH_A_YIELD && self.tasks.new_one_runs() {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        while !self.tasks.running.is_empty() {
            self.tasks.look(context.waker());
            // Children that a failure has cancelled are to be polled again.
            if !self.cancel_if_failed() && !self.tasks.running.is_empty() {
                self.tasks.waits = true;
                return Poll::Pending;
            }
        }
        Poll::Ready(())
    }

    /// Sorts out the children that have ended. True if the first failure is among them: it begins the end of the group.
    fn cancel_if_failed(&mut self) -> bool {
        while let Some((number, end)) = self.tasks.ended.pop_front() {
            match end {
                Some(Ok(Ok(value))) => self.done.push_back((number, value)),
                failure if self.failure.is_none() && !self.ends => self.failure = Some(failure),
                // One came before, or the group has cancelled its children.
                failure => contain(|| drop(failure)),
            }
        }
        let fails = self.failure.is_some() && !self.ends;
        if fails {
            self.cancel_children();
        }
        fails
    }

    /// The group ends: cancels all children but shielded ones.
    fn cancel_children(&mut self) {
        self.ends = true;
        self.tasks.cancel(|child| child.shield == Shield::No);
        self.cancel_if_failed();
    }

    /// The next value that [`poll`](Self::poll) has found, with its child's number. None where the group ends: its values are
    /// dropped.
    fn next_done(&mut self) -> Option<(usize, T)> {
        if self.ends {
            None
        } else {
            self.done.pop_front()
        }
    }

    /// The values in order, or the first failure. All children have ended; the group begins anew.
    ///
    /// # Panics
    /// With the panic of a child, or if the executor has dropped one.
    fn finish(&mut self) -> Result<Vec<T>, E> {
        self.tasks.restart();
        self.ends = false;
        let Some(failure) = self.failure.take() else {
            let done = self.done.make_contiguous();
            done.sort_unstable_by_key(|(number, _)| *number);
            let mut values = Vec::with_capacity(done.len());
            values.extend(self.done.drain(..).map(|(_, value)| value));
            return Ok(values);
        };
        discard_all(core::mem::take(&mut self.done));
        match failure {
            Some(Ok(failed)) => failed.map(|value| alloc::vec![value]),
            Some(Err(payload)) => resume_unwind(payload),
            None => panic!(
                "a child of the group was cancelled: its executor dropped it before it was done, as an executor does that is \
                 dropped, closed or shut down"
            ),
        }
    }

    /// Cancels all children but shielded ones, and waits until all have ended. Drops their values and errors. Then the group is
    /// empty.
    ///
    /// The cancellation begins with the first poll of this future. If it is dropped, the group goes on to end:
    /// [`join_all`](Self::join_all) then returns the values of those that were done.
    ///
    /// # Panics
    /// With the panic of a child that failed the group before.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_local::{LocalExecutor, TaskGroup};
    ///
    /// let executor = LocalExecutor::new();
    /// let mut group = TaskGroup::<_, u32, &str>::new(&executor);
    /// group.spawn(std::future::pending());
    /// futures_lite::future::block_on(executor.run(group.cancel()));
    /// assert!(group.is_empty() && executor.is_empty());
    /// ```
    #[doc(alias("abort_all", "shutdown"))]
    pub async fn cancel(&mut self) {
        if !self.ends {
            self.cancel_children();
        }
        poll_fn(|context| self.poll(context)).await;
        discard_all(core::mem::take(&mut self.done));
        if let Err(error) = self.finish() {
            contain(|| drop(error));
        }
    }

    /// See [`Tasks::lengths`].
    #[cfg(test)]
    pub(super) fn lengths(&self) -> [usize; 2] {
        self.tasks.lengths()
    }

    /// Whether the group has neither a child nor a value.
    #[must_use = "the call only answers a question"]
    pub fn is_empty(&self) -> bool {
        self.tasks.running.is_empty() && self.done.is_empty() && self.failure.is_none()
    }
}

impl<S, T, E> Drop for TaskGroup<S, T, E> {
    /// Lets shielded children run on, and drops all others.
    fn drop(&mut self) {
        for (_, child) in core::mem::take(&mut self.tasks.running) {
            match child.shield {
                Shield::Yes => child.task.detach(),
                Shield::No => contain(|| drop(child)),
            }
        }
        discard_all(core::mem::take(&mut self.done));
        let failure = self.failure.take();
        contain(|| drop(failure));
    }
}

impl<S, T, E> fmt::Debug for TaskGroup<S, T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskGroup")
            .field("all_ended", &self.tasks.running.is_empty())
            .field("has_failed", &self.failure.is_some())
            .finish_non_exhaustive()
    }
}
