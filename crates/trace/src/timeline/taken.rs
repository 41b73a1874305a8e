//! A timeline that was taken.

use std::vec::Vec;

use super::clock::Clock;
use super::sites::{self, Site};
use super::threads::{ThreadTimeline, logs};

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

/// Takes the timeline of all threads, from any thread, while they go on.
///
/// Threads that have ended are in it until their rings have been overwritten. In the first 10 ms after the first event of the process the call
/// waits until they are over, to know the rate of the clock.
///
/// Cost: it copies all rings, about a millisecond for each million bytes. No other thread waits for it, but for one that begins or ends.
/// [`Timeline`] has an example.
#[must_use = "it is a copy for the caller to read"]
pub fn snapshot() -> Timeline {
    let clock = Clock::new();
    let end = clock.now();
    let mut threads = Vec::<ThreadTimeline>::new();
    for mut thread in logs() {
        let records = &mut thread.records;
        // The same end for all threads. A worker's counter may be a few ticks ahead.
        let until = records.iter().rposition(|[ticks, _]| *ticks <= end);
        records.truncate(until.map_or(0, |last| last + 1));
        if records.is_empty() && thread.lost == 0 {
            continue;
        }
        if thread.name.is_empty() {
            thread.name = std::format!("thread {}", threads.len() + 1);
        }
        threads.push(thread);
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
    #[must_use = "the call only reads a value"]
    pub fn threads(&self) -> &[ThreadTimeline] {
        &self.threads
    }

    /// Nanoseconds since the first event.
    pub(super) fn nanoseconds(&self, ticks: u64) -> u64 {
        (ticks.saturating_sub(self.begin) as f64 * self.rate) as u64
    }
}
