//! What an executor has done, in numbers.

use terrace_queue::SlotTable;

use crate::parts::seat::Seat;
use crate::pool::Shared;

/// Defines a structure of numbers and other fields, with a method for each number that reads it.
macro_rules! numbers {
    (
        $(#[$doc:meta])*
        pub struct $name:ident {
            $($(#[$of:meta])* $number:ident,)+
        }
        $($rest:ident: $type:ty,)*
    ) => {
        $(#[$doc])*
        pub struct $name {
            $($number: usize,)+
            $($rest: $type,)*
        }

        impl $name {
            $(
                $(#[$of])*
                #[must_use = "the call only reads a count"]
                pub fn $number(&self) -> usize {
                    self.$number
                }
            )+
        }
    };
}

numbers! {
    /// What an executor has done, and what lies in its queues. [`Executor::metrics`](crate::Executor::metrics) takes it.
    ///
    /// The names are those of `tokio::runtime::RuntimeMetrics`. Each number is exact while no thread acts; else it may be old.
    /// All of them count from the executor's start, and wrap.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, Shutdown};
    ///
    /// let executor = Builder::new().workers(2).build();
    /// for _ in 0..100 {
    ///     executor.spawn(async {}).detach();
    /// }
    /// executor.shutdown(Shutdown::FinishAll, None)?;
    /// let metrics = executor.metrics();
    /// assert_eq!((metrics.spawned_tasks_count(), metrics.num_alive_tasks()), (100, 0));
    /// let polls = metrics.workers().iter().map(|worker| worker.poll_count());
    /// assert_eq!(polls.sum::<usize>(), 100);
    /// # Ok::<(), terrace_executor::StillRunning>(())
    /// ```
    #[doc(alias = "RuntimeMetrics")]
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Metrics {
        /// Worker threads that have not ended, spares not counted. Those that were asked to end count, unlike in
        /// [`Executor::workers`](crate::Executor::workers).
        ///
        /// # Examples
        ///
        /// ```
        /// let executor = terrace_executor::Builder::new().workers(2).build();
        /// assert_eq!(executor.metrics().num_workers(), 2);
        /// ```
        num_workers,
        /// Threads that the executor has started where all workers wait or are blocked, and that have not ended.
        ///
        /// # Examples
        ///
        /// ```
        /// let executor = terrace_executor::Builder::new().workers(2).build();
        /// assert_eq!(executor.metrics().num_spares(), 0, "no worker waits in a task");
        /// ```
        #[doc(alias = "num_blocking_threads")]
        num_spares,
        /// Tasks that have not ended: they run, are queued, or wait to be woken.
        ///
        /// # Examples
        ///
        /// ```
        /// let executor = terrace_executor::Executor::new();
        /// let task = executor.spawn(async {});
        /// assert_eq!(executor.metrics().num_alive_tasks(), 1);
        /// executor.try_tick();
        /// assert_eq!(executor.metrics().num_alive_tasks(), 0);
        /// # drop(task);
        /// ```
        num_alive_tasks,
        /// Tasks that were spawned so far. Children of scopes are no tasks.
        ///
        /// # Examples
        ///
        /// ```
        /// let executor = terrace_executor::Executor::new();
        /// for _ in 0..3 {
        ///     executor.spawn(async {}).detach();
        /// }
        /// while executor.try_tick() {}
        /// assert_eq!(executor.metrics().spawned_tasks_count(), 3);
        /// ```
        spawned_tasks_count,
        /// Tasks in the shared queue of the normal lane: of threads without a seat, and out of full queues.
        ///
        /// # Examples
        ///
        /// ```
        /// let executor = terrace_executor::Executor::new();
        /// executor.spawn(async {}).detach();
        /// assert_eq!(executor.metrics().global_queue_depth(), 1, "this thread has no seat");
        /// executor.try_tick();
        /// assert_eq!(executor.metrics().global_queue_depth(), 0);
        /// ```
        #[doc(alias = "injection_queue_depth")]
        global_queue_depth,
        /// Tasks in the queue of [`Lane::High`](crate::Lane::High).
        ///
        /// # Examples
        ///
        /// ```
        /// use terrace_executor::{Executor, Lane};
        ///
        /// let executor = Executor::new();
        /// executor.spawn_on(Lane::High, async {}).detach();
        /// let metrics = executor.metrics();
        /// assert_eq!((metrics.high_queue_depth(), metrics.global_queue_depth()), (1, 0));
        /// ```
        high_queue_depth,
        /// Tasks in the queue of [`Lane::Background`](crate::Lane::Background).
        ///
        /// # Examples
        ///
        /// ```
        /// use terrace_executor::{Executor, Lane};
        ///
        /// let executor = Executor::new();
        /// executor.spawn_on(Lane::Background, async {}).detach();
        /// let metrics = executor.metrics();
        /// assert_eq!((metrics.background_queue_depth(), metrics.global_queue_depth()), (1, 0));
        /// ```
        background_queue_depth,
    }
    workers: Vec<RunnerMetrics>,
    drivers: Vec<RunnerMetrics>,
}

numbers! {
    /// The part of [`Metrics`] that belongs to one seat: of a worker, a spare, or a `run` future. A seat that is given back keeps its
    /// numbers, and its next holder adds to them.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, block_on};
    ///
    /// let executor = Builder::new().workers(1).build();
    /// block_on(executor.spawn(async {}));
    /// let metrics = executor.metrics();
    /// assert_eq!(metrics.workers()[0].overflow_count(), 0);
    /// assert!(metrics.drivers().is_empty());
    /// ```
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct RunnerMetrics {
        /// Tasks in its own queue.
        ///
        /// # Examples
        ///
        /// ```
        /// use terrace_executor::{Executor, block_on};
        ///
        /// let executor = Executor::new();
        /// let depth = executor.run(async {
        ///     executor.spawn(async {}).detach();
        ///     executor.metrics().drivers()[0].local_queue_depth()
        /// });
        /// assert_eq!(block_on(depth), 1);
        /// ```
        #[doc(alias = "worker_local_queue_depth")]
        local_queue_depth,
        /// Tasks that it has polled, one by one, and children of scopes that it took. Not those that run inside of another one: in a
        /// scope or a wait, or as an eager child. A poll by a thread without a seat counts nowhere: by
        /// [`try_tick`](crate::Executor::try_tick) or [`tick`](crate::Executor::tick), or by a thread that waits while the pool has no workers.
        ///
        /// # Examples
        ///
        /// ```
        /// use terrace_executor::{Executor, block_on};
        ///
        /// let executor = Executor::new();
        /// let tasks = [1, 2, 3].map(|n| executor.spawn(async move { n }));
        /// block_on(executor.run(async {
        ///     for task in tasks {
        ///         task.await;
        ///     }
        /// }));
        /// assert_eq!(executor.metrics().drivers()[0].poll_count(), 3);
        /// ```
        #[doc(alias = "worker_poll_count")]
        poll_count,
        /// How often it went to sleep because it found no work. Zero for `run` futures, which sleep as their caller does.
        ///
        /// # Examples
        ///
        /// ```
        /// use terrace_executor::{Executor, block_on};
        ///
        /// let executor = Executor::new();
        /// block_on(executor.run(executor.spawn(async {})));
        /// assert_eq!(executor.metrics().drivers()[0].park_count(), 0, "its caller sleeps, not the `run` future");
        /// ```
        #[doc(alias = "worker_park_count")]
        park_count,
        /// Tasks that it took out of the queues of others.
        ///
        /// # Examples
        ///
        /// ```
        /// use terrace_executor::{Executor, block_on};
        ///
        /// let executor = Executor::new();
        /// block_on(executor.run(executor.spawn(async {})));
        /// let driver = executor.metrics().drivers()[0];
        /// assert_eq!(driver.steal_count(), 0, "the task came out of the shared queue, not out of that of another");
        /// ```
        #[doc(alias = "worker_steal_count")]
        steal_count,
        /// How often it did so.
        ///
        /// # Examples
        ///
        /// ```
        /// use terrace_executor::{Builder, Shutdown};
        ///
        /// let executor = Builder::new().workers(2).build();
        /// for _ in 0..100 {
        ///     executor.spawn(async {}).detach();
        /// }
        /// executor.shutdown(Shutdown::FinishAll, None)?;
        /// let metrics = executor.metrics();
        /// assert!(metrics.workers().iter().all(|worker| worker.steal_operations() <= worker.steal_count()));
        /// # Ok::<(), terrace_executor::StillRunning>(())
        /// ```
        #[doc(alias = "worker_steal_operations")]
        steal_operations,
        /// How often its own queue was full, so that half of it moved into the shared queue.
        ///
        /// # Examples
        ///
        /// ```
        /// use terrace_executor::{Executor, block_on};
        ///
        /// let executor = Executor::new();
        /// block_on(executor.run(async {
        ///     for _ in 0..10_000 {
        ///         executor.spawn(async {}).detach();
        ///     }
        /// }));
        /// assert!(executor.metrics().drivers()[0].overflow_count() > 0);
        /// ```
        #[doc(alias = "worker_overflow_count")]
        overflow_count,
    }
}

impl Metrics {
    pub(crate) fn of(pool: &Shared) -> Self {
        let (num_workers, num_spares) = pool.threads.running();
        let num_alive_tasks = pool.seats.active();
        Self {
            num_workers,
            num_spares,
            num_alive_tasks,
            spawned_tasks_count: pool.seats.spawned(),
            global_queue_depth: pool.injector.len_hint(),
            high_queue_depth: pool.lanes.high.len_hint(),
            background_queue_depth: pool.lanes.background.len_hint(),
            workers: RunnerMetrics::of_all(&pool.seats.workers),
            drivers: RunnerMetrics::of_all(&pool.seats.drivers),
        }
    }

    /// The seats of workers and spares, those that have ended included, by [`Current::worker`](crate::Current::worker).
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, Shutdown};
    ///
    /// let executor = Builder::new().workers(2).build();
    /// for _ in 0..10 {
    ///     executor.spawn(async {}).detach();
    /// }
    /// executor.shutdown(Shutdown::FinishAll, None)?;
    /// let metrics = executor.metrics();
    /// let polls = metrics.workers().iter().map(|worker| worker.poll_count());
    /// assert_eq!(polls.sum::<usize>(), 10);
    /// # Ok::<(), terrace_executor::StillRunning>(())
    /// ```
    #[must_use = "the call only reads a value"]
    pub fn workers(&self) -> &[RunnerMetrics] {
        &self.workers
    }

    /// The seats of `run` futures.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Executor, block_on};
    ///
    /// let executor = Executor::new();
    /// block_on(executor.run(executor.spawn(async {})));
    /// let metrics = executor.metrics();
    /// assert_eq!(metrics.drivers()[0].poll_count(), 1);
    /// assert!(metrics.workers().is_empty());
    /// ```
    #[must_use = "the call only reads a value"]
    pub fn drivers(&self) -> &[RunnerMetrics] {
        &self.drivers
    }
}

impl RunnerMetrics {
    /// Those of the seats that have a holder, or had one that did something.
    fn of_all(seats: &SlotTable<Seat, 1>) -> Vec<Self> {
        let held = seats.high();
        let mut all: Vec<_> = seats.all().map(Self::of).collect();
        let last = all.iter().rposition(|seat| *seat != Self::default());
        all.truncate(held.max(last.map_or(0, |last| last + 1)));
        all
    }

    fn of(seat: &Seat) -> Self {
        let counts = &seat.counts;
        Self {
            local_queue_depth: seat.ring.len(),
            poll_count: counts.polls.get(),
            park_count: counts.parks.get(),
            steal_count: counts.steals.get(),
            steal_operations: counts.steal_operations.get(),
            overflow_count: counts.overflows.get(),
        }
    }
}
