//! The records of a pool's tasks, by their numbers.

use std::collections::BTreeMap;

use terrace_sync::atomic::{AtomicBool, Ordering};
use terrace_sync::{Arc, CachePadded, Mutex};

use super::record::Record;
use crate::parts::patiently::patiently;

/// Parts of a table, each with a lock of its own.
const SHARDS: usize = 8;

/// Records by their numbers.
pub(super) type Shard = BTreeMap<u64, Arc<Record>>;

/// Under a lock only records are moved in and out. They are dropped elsewhere.
#[derive(Default)]
pub(super) struct Shards {
    records: [CachePadded<Mutex<Shard>>; SHARDS],
    has_ended: AtomicBool,
}

impl Shards {
    pub(super) fn shard(&self, number: u64) -> &Mutex<Shard> {
        &self.records[number as usize % SHARDS]
    }

    /// The executor ends.
    pub(super) fn end(&self) {
        // Ordering: Relaxed, a report may begin at the same moment.
        self.has_ended.store(true, Ordering::Relaxed);
    }

    /// Whether the executor has ended.
    pub(super) fn has_ended(&self) -> bool {
        // Ordering: Relaxed, as in `end`.
        self.has_ended.load(Ordering::Relaxed)
    }

    /// What `f` finds in the records, but for those that are locked. `f` runs no code of users.
    pub(super) fn find<T>(&self, f: impl Fn(&Record) -> Option<T>) -> Vec<T> {
        let mut found = Vec::new();
        for shard in self.records.iter().filter_map(|shard| patiently(shard)) {
            found.extend(shard.values().filter_map(|record| f(record)));
        }
        found
    }

    /// Calls `f` with each record. False if some were locked.
    pub(super) fn each(&self, mut f: impl FnMut(&Record)) -> bool {
        let mut all = true;
        for shard in &self.records {
            let records: Option<Vec<_>> =
                patiently(shard).map(|shard| shard.values().cloned().collect());
            all &= records.is_some();
            records.into_iter().flatten().for_each(|record| f(&record));
        }
        all
    }
}
