//! What an executor has done, in numbers.

use crate::parts::seat::Seat;
use crate::parts::slot_table::SlotTable;
use crate::pool::shared::Shared;

/// What an executor has done, and what lies in its queues. [`Executor::metrics`](crate::Executor::metrics) takes it.
///
/// The names are those of `tokio::runtime::RuntimeMetrics`. Each number is exact while no thread acts. Else it may be old: a
/// worker tells its polls at each 61st turn, and when it runs out of work. All of them count from the executor's start, and wrap.
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
    num_workers: usize,
    num_spares: usize,
    num_alive_tasks: usize,
    spawned_tasks_count: usize,
    global_queue_depth: usize,
    high_queue_depth: usize,
    background_queue_depth: usize,
    workers: Vec<RunnerMetrics>,
    drivers: Vec<RunnerMetrics>,
}

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
    local_queue_depth: usize,
    poll_count: usize,
    park_count: usize,
    steal_count: usize,
    steal_operations: usize,
    overflow_count: usize,
}

impl Metrics {
    pub(crate) fn of(pool: &Shared) -> Self {
        let num_workers = pool.threads.alive();
        let num_alive_tasks = pool.seats.active();
        Self {
            num_workers,
            num_spares: pool.threads.running().saturating_sub(num_workers),
            num_alive_tasks,
            spawned_tasks_count: pool.seats.spawned(),
            global_queue_depth: pool.injector.len_hint(),
            high_queue_depth: pool.lanes.high.len_hint(),
            background_queue_depth: pool.lanes.background.len_hint(),
            workers: RunnerMetrics::of_all(&pool.seats.workers),
            drivers: RunnerMetrics::of_all(&pool.seats.drivers),
        }
    }

    /// Worker threads that have not ended, spares not counted. Those that were asked to end count, unlike in
    /// [`Executor::workers`](crate::Executor::workers).
    #[must_use]
    pub fn num_workers(&self) -> usize {
        self.num_workers
    }

    /// Threads that the executor has started where all workers wait or are blocked, and that have not ended.
    #[must_use]
    #[doc(alias = "num_blocking_threads")]
    pub fn num_spares(&self) -> usize {
        self.num_spares
    }

    /// Tasks that have not ended: they run, are queued, or wait to be woken.
    #[must_use]
    pub fn num_alive_tasks(&self) -> usize {
        self.num_alive_tasks
    }

    /// Tasks that were spawned so far. Children of scopes are no tasks.
    #[must_use]
    pub fn spawned_tasks_count(&self) -> usize {
        self.spawned_tasks_count
    }

    /// Tasks in the shared queue of the normal lane: of threads without a seat, and out of full queues.
    #[must_use]
    #[doc(alias = "injection_queue_depth")]
    pub fn global_queue_depth(&self) -> usize {
        self.global_queue_depth
    }

    /// Tasks in the queue of [`Lane::High`](crate::Lane::High).
    #[must_use]
    pub fn high_queue_depth(&self) -> usize {
        self.high_queue_depth
    }

    /// Tasks in the queue of [`Lane::Background`](crate::Lane::Background).
    #[must_use]
    pub fn background_queue_depth(&self) -> usize {
        self.background_queue_depth
    }

    /// The seats of workers and spares, those that have ended included, by [`Current::worker`](crate::Current::worker).
    #[must_use]
    pub fn workers(&self) -> &[RunnerMetrics] {
        &self.workers
    }

    /// The seats of `run` futures.
    #[must_use]
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

    /// Tasks in its own queue.
    #[must_use]
    #[doc(alias = "worker_local_queue_depth")]
    pub fn local_queue_depth(&self) -> usize {
        self.local_queue_depth
    }

    /// Tasks that it has polled, one by one, and children of scopes that it took. Not those that run inside of another one: in a
    /// scope or a wait, or as an eager child. A poll by a thread without a seat counts nowhere: by
    /// [`try_tick`](crate::Executor::try_tick) or [`tick`](crate::Executor::tick), or by a thread that waits while the pool has no workers.
    #[must_use]
    #[doc(alias = "worker_poll_count")]
    pub fn poll_count(&self) -> usize {
        self.poll_count
    }

    /// How often it went to sleep because it found no work. Zero for `run` futures, which sleep as their caller does.
    #[must_use]
    #[doc(alias = "worker_park_count")]
    pub fn park_count(&self) -> usize {
        self.park_count
    }

    /// Tasks that it took out of the queues of others.
    #[must_use]
    #[doc(alias = "worker_steal_count")]
    pub fn steal_count(&self) -> usize {
        self.steal_count
    }

    /// How often it did so.
    #[must_use]
    #[doc(alias = "worker_steal_operations")]
    pub fn steal_operations(&self) -> usize {
        self.steal_operations
    }

    /// How often its own queue was full, so that half of it moved into the shared queue.
    #[must_use]
    #[doc(alias = "worker_overflow_count")]
    pub fn overflow_count(&self) -> usize {
        self.overflow_count
    }
}
