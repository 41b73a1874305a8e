//! What a process that hangs says of itself: the executor knows it, and tools that know no executor print it.

use std::string::String;

use crate::thread::yield_now;
use crate::{Mutex, MutexGuard, OnceLock};

/// How often a report asks for a lock, and lets other threads run in between. No thread runs users' code under one of these locks.
const ATTEMPTS: u32 = 100;

global! {
    static REPORT: OnceLock<fn() -> String> = OnceLock::new();
}

/// Makes known what [`make`] calls. The first call counts.
pub fn provide(report: fn() -> String) {
    let _first = REPORT.set(report);
}

/// A report on the process, if it has anything that provides one. It waits for no lock that is held for long.
#[must_use = "the report is returned, and not printed"]
pub fn make() -> Option<String> {
    REPORT.get().map(|report| report())
}

/// Takes the lock, unless another thread keeps it: a report waits for no thread.
pub fn patiently<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    let attempt = || {
        let guard = mutex.try_lock();
        if guard.is_none() {
            yield_now();
        }
        guard
    };
    (0..ATTEMPTS).find_map(|_| attempt())
}
