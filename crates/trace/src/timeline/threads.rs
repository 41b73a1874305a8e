//! Which thread writes into which ring.
//!
//! | a ring is | its owner | leaves the state by |
//! |---|---|---|
//! | in use | the thread that made or took it, up to its end | the destructor of a thread-local, `END` |
//! | free | none: its records stay | the first event of a thread |
//!
//! Rings are never freed: there are as many as there were threads at one time.

use std::borrow::ToOwned;
use std::boxed::Box;
use std::cell::Cell;
use std::string::String;
use std::vec::Vec;

use terrace_sync::Mutex;
use terrace_sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::clock::Clock;
use super::record::{self, Kind};
use crate::ring::{Record, Ring};

/// Records of a ring unless the program says otherwise.
const RECORDS: usize = 1 << 16;
/// The least and the most that it may say.
const LIMITS: (usize, usize) = (1 << 6, 1 << 26);
/// So many numbers of tasks a thread takes at once.
const BLOCK: u64 = 1 << 12;

static SIZE: AtomicUsize = AtomicUsize::new(RECORDS);
static NUMBERS: AtomicU64 = AtomicU64::new(BLOCK);
/// All rings, and those that are free.
static ALL: Mutex<Vec<&'static Place>> = Mutex::new(Vec::new());
static FREE: Mutex<Vec<&'static Place>> = Mutex::new(Vec::new());

/// A ring and the threads that have written into it.
struct Place {
    ring: Ring,
    clock: Clock,
    tenants: Mutex<Vec<Tenant>>,
}

/// A thread that writes into a ring, or has.
#[derive(Clone)]
struct Tenant {
    /// Empty if it has none.
    name: String,
    worker: Option<Worker>,
    /// The number of its first record.
    first: u64,
}

/// Which worker a thread is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Worker {
    /// The number of its pool.
    pub(crate) pool: u64,
    pub(crate) index: usize,
}

terrace_sync::thread_local! {
    /// Without a destructor, so that late destructors of others find it; where thread-locals are keyed, maybe a fresh one.
    static MINE: Mine = const { Mine { place: Cell::new(None), has_ended: Cell::new(false), number: Cell::new(0) } };
    static END: End = const { End(Cell::new(None)) };
}

struct Mine {
    /// That of `END`, where events find it faster.
    place: Cell<Option<&'static Place>>,
    has_ended: Cell<bool>,
    /// The number of the task that it spawned last.
    number: Cell<u64>,
}

/// Has the thread's ring, and gives it back.
struct End(Cell<Option<&'static Place>>);

impl Drop for End {
    fn drop(&mut self) {
        let _late = MINE.try_with(|mine| {
            mine.has_ended.set(true);
            mine.place.set(None);
        });
        if let Some(place) = self.0.take() {
            FREE.lock().push(place);
        }
    }
}

/// Sets how many records a thread keeps that has not had an event yet: rounded up to a power of two, from 64 to 67,108,864. Each takes 16
/// bytes. Unless this is called it is 65,536, 1 MiB a thread. A thread that takes over the ring of one that has ended takes it as it is.
///
/// # Examples
///
/// ```
/// use terrace_trace::timeline;
///
/// timeline::set_records_per_thread(64);
/// for _ in 0..100 {
///     terrace_trace::park();
/// }
/// let taken = timeline::snapshot();
/// let thread = &taken.threads()[0];
/// assert!(thread.events() <= 64);
/// assert_eq!(thread.events() as u64 + thread.lost(), 100);
/// ```
pub fn set_records_per_thread(records: usize) {
    let (least, most) = LIMITS;
    // Ordering: Relaxed, a setting that orders nothing.
    SIZE.store(records.clamp(least, most), Ordering::Relaxed);
}

/// Adds a record of the calling thread. In late destructors of thread-locals it does nothing.
#[inline]
pub(crate) fn record(kind: Kind, payload: u64) {
    let word = record::word(kind, payload);
    // An error in a late destructor, on some targets.
    let _late = MINE.try_with(|mine| match mine.place.get() {
        Some(place) => place.ring.push([place.clock.now(), word]),
        None => first(mine, word),
    });
}

/// A number for a task, different from those of all others until they begin anew.
#[inline]
pub(crate) fn number() -> u64 {
    let next = |mine: &Mine| {
        let mut number = mine.number.get() + 1;
        if number % BLOCK == 0 || number == 1 {
            // Ordering: Relaxed, the numbers order nothing.
            number = NUMBERS.fetch_add(BLOCK, Ordering::Relaxed) + 1;
        }
        mine.number.set(number);
        number
    };
    MINE.try_with(next).unwrap_or(0)
}

/// The first event of a thread.
#[cold]
#[inline(never)]
fn first(mine: &Mine, word: u64) {
    if mine.has_ended.get() {
        return;
    }
    let place = END.try_with(|end| {
        let place = end.0.get().unwrap_or_else(enter);
        end.0.set(Some(place));
        place
    });
    // An error where the destructor has run.
    let Ok(place) = place else { return };
    mine.place.set(Some(place));
    place.ring.push([place.clock.now(), word]);
}

/// A ring for the calling thread.
fn enter() -> &'static Place {
    let thread = terrace_sync::thread::current();
    let free = FREE.lock().pop();
    let place = free.unwrap_or_else(|| {
        let place: &'static Place = Box::leak(Box::new(Place {
            // Ordering: Relaxed, a setting that orders nothing.
            ring: Ring::new(SIZE.load(Ordering::Relaxed)),
            clock: Clock::new(),
            tenants: Mutex::new(Vec::new()),
        }));
        ALL.lock().push(place);
        place
    });
    let first = place.ring.head();
    let mut tenants = place.tenants.lock();
    // A tenant's records end where those of the next one begin.
    let oldest = first.saturating_sub(place.ring.size());
    let gone = tenants
        .iter()
        .skip(1)
        .take_while(|next| next.first <= oldest)
        .count();
    tenants.drain(..gone);
    tenants.push(Tenant {
        name: thread.name().unwrap_or_default().to_owned(),
        worker: None,
        first,
    });
    place
}

