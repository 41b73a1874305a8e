//! The number in a thread-local of the target, which has no destructor.

use core::cell::Cell;

// A checker leaves plain data in place, too.
#[cfg(any(terrace_loom, terrace_shuttle))]
crate::thread_local! {
    static NUMBER: Cell<u64> = const { Cell::new(0) };
}
// It lasts under `terrace_keyed_tls`, too.
#[cfg(not(any(terrace_loom, terrace_shuttle)))]
std::thread_local! {
    static NUMBER: Cell<u64> = const { Cell::new(0) };
}

/// The calling thread's number.
#[inline(always)]
#[must_use = "the call only reads a value"]
pub fn get() -> u64 {
    NUMBER.with(Cell::get)
}

/// Sets it.
pub fn set(number: u64) {
    NUMBER.with(|own| own.set(number));
}
