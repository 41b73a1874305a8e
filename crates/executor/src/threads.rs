//! An executor's threads: how many there are, what they do and have done, and their end. And how any other thread takes part in its
//! fork-join: as one of its own, or in the place of a worker that sleeps.

use std::io;
use std::time::Duration;

use terrace_thread::ThreadSpawner;

use crate::broadcast::{self, Broadcast};
use crate::executor::Executor;
use crate::member::Half;
use crate::metrics::Metrics;
use crate::pool::dump::Dump;
use crate::pool::fork::Worker;
use crate::run::shutdown::{self, Shutdown, StillRunning};
use crate::run::{fork, life, stand_in};

impl Executor<'static> {
    /// Starts or ends worker threads until there are `workers`, at any time, from any thread. Workers that end finish
    /// the polls they are in; this does not wait for them. Their pinned tasks (`terrace-thread`) end with them, all
    /// other tasks stay. With 0, tasks run in `run`, `tick` and `try_tick`, and on threads that wait, also on threads
    /// that already wait.
    ///
    /// # Errors
    /// When the operating system cannot start a thread; those that were started stay.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Builder::new().workers(1).build();
    /// executor.set_workers(3)?;
    /// assert_eq!(executor.workers(), 3);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "resize")]
    pub fn set_workers(&self, workers: usize) -> io::Result<()> {
        life::set_workers(&self.pool().shared, workers)
    }

    /// Ends all worker threads and joins them; blocks for at most `limit`, or as long as it takes. The executor goes on
    /// without workers. Its tasks run in `run`, `tick` and `try_tick` and on threads that wait, or on workers that
    /// [`set_workers`](Self::set_workers) starts later.
    ///
    /// A worker may call it: in a task, a hook, or a destructor. The call then does not wait for the current thread,
    /// which ends when its task's poll has ended. Nor does it wait for threads that are themselves inside a call of
    /// `shutdown`, of any executor: they would wait for this one. Without a limit any thread waits as it does in
    /// [`block_on`](fn@crate::block_on). The limit is for tasks: when all threads have run their last one, the call waits for destructors of
    /// their thread-locals in any case. A thread that blocks on the handle of the caller's task cannot end before that task: such a task
    /// passes a limit.
    /// So does a task that shuts down an executor whose worker may be dropping this task's executor: a call of `shutdown`
    /// waits for threads that are inside a drop.
    ///
    /// On Windows the system starts and ends no thread while a destructor of a thread-local runs. There this call, and the drop of an
    /// executor, waits until the threads have run their last task, and does not join them: their own thread-locals are dropped later.
    /// A thread that has not begun cannot end, so that wait would never end: [`worker_spawners`](Self::worker_spawners) waits until all
    /// workers have begun. Destructors on threads of the executor run only when all its threads have begun.
    ///
    /// # Errors
    /// When tasks ([`FinishAll`](Shutdown::FinishAll)) or threads have not ended in time; the error has a [`dump`](Self::dump). Calling it
    /// again waits again, perhaps with [`Shutdown::DropQueued`]. After a `DropQueued` whose limit ran out, threads that wait drive the
    /// executor only once another call has succeeded.
    ///
    /// # Panics
    /// With `FinishAll` and no limit, if the caller is a task of this executor: it would wait for itself.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, Shutdown, block_on};
    ///
    /// let executor = Builder::new().workers(2).build();
    /// let task = executor.spawn(async { "ran" });
    /// executor.shutdown(Shutdown::FinishAll, None)?;
    /// assert!(task.is_finished());
    ///
    /// executor.set_workers(1)?;
    /// assert_eq!(block_on(executor.spawn(async { "again" })), "again");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias("shutdown_timeout", "shutdown_background"))]
    pub fn shutdown(&self, how: Shutdown, limit: Option<Duration>) -> Result<(), StillRunning> {
        shutdown::shutdown(&self.pool().shared, how, limit)
    }
}

