//! The counters: a fixed number of cache-padded shards, of which each thread uses one.

use terrace_sync::CachePadded;
#[cfg(feature = "std")]
use terrace_sync::atomic::{AtomicU64 as Counter, AtomicUsize, Ordering};
/// Not every target has 64-bit atomics: there the figures wrap at `usize::MAX`.
#[cfg(not(feature = "std"))]
use terrace_sync::atomic::{AtomicUsize as Counter, Ordering};

use crate::counters::Counters;

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
    // `taken` is read first: tasks that threads put in between the two reads then count as depth, which never underflows.
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
