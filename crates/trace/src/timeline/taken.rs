//! A timeline that was taken.

use std::string::String;
use std::vec::Vec;

use super::clock::Clock;
use super::ring::Record;
use super::sites::{self, Site};
use super::threads::{Worker, logs};

/// The last events of all threads up to one moment.
///
/// # Examples
///
/// ```
/// terrace_trace::park();
/// terrace_trace::unpark();
/// let timeline = terrace_trace::timeline::snapshot();
/// assert!(timeline.threads().iter().any(|thread| thread.events() >= 2));
/// ```
#[derive(Debug)]
pub struct Timeline {
    pub(super) threads: Vec<ThreadTimeline>,
    pub(super) sites: Vec<Option<Site>>,
    /// In ticks.
    begin: u64,
    pub(super) end: u64,
    /// Nanoseconds a tick.
    rate: f64,
}

/// What a [`Timeline`] has of one thread.
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
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its index among the workers of its pool, if it is one or has been. [`worker`](crate::worker) has an example.
    #[must_use]
    pub fn worker(&self) -> Option<usize> {
        Some(self.worker?.index)
    }

    /// The number of that pool; a dump of its executor shows the same one. [`worker`](crate::worker) has an example.
    #[must_use]
    pub fn pool(&self) -> Option<u64> {
        Some(self.worker?.pool)
    }

    /// How many events there are. The [type](Self) has an example.
    #[must_use]
    pub fn events(&self) -> usize {
        self.records.len()
    }

    /// How many earlier ones were overwritten. [`set_records_per_thread`](super::set_records_per_thread) has an example.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

/// Takes the timeline of all threads, from any thread, while they go on.
///
/// Threads that have ended are in it until their rings have been overwritten. In the first 10 ms after the first event of the process the call
/// waits until they are over, to know the rate of the clock.
///
/// Cost: it copies all rings, about a millisecond for each million bytes. No other thread waits for it, but for one that begins or ends.
/// [`Timeline`] has an example.
#[must_use]
pub fn snapshot() -> Timeline {
    let clock = Clock::new();
    let end = clock.now();
    let mut threads = Vec::new();
    for log in logs() {
        let mut records = log.records;
        // The same end for all threads. A worker's counter may be a few ticks ahead.
        let until = records.iter().rposition(|[ticks, _]| *ticks <= end);
        records.truncate(until.map_or(0, |last| last + 1));
        if records.is_empty() && log.lost == 0 {
            continue;
        }
        let name = log
            .name
            .unwrap_or_else(|| std::format!("thread {}", threads.len() + 1));
        threads.push(ThreadTimeline {
            name,
            worker: log.worker,
            lost: log.lost,
            records,
        });
    }
    let firsts = threads.iter().filter_map(|thread| thread.records.first());
    Timeline {
        begin: firsts.map(|[ticks, _]| *ticks).min().unwrap_or(end),
        end,
        rate: clock.rate(),
        sites: sites::all(),
        threads,
    }
}

impl Timeline {
    /// The threads, in the order of their rings. The [type](Self) has an example.
    #[must_use]
    pub fn threads(&self) -> &[ThreadTimeline] {
        &self.threads
    }

    /// Nanoseconds since the first event.
    pub(super) fn nanoseconds(&self, ticks: u64) -> u64 {
        (ticks.saturating_sub(self.begin) as f64 * self.rate) as u64
    }
}
