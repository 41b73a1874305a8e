//! An executor's threads: how many there are, what they do and have done, and their end.

use std::io;
use std::time::Duration;

use terrace_thread::ThreadSpawner;

use crate::dump::Dump;
use crate::executor::Executor;
use crate::metrics::Metrics;
use crate::run::{shutdown, spawners, start};
use crate::shutdown::{Shutdown, StillRunning};

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
        start::set_workers(&self.pool().shared, workers)
    }

    /// Ends all worker threads and joins them; blocks for at most `limit`, or as long as it takes. The executor goes on
    /// without workers. Its tasks run in `run`, `tick` and `try_tick` and on threads that wait, or on workers that
    /// [`set_workers`](Self::set_workers) starts later.
    ///
    /// A worker may call it: in a task, a hook, or a destructor. The call then does not wait for the current thread,
    /// which ends when its task's poll has ended. Nor does it wait for threads that are themselves inside a call of
    /// `shutdown`, of any executor: they would wait for this one. Without a limit the worker waits as it does in
    /// [`block_on`](fn@crate::block_on). A thread that blocks on the handle of the caller's task cannot end before that
    /// task: such a task passes a limit.
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
    #[must_use]
    pub fn worker_spawners(&self) -> Vec<ThreadSpawner> {
        spawners::worker_spawners(self.shared())
    }

    /// The number of workers that serve the executor, spare ones not counted. A worker that was asked to end, by
    /// [`set_workers`](Executor::set_workers) or a [`shutdown`](Executor::shutdown), does not count any more, though its thread may still
    /// be in a poll: [`threads`](Self::threads) counts that.
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
        self.shared().threads.running()
    }

    /// What the executor has done so far, and what lies in its queues. Three allocations at most, a lock of the list of threads, and a
    /// few relaxed loads a worker; the counts cost the workers no read-modify-write.
    /// [`Metrics`] has an example.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        Metrics::of(self.shared())
    }

    /// Waits until every task has ended, also those that wait to be woken; blocks for at most `limit`, or as long as it takes. The
    /// executor goes on, and threads may spawn onto it all the time. If it has no workers, the caller runs its tasks.
    ///
    /// A task has ended when its future has been dropped; its handle may say so a moment later. A task that never ends keeps this
    /// waiting: detached loops, for example. With a limit of zero it looks once.
    ///
    /// # Errors
    /// When tasks have not ended in time; it says how many, and has a [`dump`](Self::dump), which costs more than
    /// [`is_empty`](Self::is_empty).
    ///
    /// # Panics
    /// Without a limit, if the caller is a task of this executor: it would wait for itself.
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
}

impl Executor<'_> {
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
    #[must_use]
    pub fn dump(&self) -> Dump {
        match self.used() {
            Some(pool) => pool.dump(),
            None => Dump::new(Vec::new(), false),
        }
    }
}
