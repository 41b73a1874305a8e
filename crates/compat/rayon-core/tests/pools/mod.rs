//! What tests of pools begin with.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rayon_core::{ThreadPool, ThreadPoolBuilder};

pub(crate) fn pool(threads: usize) -> ThreadPool {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.expect("the threads start")
}

/// Keeps the thread busy until the flag is set.
pub(crate) fn until(flag: &AtomicBool) {
    while !flag.load(Ordering::Acquire) {
        thread::yield_now();
    }
}
