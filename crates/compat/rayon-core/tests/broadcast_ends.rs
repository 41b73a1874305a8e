//! A thread that waits for its broadcast ends the wait, whatever jobs other threads spawn during it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rayon_core::{ThreadPoolBuilder, broadcast, spawn};
use terrace_testing::watchdog;

static STOP: AtomicBool = AtomicBool::new(false);

fn again() {
    if !STOP.load(Ordering::Relaxed) {
        spawn(again);
    }
}

/// A thread runs the jobs of its own queue before a broadcast: those that were there when it came to the broadcast, and not those that
/// these spawn.
#[test]
fn a_broadcast_on_a_thread_whose_job_spawns_itself_again() {
    let _watchdog = watchdog();
    let pool = ThreadPoolBuilder::new().num_threads(2).build();
    let begun = AtomicBool::new(false);
    pool.expect("the threads start").scope(|scope| {
        scope.spawn(|_| {
            begun.store(true, Ordering::Release);
            spawn(again);
            broadcast(|_| ());
        });
        while !begun.load(Ordering::Acquire) {
            thread::yield_now();
        }
    });
    STOP.store(true, Ordering::Relaxed);
}
