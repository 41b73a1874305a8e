//! A batch wakes all the workers that it needs, by one announcement.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use terrace_executor::{Builder, Executor, Task, block_on};
use terrace_testing::{Signal, on_own_thread, signal};

/// Batches that meet sleeping workers.
const ROUNDS: usize = 30;

fn executor(workers: usize) -> Executor<'static> {
    Builder::new().workers(workers).build()
}

/// Long enough for workers to park. If they have not parked, the round shows less, but it does not fail.
fn let_them_sleep() {
    thread::sleep(Duration::from_millis(3));
}

/// Each of `n` tasks waits until the `n - 1` others have started. So the publisher or a woken worker wakes each of the
/// `n` sleeping workers.
#[test]
fn a_batch_starts_on_every_sleeping_worker() {
    on_own_thread(|| {
        for workers in [1, 2, 3, 8, 16] {
            let executor = executor(workers);
            for _ in 0..ROUNDS {
                let_them_sleep();
                let all = Arc::new(Barrier::new(workers));
                let mut tasks = Vec::new();
                let futures = (0..workers).map(|_| {
                    let all = Arc::clone(&all);
                    async move {
                        all.wait();
                    }
                });
                executor.spawn_many(futures, &mut tasks);
                tasks.into_iter().for_each(block_on);
            }
        }
    });
}

/// The same for tasks that an external thread wakes one straight after the other.
#[test]
fn a_burst_of_wakes_starts_on_every_sleeping_worker() {
    on_own_thread(|| {
        for workers in [1, 2, 3, 8] {
            let executor = executor(workers);
            for _ in 0..ROUNDS {
                let all = Arc::new(Barrier::new(workers));
                let (starts, tasks): (Vec<_>, Vec<_>) = (0..workers)
                    .map(|_| {
                        let (started, start) = signal();
                        let all = Arc::clone(&all);
                        let task = executor.spawn(async move {
                            started.await;
                            all.wait();
                        });
                        (start, task)
                    })
                    .unzip();
                let_them_sleep();
                starts.iter().for_each(Signal::set);
                tasks.into_iter().for_each(block_on);
            }
        }
    });
}

/// If the iterator panics, the tasks that it gave are spawned, nothing is leaked, and the executor works as before.
#[test]
fn an_iterator_may_panic() {
    on_own_thread(|| {
        let executor = executor(2);
        let token = Arc::new(());
        let ran = Arc::new(AtomicUsize::new(0));
        let mut tasks: Vec<Task<()>> = Vec::new();
        let result = catch_unwind(AssertUnwindSafe(|| {
            let futures = (0..200).map(|number| {
                assert!(number != 150, "as planned");
                let (token, ran) = (Arc::clone(&token), Arc::clone(&ran));
                async move {
                    ran.fetch_add(1, Ordering::Relaxed);
                    drop(token);
                }
            });
            executor.spawn_many(futures, &mut tasks);
        }));
        assert!(result.is_err());
        assert_eq!(tasks.len(), 150);
        tasks.into_iter().for_each(block_on);
        assert_eq!(ran.load(Ordering::Relaxed), 150);
        assert_eq!(block_on(executor.spawn(async { 7 })), 7);
        drop(executor);
        assert_eq!(Arc::strong_count(&token), 1);
    });
}

/// One announcement for a batch, by an external thread and by a worker.
#[cfg(terrace_count)]
#[test]
fn a_batch_is_announced_once() {
    use terrace_sync::count::Counts;

    fn spawn(executor: &Executor<'static>) -> (Counts, Vec<Task<()>>) {
        let mut tasks = Vec::new();
        let counts = Counts::of(|| executor.spawn_many((0..200).map(|_| async {}), &mut tasks));
        (counts, tasks)
    }
    on_own_thread(|| {
        let executor = Arc::new(executor(1));
        let (counts, tasks) = spawn(&executor);
        assert!(counts.fences <= 2, "{counts:?}");
        tasks.into_iter().for_each(block_on);
        let inner = Arc::clone(&executor);
        let (counts, tasks) = block_on(executor.spawn(async move { spawn(&inner) }));
        assert!(counts.fences <= 2, "{counts:?}");
        tasks.into_iter().for_each(block_on);
    });
}

/// A worker runs the first tasks of a large batch while the last ones are still to be made.
#[test]
fn a_large_batch_is_published_before_its_end() {
    on_own_thread(|| {
        let executor = executor(1);
        let (runs, ran) = std::sync::mpsc::channel();
        let futures = (0..1_000).map(move |i| {
            if i == 999 {
                ran.recv().unwrap();
            }
            let runs = runs.clone();
            async move { runs.send(()).unwrap_or(()) }
        });
        let mut tasks = Vec::new();
        let_them_sleep();
        executor.spawn_many(futures, &mut tasks);
        tasks.into_iter().for_each(block_on);
    });
}
