//! The records of a pool's tasks, by their numbers.

use core::cmp::Reverse;
use core::panic::Location;
use core::time::Duration;
use std::collections::BTreeMap;
use std::string::String;
use std::vec::Vec;

use terrace_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use terrace_sync::report::patiently;
use terrace_sync::{Arc, CachePadded, Mutex};
use tracing::Span;

use super::record::{Here, Record, Spawned};
use super::spans::{self, Wakes};
use crate::report::Task;

/// Parts of the map, each with a lock of its own.
const SHARDS: usize = 8;

/// The records of a pool, and what all of them know.
pub struct Table {
    pool: u64,
    here: Here,
    next: AtomicU64,
    records: Arc<Records>,
}

/// Records by their numbers.
type Shard = BTreeMap<u64, Arc<Record>>;

/// All records of a pool. Under a lock they are only moved in and out, and dropped elsewhere.
#[derive(Default)]
pub struct Records {
    shards: [CachePadded<Mutex<Shard>>; SHARDS],
    has_ended: AtomicBool,
}

/// A record in its table; taken out when this is dropped.
pub(super) struct Entry {
    pub(super) record: Arc<Record>,
    records: Arc<Records>,
    pub(super) span: Span,
}

impl Table {
    /// For the pool with this number. A thread that polls asks `here` what its own number is, and which worker of the pool it is, if one.
    pub fn new(pool: u64, here: Here) -> Self {
        Self {
            pool,
            here,
            next: AtomicU64::new(1),
            records: Arc::default(),
        }
    }

    /// The records, for what reports long polls.
    pub fn records(&self) -> &Arc<Records> {
        &self.records
    }

    /// The tasks, those first that have been in their states for longest; and whether there are others. `slot` says which scope has the
    /// slot with this address, and `thread` how the report names a thread.
    pub fn look(
        &self,
        slot: impl Fn(usize) -> Option<usize>,
        thread: impl Fn(u64) -> Option<String>,
    ) -> (Option<Vec<Task>>, bool) {
        let (records, all) = self.records.all();
        let tasks = records.iter().map(|record| record.look(&slot, &thread));
        let mut tasks = Vec::from_iter(tasks);
        tasks.sort_by_key(|task| Reverse(task.since));
        (Some(tasks), !all)
    }

    /// A record of a task, or a closure, that is being spawned at `site`.
    pub(super) fn enter(
        &self,
        future: &'static str,
        scope: *const (),
        is_call: bool,
        site: &'static Location<'static>,
    ) -> Entry {
        // Ordering: Relaxed, a counter.
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let kind = match (is_call, scope.is_null()) {
            (true, _) => "closure",
            (false, false) => "child",
            (false, true) => "task",
        };
        let span = spans::of_task(kind, self.pool, number, future, site);
        let spawned = Spawned {
            number,
            future,
            site,
            scope: scope.addr(),
            is_call,
        };
        let record = Record::new(spawned, self.pool, self.here, Wakes::new(&span));
        let record = Arc::new(record);
        let records = Arc::clone(&self.records);
        records
            .shard(number)
            .lock()
            .insert(number, Arc::clone(&record));
        Entry {
            record,
            records,
            span,
        }
    }
}

impl Records {
    fn shard(&self, number: u64) -> &Mutex<Shard> {
        &self.shards[number as usize % SHARDS]
    }

    /// The records, but for those that are locked; whether none is.
    fn all(&self) -> (Vec<Arc<Record>>, bool) {
        let (mut records, mut all) = (Vec::new(), true);
        for shard in &self.shards {
            match patiently(shard) {
                Some(shard) => records.extend(shard.values().cloned()),
                None => all = false,
            }
        }
        (records, all)
    }

    /// The polls that take longer than `limit`, each in one answer.
    pub fn long_polls(&self, limit: Duration) -> Vec<Task> {
        let (records, _) = self.all();
        let polls = records.iter().filter_map(|record| record.report(limit));
        polls.collect()
    }

    /// The pool ends: no report begins from now on.
    pub fn end(&self) {
        // Ordering: Relaxed, a report may begin at the same moment.
        self.has_ended.store(true, Ordering::Relaxed);
    }

    /// Whether the pool has ended.
    pub fn has_ended(&self) -> bool {
        // Ordering: Relaxed, as in `end`.
        self.has_ended.load(Ordering::Relaxed)
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let number = self.record.spawned.number;
        let removed = self.records.shard(number).lock().remove(&number);
        drop(removed);
    }
}
