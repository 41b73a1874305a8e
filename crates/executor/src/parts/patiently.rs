//! How a report on a program that hangs takes a lock.

use terrace_sync::thread::yield_now;
use terrace_sync::{Mutex, MutexGuard};

/// How often a report asks for a lock, and lets other threads run in between. No thread runs users' code under one of these locks.
const ATTEMPTS: u32 = 100;

/// Takes the lock, unless another thread keeps it.
pub(crate) fn patiently<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    let attempt = || {
        let guard = mutex.try_lock();
        if guard.is_none() {
            yield_now();
        }
        guard
    };
    (0..ATTEMPTS).find_map(|_| attempt())
}
