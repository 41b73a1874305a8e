//! Any number of workers, and of threads that are none and wait for them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use terrace_executor::{Builder, Executor, Task, block_on};
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

/// The thread that queues the tasks of a meeting, and how.
#[derive(Clone, Copy, Debug)]
enum Queued {
    /// A thread without a seat, as one batch.
    Batch,
    /// A thread without a seat, one by one.
    OneByOne,
    /// A worker: all tasks but one lie in its ring when it joins the meeting.
    ByWorker,
}

/// All workers at once, beyond one group of the sleeping protocol, and beyond the number of processors: each must be woken for a
/// task of its own, as every task blocks the thread of its worker.
#[test]
fn every_worker_gets_up() {
    let _watchdog = watchdog();
    for workers in [8, 33, 65, 128] {
        let executor = Arc::new(Builder::new().workers(workers).build());
        for queued in [Queued::Batch, Queued::OneByOne, Queued::ByWorker] {
            for _ in 0..3 {
                assert_eq!(
                    leaders(&executor, workers, queued),
                    1,
                    "{workers} {queued:?}"
                );
            }
        }
    }
}

/// Lets `workers` tasks meet at a barrier, and returns how many of them led the meeting.
fn leaders(executor: &Arc<Executor<'static>>, workers: usize, queued: Queued) -> usize {
    let meeting = Arc::new(Barrier::new(workers));
    let wait = |meeting: &Arc<Barrier>| {
        let meeting = Arc::clone(meeting);
        async move { meeting.wait().is_leader() }
    };
    let mut tasks = Vec::new();
    match queued {
        Queued::Batch => {
            executor.spawn_many((0..workers).map(|_| wait(&meeting)), &mut tasks);
        }
        Queued::OneByOne => {
            tasks.extend((0..workers).map(|_| executor.spawn(wait(&meeting))));
        }
        Queued::ByWorker => {
            let others: Vec<_> = (1..workers).map(|_| wait(&meeting)).collect();
            let (last, spawner) = (wait(&meeting), Arc::clone(executor));
            let first = executor.spawn(async move {
                let others: Vec<_> = others.into_iter().map(|wait| spawner.spawn(wait)).collect();
                (last.await, others)
            });
            let (leads, others) = block_on(first);
            return usize::from(leads) + led(others);
        }
    }
    led(tasks)
}

fn led(tasks: Vec<Task<bool>>) -> usize {
    tasks
        .into_iter()
        .map(block_on)
        .filter(|leads| *leads)
        .count()
}
