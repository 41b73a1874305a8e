//! The counters behind the hooks: a fixed number of cache-padded shards, a thread uses one of them.

/// What the process has done, as far as the hooks were told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Tasks spawned.
    pub spawned_tasks_count: u64,
    /// Polls begun.
    pub worker_poll_count: u64,
    /// Tasks a worker put into its own queue.
    pub worker_local_schedule_count: u64,
    /// Tasks put into shared queues.
    pub remote_schedule_count: u64,
    /// Tasks in shared queues now.
    pub global_queue_depth: u64,
    /// Tasks taken from peers.
    pub worker_steal_count: u64,
    /// Operations that took tasks from a peer.
    pub worker_steal_operations: u64,
    /// Times a worker went to sleep.
    pub worker_park_count: u64,
    /// Times a worker's sleep ended.
    pub worker_unpark_count: u64,
    /// Times a worker was chosen to be woken.
    pub worker_wake_count: u64,
}

impl Counters {
    /// What was counted since `earlier`. `global_queue_depth`, a level, is taken over as it is.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            spawned_tasks_count: self.spawned_tasks_count - earlier.spawned_tasks_count,
            worker_poll_count: self.worker_poll_count - earlier.worker_poll_count,
            worker_local_schedule_count: self.worker_local_schedule_count
                - earlier.worker_local_schedule_count,
            remote_schedule_count: self.remote_schedule_count - earlier.remote_schedule_count,
            global_queue_depth: self.global_queue_depth,
            worker_steal_count: self.worker_steal_count - earlier.worker_steal_count,
            worker_steal_operations: self.worker_steal_operations - earlier.worker_steal_operations,
            worker_park_count: self.worker_park_count - earlier.worker_park_count,
            worker_unpark_count: self.worker_unpark_count - earlier.worker_unpark_count,
            worker_wake_count: self.worker_wake_count - earlier.worker_wake_count,
        }
    }
}

#[cfg(not(all(feature = "enabled", not(any(terrace_loom, terrace_shuttle)))))]
pub(crate) fn snapshot() -> Counters {
    Counters::default()
}

#[cfg(all(feature = "enabled", not(any(terrace_loom, terrace_shuttle))))]
pub(crate) use on::{Field, add, snapshot};

#[cfg(all(feature = "enabled", not(any(terrace_loom, terrace_shuttle))))]
mod on {
    use super::Counters;
    use terrace_sync::CachePadded;
    #[cfg(feature = "std")]
    use terrace_sync::atomic::{AtomicU64 as Counter, AtomicUsize, Ordering};
    /// Not every target has 64-bit atomics: there the figures wrap at `usize::MAX`.
    #[cfg(not(feature = "std"))]
    use terrace_sync::atomic::{AtomicUsize as Counter, Ordering};

    /// Threads beyond this number share shards; counts stay exact, only contention grows.
    const SHARDS: usize = if cfg!(feature = "std") { 64 } else { 1 };

    /// Index of a counter in a shard.
    #[derive(Clone, Copy)]
    pub(crate) enum Field {
        Spawned,
        Polled,
        LocallyScheduled,
        Injected,
        Taken,
        Stolen,
        StealOperations,
        Parked,
        Unparked,
        Woken,
    }

    const FIELDS: usize = Field::Woken as usize + 1;

    type Shard = CachePadded<[Counter; FIELDS]>;

    static SHARD: [Shard; SHARDS] =
        [const { CachePadded::new([const { Counter::new(0) }; FIELDS]) }; SHARDS];

    #[cfg(feature = "std")]
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    #[cfg(feature = "std")]
    terrace_sync::thread_local! {
        static MINE: &'static Shard = &SHARD[NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS];
    }

    /// Adds to a counter of the calling thread's shard.
    #[inline]
    pub(crate) fn add(field: Field, amount: usize) {
        // Ordering: Relaxed, a statistic that orders nothing.
        #[cfg(feature = "std")]
        MINE.with(|shard| shard[field as usize].fetch_add(amount as u64, Ordering::Relaxed));
        #[cfg(not(feature = "std"))]
        SHARD[0][field as usize].fetch_add(amount, Ordering::Relaxed);
    }

    pub(crate) fn snapshot() -> Counters {
        let sum = |field: Field| -> u64 {
            // Ordering: Relaxed, a statistic that orders nothing.
            SHARD
                .iter()
                .map(|shard| {
                    let count = shard[field as usize].load(Ordering::Relaxed);
                    #[cfg(not(feature = "std"))]
                    let count = count as u64;
                    count
                })
                .sum()
        };
        // Taken first: what is put in meanwhile then counts as depth, and depth never underflows for long.
        let taken = sum(Field::Taken);
        let injected = sum(Field::Injected);
        Counters {
            spawned_tasks_count: sum(Field::Spawned),
            worker_poll_count: sum(Field::Polled),
            worker_local_schedule_count: sum(Field::LocallyScheduled),
            remote_schedule_count: injected,
            global_queue_depth: injected.saturating_sub(taken),
            worker_steal_count: sum(Field::Stolen),
            worker_steal_operations: sum(Field::StealOperations),
            worker_park_count: sum(Field::Parked),
            worker_unpark_count: sum(Field::Unparked),
            worker_wake_count: sum(Field::Woken),
        }
    }
}
