//! What a process that hangs says of itself: the executor knows it, and tools that know no executor print it.

use std::string::String;

use crate::OnceLock;

global! {
    static REPORT: OnceLock<fn() -> String> = OnceLock::new();
}

/// Makes known what [`make`] calls. The first call counts.
pub fn provide(report: fn() -> String) {
    let _first = REPORT.set(report);
}

/// A report on the process, if it has anything that provides one. It waits for no lock that is held for long.
#[must_use]
pub fn make() -> Option<String> {
    REPORT.get().map(|report| report())
}
