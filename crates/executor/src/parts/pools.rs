//! All pools of the process, for a report on a program that hangs.

use terrace_sync::thread::yield_now;
use terrace_sync::unmodelled::Weak;
use terrace_sync::{Arc, Mutex, MutexGuard};

use crate::dump::Dump;
use crate::dump::report::Pool;

/// How often a report asks for a lock, and lets other threads run in between. No thread runs users' code under one of these locks.
const ATTEMPTS: u32 = 100;

/// A pool, as a report sees it.
pub(crate) trait Looked: Send + Sync {
    /// What it looks like now. Waits for no lock.
    fn look(&self) -> Pool;
}

terrace_sync::global! {
    static POOLS: Mutex<Vec<Weak<dyn Looked>>> = Mutex::new(Vec::new());
}

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

/// A new pool, which [`dump_all`] shows until it is [removed](remove).
pub(crate) fn add(pool: Weak<dyn Looked>) {
    // A checker of schedules would try each order of these locks.
    if !cfg!(terrace_shuttle) {
        POOLS.lock().push(pool);
        terrace_sync::report::provide(|| dump_all().to_string());
    }
}

/// The pool is gone.
pub(crate) fn remove<P>(pool: *const P) {
    if !cfg!(terrace_shuttle) {
        POOLS
            .lock()
            .retain(|other| !std::ptr::addr_eq(other.as_ptr(), pool));
    }
}

/// What all executors of the process look like at this moment, as [`Executor::dump`](crate::Executor::dump) says it of one. Call it
/// where a program does not go on: from a thread of its own, on a signal, or out of a debugger.
///
/// It waits for no lock and for no thread, so it also works while executors hang, shut down or are dropped.
///
/// Cost: as that method, for each executor.
///
/// # Examples
///
/// ```
/// let executor = terrace_executor::Builder::new().workers(1).build();
/// eprintln!("{}", terrace_executor::dump_all());
/// # drop(executor);
/// ```
#[must_use]
pub fn dump_all() -> Dump {
    // No pool is dropped under the lock: its drop takes the lock.
    let pools: Option<Vec<Arc<dyn Looked>>> =
        patiently(&POOLS).map(|pools| pools.iter().filter_map(Weak::upgrade).collect());
    let partial = pools.is_none();
    let pools = pools.unwrap_or_default();
    Dump::new(pools.iter().map(|pool| pool.look()).collect(), partial)
}
