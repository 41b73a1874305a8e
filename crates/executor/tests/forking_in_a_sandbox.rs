//! Joins in a sandbox that the process has entered after its first executor: no barrier orders the owner of a deque, so
//! thieves get what owners give.
//!
//! One test: the sandbox is the process's.
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(miri)
))]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use terrace_executor::{Builder, Worker};
use terrace_sync::time::CpuClock;
use terrace_testing::{refuse_membarrier, watchdog};

fn fib(worker: &Worker, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = worker.join(|worker| fib(worker, n - 1), |worker| fib(worker, n - 2));
    a + b
}

/// How long the owner sleeps.
const HELD: Duration = Duration::from_millis(200);

/// Sleeps with so many jobs open.
fn holds(worker: &Worker, jobs: u32) {
    if jobs == 0 {
        return std::thread::sleep(HELD);
    }
    worker.join(|_| (), |worker| holds(worker, jobs - 1));
}

#[test]
fn thieves_sleep_where_the_barrier_is_refused() {
    let _watchdog = watchdog();
    let clocks = Arc::new(Mutex::new(Vec::new()));
    let theirs = clocks.clone();
    let executor = Builder::new()
        .workers(2)
        .on_thread_start(move || theirs.lock().unwrap().extend(CpuClock::of_this_thread()))
        .build();
    let used = || -> Duration {
        clocks
            .lock()
            .unwrap()
            .iter()
            .filter_map(CpuClock::read)
            .sum()
    };
    // The form of the fences is chosen.
    assert_eq!(executor.with_worker(|worker| fib(worker, 10)), 55);
    refuse_membarrier();
    for _ in 0..20 {
        assert_eq!(executor.with_worker(|worker| fib(worker, 20)), 6_765);
    }
    let before = used();
    // The owner gives one job away, and then sleeps before the others.
    executor.with_worker(|worker| holds(worker, 8));
    // Processor time, not time: two workers that look again at once, as long as there is a job which they cannot take, use all of it.
    let used = used() - before;
    assert!(used < HELD / 2, "the workers ran for {used:?}");
}
