//! Any number of workers, and of threads that are none and wait for them.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use terrace_executor::{Builder, block_on};
use terrace_testing::watchdog;

const FOREIGN: usize = 64;
const ROUNDS: usize = 5;

#[test]
fn many_workers_and_many_blocking_threads() {
    let _watchdog = watchdog();
    for workers in [1, 2, 33, 65, 128] {
        let executor = Builder::new().workers(workers).build();
        let (ran, start) = (AtomicUsize::new(0), Barrier::new(FOREIGN));
        thread::scope(|scope| {
            for thread in 0..FOREIGN {
                let (executor, ran, start) = (&executor, &ran, &start);
                scope.spawn(move || {
                    start.wait();
                    for round in 0..ROUNDS {
                        let number = thread * ROUNDS + round;
                        let tasks = [0, 1].map(|i| executor.spawn(async move { number + i }));
                        let sum: usize = tasks.into_iter().map(block_on).sum();
                        assert_eq!(sum, 2 * number + 1);
                        ran.fetch_add(2, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(ran.into_inner(), 2 * FOREIGN * ROUNDS);
    }
}

/// All workers at once, beyond one group of the sleeping protocol: each must be woken for a task of its own.
#[test]
fn every_worker_gets_up() {
    let _watchdog = watchdog();
    for workers in [33, 65, 128] {
        let executor = Builder::new().workers(workers).build();
        for _ in 0..3 {
            let meeting = std::sync::Arc::new(Barrier::new(workers));
            let mut tasks = Vec::new();
            let waits = (0..workers).map(|_| {
                let meeting = std::sync::Arc::clone(&meeting);
                async move { meeting.wait().is_leader() }
            });
            executor.spawn_many(waits, &mut tasks);
            let leaders = tasks.into_iter().map(block_on).filter(|leads| *leads);
            assert_eq!(leaders.count(), 1);
        }
    }
}
