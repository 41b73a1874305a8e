//! What an executor says that it has done is what it has done.

use std::thread;

use terrace_executor::scope::{OpenScope, ScopeKind};
use terrace_executor::{Builder, Executor, Lane, Metrics, RunnerMetrics, Shutdown, block_on};
use terrace_sync::Arc;
use terrace_sync::atomic::{AtomicUsize, Ordering};
use terrace_testing::{Polled, Random, Yields, watchdog};

fn polls(metrics: &Metrics) -> usize {
    let seats = metrics.workers().iter().chain(metrics.drivers());
    seats.map(RunnerMetrics::poll_count).sum()
}

/// Random tasks on workers and in `run` futures: each poll is counted once, each spawn, and each end.
#[test]
fn every_poll_is_counted_once() {
    let _watchdog = watchdog();
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let workers = random.below(4);
        let executor = Builder::new().workers(workers).build();
        let polled = Arc::new(AtomicUsize::new(0));
        let spawned = AtomicUsize::new(0);
        thread::scope(|threads| {
            for _ in 0..2 {
                let mut random = random.split();
                let (executor, polled, spawned) = (&executor, &polled, &spawned);
                threads.spawn(move || {
                    for _ in 0..random.below(300) {
                        let yields = Yields(random.below(4) as u32);
                        let lane = random.of(&[Lane::Normal, Lane::High, Lane::Background]);
                        let (spawner, inner) = (executor.spawner(), Arc::clone(polled));
                        let nested = random.once_in(3);
                        let future = async move {
                            yields.await;
                            if nested {
                                spawner.spawn(Polled::new(&inner, Yields(2))).detach();
                            }
                        };
                        let counted = Polled::new(polled, Box::pin(future));
                        executor.spawn_on(lane, counted).detach();
                        spawned.fetch_add(1 + usize::from(nested), Ordering::Relaxed);
                    }
                    if workers == 0 {
                        block_on(executor.run(Yields(random.below(50) as u32)));
                    }
                });
            }
        });
        executor.shutdown(Shutdown::FinishAll, None).unwrap();
        let metrics = executor.metrics();
        assert_eq!(
            metrics.spawned_tasks_count(),
            spawned.into_inner(),
            "seed {seed}"
        );
        assert_eq!(
            (metrics.num_alive_tasks(), metrics.global_queue_depth()),
            (0, 0)
        );
        assert_eq!(
            (metrics.high_queue_depth(), metrics.background_queue_depth()),
            (0, 0)
        );
        assert_eq!((metrics.num_workers(), metrics.num_spares()), (0, 0));
        if workers > 0 {
            assert_eq!(
                polls(&metrics),
                polled.load(Ordering::Relaxed),
                "seed {seed}"
            );
        } else {
            // A thread in `block_on` drives such an executor without a seat, too.
            assert!(
                polls(&metrics) <= polled.load(Ordering::Relaxed),
                "seed {seed}"
            );
        }
        for seat in metrics.workers() {
            assert!(seat.steal_count() >= seat.steal_operations());
            assert_eq!(seat.local_queue_depth(), 0);
        }
    }
}

/// Depths, overflows and tasks that wait.
#[test]
fn queues_have_their_depths() {
    let executor = Executor::new();
    for lane in [Lane::High, Lane::Background, Lane::Background] {
        executor.spawn_on(lane, async {}).detach();
    }
    for _ in 0..4 {
        executor.spawn(async {}).detach();
    }
    let metrics = executor.metrics();
    assert_eq!(
        (metrics.spawned_tasks_count(), metrics.num_alive_tasks()),
        (7, 7)
    );
    assert_eq!(
        (metrics.high_queue_depth(), metrics.background_queue_depth()),
        (1, 2)
    );
    assert_eq!(metrics.global_queue_depth(), 4);
    assert!(metrics.workers().is_empty() && metrics.drivers().is_empty());
}

/// One `run` future spawns more than its ring holds.
#[test]
fn a_full_ring_is_counted() {
    let executor = Executor::new();
    let seen = block_on(executor.run(async {
        for _ in 0..1000 {
            executor.spawn(async {}).detach();
        }
        executor.metrics()
    }));
    let [driver] = seen.drivers() else {
        panic!("one future runs")
    };
    assert!(driver.overflow_count() > 0 && driver.local_queue_depth() > 0);
    assert_eq!(driver.local_queue_depth() + seen.global_queue_depth(), 1000);
}

/// Workers that sleep have parked.
#[test]
fn sleeps_are_counted() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(2).build();
    while executor
        .metrics()
        .workers()
        .iter()
        .any(|worker| worker.park_count() == 0)
    {
        thread::yield_now();
    }
}

/// A worker is blocked: the other one takes the tasks out of its queue.
#[test]
fn steals_are_counted() {
    let _watchdog = watchdog();
    let executor = Arc::new(Builder::new().workers(2).build());
    let own = Arc::clone(&executor);
    block_on(executor.spawn(async move {
        let tasks: Vec<_> = (0..10).map(|_| own.spawn(async {})).collect();
        while !tasks.iter().all(terrace_executor::Task::is_finished) {
            thread::yield_now();
        }
    }));
    executor.wait_idle(None).unwrap();
    let metrics = executor.metrics();
    let stolen: usize = metrics
        .workers()
        .iter()
        .map(RunnerMetrics::steal_count)
        .sum();
    assert!(stolen >= 10, "{metrics:?}");
}

/// A `run` future gets the seat that an earlier one has given back. Two at once have a seat each.
#[test]
fn run_futures_use_seats_again() {
    let _watchdog = watchdog();
    // Its worker never begins. Without one, a thread that waits in another test would run the tasks.
    let (executor, _worker) = Builder::new().workers(1).build_hosted();
    let seats = || executor.metrics().drivers().len();
    for _ in 0..10 {
        block_on(executor.run(executor.spawn(async {})));
    }
    assert_eq!((seats(), polls(&executor.metrics())), (1, 10));
    for _ in 0..10 {
        block_on(executor.run(executor.run(executor.spawn(async {}))));
    }
    assert_eq!((seats(), polls(&executor.metrics())), (2, 20));
}

/// The scope's own thread runs none: its body waits for them.
#[test]
fn children_of_scopes_are_counted_where_workers_run_them() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(1).build();
    let (sender, ran) = std::sync::mpsc::channel();
    let before = polls(&executor.metrics());
    let scope = OpenScope::open(&executor, ScopeKind::of::<()>());
    for _ in 0..100 {
        let sender = sender.clone();
        // SAFETY: the scope is waited for below, and the child borrows nothing.
        unsafe {
            scope
                .handle()
                .spawn(async move { sender.send(()).unwrap() })
        };
    }
    (0..100).for_each(|_| ran.recv().unwrap());
    assert!(scope.wait(&[]).is_none());
    assert_eq!(polls(&executor.metrics()) - before, 100);
}