/// The calling thread is this worker of its pool from now on.
pub(crate) fn set_worker(worker: Worker) {
    let _late = MINE.try_with(|mine| {
        if mine.place.get().is_none() {
            first(mine, record::word(Kind::Unpark, 0));
        }
        let Some(place) = mine.place.get() else {
            return;
        };
        if let Some(tenant) = place.tenants.lock().last_mut() {
            tenant.worker = Some(worker);
        }
    });
}

/// What a [`Timeline`](super::Timeline) has of one thread.
///
/// # Examples
///
/// ```
/// std::thread::Builder::new()
///     .name(String::from("renderer"))
///     .spawn(terrace_trace::park)?
///     .join()
///     .unwrap();
/// let timeline = terrace_trace::timeline::snapshot();
/// let renderer = timeline.threads().iter().find(|thread| thread.name() == "renderer");
/// assert_eq!(renderer.map(|thread| (thread.events(), thread.lost())), Some((1, 0)));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct ThreadTimeline {
    pub(super) name: String,
    pub(super) worker: Option<Worker>,
    pub(super) lost: u64,
    pub(super) records: Vec<Record>,
}

impl ThreadTimeline {
    /// The thread's name at its first event. A thread without one is numbered. The [type](Self) has an example.
    #[must_use = "the call only reads a value"]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its index among the workers of its pool, if it is one or has been. [`worker`](crate::worker) has an example.
    #[must_use = "the call only reads a value"]
    pub fn worker(&self) -> Option<usize> {
        Some(self.worker?.index)
    }

    /// The number of that pool; a dump of its executor shows the same one. [`worker`](crate::worker) has an example.
    #[must_use = "the call only reads a value"]
    pub fn pool(&self) -> Option<u64> {
        Some(self.worker?.pool)
    }

    /// How many events there are. The [type](Self) has an example.
    #[must_use = "the call only reads a count"]
    pub fn events(&self) -> usize {
        self.records.len()
    }

    /// How many earlier ones were overwritten. [`set_records_per_thread`](super::set_records_per_thread) has an example.
    #[must_use = "the call only reads a count"]
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

/// The records of all threads.
pub(super) fn logs() -> Vec<ThreadTimeline> {
    let places = ALL.lock().clone();
    places.into_iter().flat_map(logs_of).collect()
}

fn logs_of(place: &Place) -> Vec<ThreadTimeline> {
    let tenants = place.tenants.lock();
    let (begin, records) = place.ring.read();
    let end = begin + records.len() as u64;
    let ends = tenants
        .iter()
        .skip(1)
        .map(|next| next.first)
        .chain([u64::MAX]);
    let of = |(tenant, until): (&Tenant, u64)| {
        let until = until.min(end);
        let from = tenant.first.max(begin).min(until);
        let index = |at: u64| at.saturating_sub(begin) as usize;
        ThreadTimeline {
            name: tenant.name.clone(),
            worker: tenant.worker,
            lost: until.min(begin).saturating_sub(tenant.first),
            records: records[index(from)..index(until)].to_vec(),
        }
    };
    tenants.iter().zip(ends).map(of).collect()
}
