//! `cargo xtask tsan`: the tests of the layers under ThreadSanitizer.

use crate::sanitizer::{Canary, Run, Sanitizer};

/// Races are reported at once and remembered long: the runtime reports one only while it can
/// still tell what the first of the two threads was doing. A pool that lives for ever joins no thread: the spare one that
/// ended last is no leak.
const OPTIONS: &str = "halt_on_error=1 history_size=4 report_thread_leaks=0";

/// A program with a race, to see that races are seen. Both threads wait for each other, relaxed,
/// which orders nothing: where one ends first, its accesses may be forgotten.
const CANARY: &str = "//! Races.
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
static ARRIVED: AtomicU32 = AtomicU32::new(0);
static mut SHARED: u64 = 0;
fn race() {
    ARRIVED.fetch_add(1, Relaxed);
    while ARRIVED.load(Relaxed) < 2 { std::thread::yield_now(); }
    // SAFETY: there is none: this is the race that has to be seen.
    for _ in 0..100 { unsafe { SHARED += 1 } }
}
fn main() {
    let other = std::thread::spawn(race);
    race();
    other.join().unwrap();
}
";

const CANARIES: [Canary; 1] = [Canary {
    fault: "race",
    source: CANARY,
    code: 66,
    report: "data race",
}];

/// The sanitizer and what is run under it.
pub(crate) fn sanitizer() -> Sanitizer {
    Sanitizer {
        name: "tsan",
        flags: ["-Zsanitizer=thread", "--cfg terrace_tsan"],
        runs: vec![Run {
            layers: &[],
            env: vec![("TSAN_OPTIONS", OPTIONS.to_owned())],
        }],
        canaries: &CANARIES,
    }
}