impl Executor<'_> {
    /// For each worker, a spawner of tasks that run on its thread, in the order of the workers' places. Spare workers are not among
    /// them, nor workers that were asked to end. Waits for workers that were started and whose threads have not begun; it does not
    /// wait for their start hooks.
    ///
    /// A worker runs these tasks before others, also while it waits. At its end it drops those that have not ended; their
    /// handles then are cancelled.
    ///
    /// Cost: a lock, and one allocation.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, block_on};
    ///
    /// let executor = Builder::new().workers(2).build();
    /// let names = executor.worker_spawners().into_iter().map(|worker| {
    ///     block_on(worker.spawn(async { std::thread::current().name().map(String::from) }))
    /// });
    /// assert_eq!(names.flatten().collect::<Vec<_>>(), ["terrace-0", "terrace-1"]);
    /// ```
    #[must_use = "a handle spawns nothing by itself"]
    pub fn worker_spawners(&self) -> Vec<ThreadSpawner> {
        broadcast::worker_spawners(self.shared())
    }

    /// The number of workers that serve the executor, spare ones not counted. A worker that was asked to end, by
    /// [`set_workers`](Executor::set_workers) or a [`shutdown`](Executor::shutdown), does not count any more, though its thread may still
    /// be in a poll: [`threads`](Self::threads) counts that.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Builder::new().workers(2).build();
    /// assert_eq!(executor.workers(), 2);
    /// executor.set_workers(1)?;
    /// assert_eq!(executor.workers(), 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias("num_workers", "current_num_threads"))]
    pub fn workers(&self) -> usize {
        self.shared().workers()
    }

    /// The number of threads of the executor that have not ended: workers, those that were asked to end, and spare ones.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, Shutdown};
    ///
    /// let executor = Builder::new().workers(2).build();
    /// assert_eq!((executor.workers(), executor.threads()), (2, 2));
    /// executor.shutdown(Shutdown::FinishAll, None)?;
    /// assert_eq!((executor.workers(), executor.threads()), (0, 0));
    /// # Ok::<(), terrace_executor::StillRunning>(())
    /// ```
    pub fn threads(&self) -> usize {
        self.shared().threads.left.get()
    }

    /// What the executor has done so far, and what lies in its queues. Three allocations at most, a lock of the list of threads, and a
    /// few relaxed loads a worker; the counts cost the workers no read-modify-write.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Executor::new();
    /// executor.spawn(async {}).detach();
    /// executor.spawn(std::future::pending::<()>()).detach();
    /// while executor.try_tick() {}
    /// let metrics = executor.metrics();
    /// assert_eq!((metrics.spawned_tasks_count(), metrics.num_alive_tasks()), (2, 1));
    /// ```
    #[must_use = "it is a copy for the caller to read"]
    pub fn metrics(&self) -> Metrics {
        Metrics::of(self.shared())
    }

    /// Waits until every task has ended, also those that wait to be woken; blocks for at most `limit`, or as long as it takes. The
    /// executor goes on, and threads may spawn onto it all the time. If it has no workers, the caller runs its tasks. Without a limit the
    /// thread waits as it does in [`block_on`](fn@crate::block_on).
    ///
    /// A task has ended when its future has been dropped; its handle may say so a moment later. A task that never ends keeps this
    /// waiting: detached loops, for example. With a limit of zero it looks once.
    ///
    /// # Errors
    /// When tasks have not ended in time; it says how many, and has a [`dump`](Self::dump), which costs more than
    /// [`is_empty`](Self::is_empty).
    ///
    /// # Panics
    /// Without a limit, if the caller is a task of this executor: it would wait for itself. A closure that runs by
    /// `spawn_blocking` does wait for itself.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let executor = terrace_executor::Builder::new().workers(1).build();
    /// for request in 0..5 {
    ///     executor.spawn(async move { request }).detach();
    /// }
    /// executor.wait_idle(None)?;
    /// assert!(executor.is_empty());
    ///
    /// executor.spawn(std::future::pending::<()>()).detach();
    /// let left = executor.wait_idle(Some(Duration::from_millis(1))).unwrap_err();
    /// assert_eq!(left.tasks(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait_idle(&self, limit: Option<Duration>) -> Result<(), StillRunning> {
        shutdown::wait_idle(self.shared(), shutdown::deadline_after(limit))
    }

    /// What the executor looks like at this moment, and what may be stuck: its workers, queues, scopes, joins and tasks. Any thread may
    /// call it at any time: a task, a thread of its own beside a program that hangs, while the executor shuts down.
    ///
    /// It waits for no lock: what is locked for long is left out, and the dump says so.
    ///
    /// Cost: microseconds, and on Linux two small files in `/proc` for each worker. With feature `inspect` it grows with the number of
    /// tasks. Threads that spawn and end tasks may wait while their records are copied.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Builder::new().workers(1).build();
    /// let dump = executor.dump();
    /// assert!(dump.suspects().is_empty());
    /// ```
    #[must_use = "a dump is returned, and not printed"]
    pub fn dump(&self) -> Dump {
        match self.used() {
            Some(pool) => pool.dump(),
            None => Dump::new(Vec::new(), false),
        }
    }
}

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

#[cfg(all(test, not(any(terrace_loom, terrace_shuttle))))]
mod tests {
    use terrace_testing::watchdog;

    use super::{Executor, Shutdown};

    /// The list of threads holds those that run, and few that have just ended.
    #[test]
    fn threads_that_have_ended_leave_the_list() {
        let _watchdog = watchdog();
        let executor = Executor::new();
        let listed = || executor.shared().threads.list.lock().len();
        for _ in 0..100 {
            executor.set_workers(2).unwrap();
            executor.set_workers(0).unwrap();
            while executor.threads() > 0 {
                std::thread::yield_now();
            }
        }
        assert!(listed() < 100, "{}", listed());
        for _ in 0..3 {
            executor.set_workers(2).unwrap();
            executor.shutdown(Shutdown::RunQueued, None).unwrap();
            assert_eq!(listed(), 0, "a shutdown joins all of them");
        }
    }
}
