//! Scopes opened by workers of their own pool: the rule of last resort, stacks, and the pool's end.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use terrace_executor::{Builder, block_on};
use terrace_fork::{Scope, scope};
use terrace_testing::{Yields, sole, watchdog};
use terrace_thread::ThreadSpawner;

/// Every worker of the pool waits in a nested scope for a task of the same pool: the rule of last
/// resort.
#[test]
fn a_child_may_block_on_a_task_of_its_own_pool() {
    let _watchdog = watchdog();
    for workers in [1, 2] {
        let executor = Builder::new().workers(workers).build();
        for _ in 0..20 {
            let sum = Mutex::new(0);
            scope(&executor, |s| {
                for _ in 0..4 {
                    s.spawn(async {
                        let task = executor.spawn(async { 1 });
                        *sum.lock().unwrap() += terrace_executor::block_on(task);
                    });
                }
            });
            assert_eq!(sum.into_inner().unwrap(), 4);
        }
    }
}

/// Nested scopes do not pile up on one stack.
#[test]
fn ten_thousand_tasks_that_each_open_a_scope() {
    let _watchdog = watchdog();
    let executor = Arc::new(Builder::new().workers(2).stack_size(256 * 1024).build());
    let left = Arc::new(AtomicUsize::new(10_000));
    for _ in 0..10_000 {
        let (pool, left) = (Arc::downgrade(&executor), Arc::clone(&left));
        executor
            .spawn(async move {
                if let Some(pool) = pool.upgrade() {
                    scope(&pool, |s| s.spawn(Yields(1)));
                }
                left.fetch_sub(1, Ordering::Release);
            })
            .detach();
    }
    while left.load(Ordering::Acquire) > 0 {
        thread::sleep(Duration::from_millis(1));
    }
}

/// A scope's slot keeps its waiter's handle, which on a worker refers to the pool: not longer than the scope is open.
#[test]
fn a_pool_whose_workers_opened_scopes_is_freed() {
    let _watchdog = watchdog();
    let freed = Arc::new(());
    let executor = Arc::new(
        Builder::new()
            .workers(2)
            .thread_name({
                let freed = Arc::clone(&freed);
                move |index| format!("{index}-{}", Arc::strong_count(&freed))
            })
            .build(),
    );
    for _ in 0..10 {
        let pool = Arc::clone(&executor);
        terrace_executor::block_on(executor.spawn(async move {
            scope(&pool, |s| s.spawn(Yields(1)));
        }));
    }
    drop(sole(executor));
    // The watch may be looking at the pool. If the pool stays, the watchdog ends the test.
    while Arc::strong_count(&freed) > 1 {
        thread::yield_now();
    }
}

/// A child on worker 0, and behind it another one, and so on until `stop`.
fn children_until<'scope>(s: &'scope Scope<'scope, '_>, stop: &'scope AtomicBool) {
    s.spawn_on(0, async move {
        if !stop.load(Ordering::Relaxed) {
            children_until(s, stop);
        }
    });
}

/// Each side goes on until the other one has run. If one always went first, the watchdog would end the test.
#[test]
fn children_of_one_worker_and_tasks_pinned_to_it_take_turns() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(1).build();
    let worker = block_on(executor.spawn(async { ThreadSpawner::current() }));
    for _ in 0..20 {
        let stop = Arc::new(AtomicBool::new(false));
        let stops = Arc::clone(&stop);
        scope(&executor, |s| {
            children_until(s, &stop);
            let task = worker.spawn(async move { stops.store(true, Ordering::Relaxed) });
            task.detach();
        });

        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let task = worker.spawn(async move {
            while !stopped.load(Ordering::Relaxed) {
                Yields(1).await;
            }
        });
        scope(&executor, |s| {
            s.spawn_on(0, async { stop.store(true, Ordering::Relaxed) });
        });
        block_on(task);
    }
}
