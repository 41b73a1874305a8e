//! How a thread takes part in an executor's fork-join: as one of its own, or in the place of a worker that sleeps.

use crate::executor::Executor;
use crate::member::broadcast::{self, Broadcast};
use crate::member::spawnable::Half;
use crate::pool::fork::worker::Worker;
use crate::run::{fork, stand_in};

impl Executor<'_> {
    /// Calls `f` on the current thread, which takes part in this executor's fork-join until then: halves of its joins run on the
    /// workers. Any number of threads may be in such calls. On a worker of this executor, or inside of such a call, it is a plain
    /// call.
    ///
    /// While the executor has no workers, the caller runs both halves, unless another thread that takes part takes one.
    ///
    /// Cost: two read-modify-writes, or two locks where other threads come and go at the same time. The first thread of a place allocates
    /// 128 KiB, of which joins touch a page.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Builder::new().workers(1).build();
    /// let (a, b) = executor.with_worker(|worker| worker.join(|_| 1, |_| 2));
    /// assert_eq!((a, b), (1, 2));
    /// ```
    #[doc(alias = "install")]
    #[inline(always)]
    pub fn with_worker<T>(&self, f: impl FnOnce(&Worker) -> T) -> T {
        fork::with_worker(self.shared(), f)
    }

    /// Calls `f` on the current thread, which stands in for a worker that sleeps. `f` gets the worker's number. Until `f` ends, neither that
    /// worker nor another stand-in runs in this place. So no more threads are at work than the executor has workers, and no
    /// thread is woken. The numbers are those of [`Current::worker`](crate::Current::worker): a spare that sleeps may be chosen, too.
    ///
    /// If `f` waits in a join, a scope or [`block_on`](crate::block_on), the thread waits as that worker would: for its own work, and
    /// as the last resort for any work, while all workers wait.
    ///
    /// Tasks that are pinned to the worker's thread wait until `f` has ended. Each wait inside of `f` calls `before_sleep` before each sleep. If
    /// `before_sleep` returns true, the wait looks at its own work again. So a program can hand the stand-in what it would pin to the
    /// worker.
    ///
    /// A [`shutdown`](Self::shutdown), a [`broadcast`](Self::broadcast) or a scope's child for one worker inside of `f` gives the place back
    /// at once. Those of other threads wait until `f` has ended, as the number that `f` got has to stay its own: so `f` must not wait for
    /// one of these.
    ///
    /// Cost: two read-modify-writes, one fence, and a look at the queues at the end.
    ///
    /// # Errors
    /// Hands `f` back if no worker sleeps between two tasks, or if the thread is a worker, polls a `run` future, or stands in already.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// let executor = terrace_executor::Builder::new().workers(1).build();
    /// let mut result = Err(());
    /// while result.is_err() {
    ///     // The only worker may still be on its way to its first sleep.
    ///     std::thread::sleep(Duration::from_millis(1));
    ///     result = executor.stand_in(&|| false, |worker| worker).map_err(drop);
    /// }
    /// assert_eq!(result, Ok(0));
    /// ```
    pub fn stand_in<T, F: FnOnce(usize) -> T>(
        &self,
        before_sleep: &dyn Fn() -> bool,
        f: F,
    ) -> Result<T, F> {
        stand_in::stand_in(self.shared(), before_sleep, f)
    }

    /// Calls `f` with the handle of this thread if it takes part in this executor's fork-join now: as a worker, or inside of
    /// [`with_worker`](Self::with_worker). The thread may have come to another executor's `with_worker` since: the handle is then that of
    /// its innermost place in this one. [`Worker::with_current`] and the free functions still find the other.
    ///
    /// Cost: a look at each place in which the thread is, from the innermost on.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = || terrace_executor::Builder::new().workers(1).build();
    /// let (outer, inner) = (executor(), executor());
    /// outer.with_worker(|_| {
    ///     inner.with_worker(|_| {
    ///         outer.get_worker(|worker| assert!(worker.is_some()));
    ///         inner.get_worker(|worker| assert!(worker.is_some()));
    ///     });
    ///     inner.get_worker(|worker| assert!(worker.is_none()));
    /// });
    /// ```
    pub fn get_worker<T>(&self, f: impl FnOnce(Option<&Worker>) -> T) -> T {
        fork::get_worker(self.shared(), f)
    }

    /// [`Worker::broadcast`] on this executor's workers.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Builder::new().workers(2).build();
    /// assert_eq!(executor.broadcast(|part| part.index), [0, 1]);
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn broadcast<T: Send>(&self, f: impl Fn(Broadcast<'_>) -> T + Sync) -> Vec<T> {
        broadcast::broadcast(self.shared(), &f)
    }

    /// [`Worker::join`] as a thread of this executor: shorthand for [`with_worker`](Self::with_worker).
    ///
    /// # Panics
    /// If a closure panics, when both have ended: with the payload of `b` if both panic.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Builder::new().workers(1).build();
    /// assert_eq!(executor.join(|_| 1, |_| 2), (1, 2));
    /// ```
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(&Worker) -> RA + Send,
        B: FnOnce(&Worker) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.with_worker(|worker| worker.join(a, b))
    }
}

/// [`Worker::join`] in the current thread's place. On a thread that is in no pool, both closures run in order.
///
/// A closure takes no argument, or `|worker: &Worker|` with its type.
///
/// # Panics
/// If a closure panics, when both have ended: with the payload of `b` if both panic.
///
/// # Examples
///
/// ```
/// let (left, right) = terrace_executor::join(|| 6, || 7);
/// assert_eq!(left * right, 42);
/// ```
#[inline(always)]
pub fn join<A, B, RA, RB, MA, MB>(a: A, b: B) -> (RA, RB)
where
    A: Half<MA, RA> + Send,
    B: Half<MB, RB> + Send,
    RA: Send,
    RB: Send,
{
    Worker::with_current(|worker| worker.join(|worker| a.call(worker), |worker| b.call(worker)))
}
