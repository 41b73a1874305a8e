//! CPU time of the process, as Linux tells it.

use std::fs;
use std::time::Duration;

/// A tick of `/proc/self/stat`, the same on all machines (`proc(5)`, `USER_HZ`).
const TICK: Duration = Duration::from_millis(10);
/// Behind the program's name: the time of the program, that of the kernel for it, and the number of threads.
const FIELDS: [usize; 3] = [11, 12, 17];

/// Of the threads that live, and of those that have ended.
pub(crate) struct Usage {
    /// That live.
    pub(crate) threads: u32,
    pub(crate) cpu: Duration,
}

/// Until now; nothing where the system does not tell.
pub(crate) fn now() -> Usage {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name may have any bytes in it, and stands in brackets.
    let behind = text.rsplit_once(") ").map_or("", |(_, behind)| behind);
    let words: Vec<&str> = behind.split(' ').collect();
    let field = |at: usize| words.get(at)?.parse().ok();
    let [program, kernel, threads] = FIELDS.map(|at| field(at).unwrap_or(0));
    Usage {
        threads,
        cpu: TICK * (program + kernel),
    }
}
