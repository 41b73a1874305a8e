//! Threads that wait on and off the pool: scopes, pools that wait for each other, the last resort.

use std::sync::atomic::{AtomicUsize, Ordering};

use terrace_executor::{Builder, Executor, block_on};
use terrace_fork::scope;
use terrace_shuttle_tests::{Gate, Tally, explore, pause};
use terrace_sync::{Arc, thread};

fn pool(workers: usize) -> Arc<Executor<'static>> {
    Arc::new(Builder::new().workers(workers).build())
}

fn add(count: &AtomicUsize) {
    count.fetch_add(1, Ordering::Relaxed);
}

/// A scope off the pool, whose children the workers may take.
#[test]
fn external_scope() {
    explore(|| {
        let pool = pool(8);
        let tally = Tally::new();
        let mut numbers = [0; 6];
        scope(&pool, |scope| {
            for (i, number) in numbers.iter_mut().enumerate() {
                let ticket = tally.ticket();
                scope.spawn(async move {
                    let _ticket = ticket;
                    *number = i;
                });
            }
        });
        tally.assert_all_dropped(6);
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5]);
    });
}

/// A scope whose children wait for a thread that is no worker: its waiter sleeps, and the push wakes it.
#[test]
fn scope_whose_children_are_woken_externally() {
    explore(|| {
        let pool = pool(8);
        let gate = Gate::new();
        let opener = {
            let gate = gate.clone();
            thread::spawn(move || gate.open())
        };
        let ended = AtomicUsize::new(0);
        scope(&pool, |scope| {
            for _ in 0..3 {
                let (pass, ended) = (gate.pass(), &ended);
                scope.spawn(async move {
                    pass.await;
                    ended.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        assert_eq!(ended.load(Ordering::Relaxed), 3);
        opener.join().expect("ends");
    });
}

/// Scopes opened by workers, within each other.
#[test]
fn scopes_on_workers() {
    explore(|| {
        let pool = pool(8);
        let tasks: Vec<_> = (0..2)
            .map(|_| {
                let own = Arc::clone(&pool);
                pool.spawn(async move {
                    let count = AtomicUsize::new(0);
                    scope(&own, |outer| {
                        for _ in 0..2 {
                            let (own, count) = (&own, &count);
                            outer.spawn(async move {
                                scope(own, |inner| {
                                    inner.spawn(async { add(count) });
                                    inner.spawn(async { add(count) });
                                });
                            });
                        }
                    });
                    count.into_inner()
                })
            })
            .collect();
        let counts: Vec<_> = tasks.into_iter().map(block_on).collect();
        assert_eq!(counts, [4, 4]);
    });
}

/// Workers of two pools that block on each other's tasks.
#[test]
fn two_pools_wait_for_each_other() {
    explore(|| {
        let (one, two) = (pool(2), pool(2));
        let ask = |here: &Arc<Executor<'static>>, there: &Arc<Executor<'static>>| {
            let (here, there) = (Arc::clone(here), Arc::clone(there));
            let back = Arc::clone(&here);
            here.spawn(async move {
                block_on(there.spawn(async move { block_on(back.spawn(async { 1 })) + 1 })) + 1
            })
        };
        let tasks = [ask(&one, &two), ask(&two, &one), ask(&one, &two)];
        for task in tasks {
            assert_eq!(block_on(task), 3);
        }
    });
}

/// Every worker blocks on a task of its own pool: only a spare is left to run them.
///
/// Fails under `park-last-resort`: the last worker that goes to wait leaves the work where it is.
#[test]
fn all_workers_wait_for_their_own_pool() {
    explore(|| {
        let pool = pool(2);
        let tasks: Vec<_> = (0..3)
            .map(|i| {
                let own = Arc::clone(&pool);
                pool.spawn(async move { block_on(own.spawn(async move { i })) })
            })
            .collect();
        let sum: i32 = tasks.into_iter().map(block_on).sum();
        assert_eq!(sum, 3);
    });
}

/// A worker blocks on a task of another pool, which waits for the only task in the worker's ring. The wait may not run that one, and
/// no other worker misses it.
#[test]
fn the_only_task_at_hand_is_another_one() {
    explore(|| {
        let (one, two) = (pool(2), pool(1));
        let (own, other) = (Arc::clone(&one), Arc::clone(&two));
        let waiter = one.spawn(async move {
            let gate = Gate::new();
            let pass = gate.pass();
            own.spawn(async move { gate.open() }).detach();
            block_on(other.spawn(pass));
        });
        block_on(waiter);
    });
}

/// Every worker waits when an external thread publishes work.
///
/// Fails under `park-wait-rescan`: a waiter sleeps past its own event. Fails under `park-r-rule`: the publisher finds
/// every worker waiting and wakes none.
#[test]
fn work_comes_while_all_workers_wait() {
    explore(|| {
        let pool = pool(2);
        let gates = [Gate::new(), Gate::new()];
        let waiting = [Gate::new(), Gate::new()];
        let tasks: Vec<_> = gates
            .iter()
            .zip(&waiting)
            .map(|(gate, waiting)| {
                let (pass, waiting) = (gate.pass(), waiting.clone());
                pool.spawn(async move {
                    waiting.open();
                    block_on(pass);
                })
            })
            .collect();
        for gate in &waiting {
            block_on(gate.pass());
        }
        pause();
        // Only these tasks let the workers go on.
        for gate in &gates {
            let gate = gate.clone();
            pool.spawn(async move { gate.open() }).detach();
        }
        for task in tasks {
            block_on(task);
        }
    });
}

/// A worker whose loop the executor's own `block_on` polls: it gets a task from outside, one that another thread wakes, and its end.
///
/// Fails where the wakes do not unpark the worker's thread (`park-thread-unparked`).
#[test]
fn a_worker_blocks_on_its_loop() {
    explore(|| {
        let executor = Builder::new()
            .workers(1)
            .worker_main(|worker| block_on(worker))
            .build();
        let gate = Gate::new();
        let pass = gate.pass();
        let first = executor.spawn(async { 1 });
        let second = executor.spawn(pass);
        pause();
        assert_eq!(block_on(first), 1);
        gate.open();
        block_on(second);
        drop(executor);
    });
}
