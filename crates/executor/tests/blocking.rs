//! `spawn_blocking`: closures on threads that are no workers.
#![cfg(feature = "blocking")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::time::Duration;

use terrace_executor::{Builder, Current, Executor, Shutdown, StaticExecutor, block_on, current};
use terrace_testing::watchdog;

fn executors() -> [Executor<'static>; 3] {
    [0, 1, 2].map(|workers| Builder::new().workers(workers).build())
}

#[test]
fn closures_run_at_once_beside_the_workers() {
    const CLOSURES: usize = 20;
    let _watchdog = watchdog();
    for executor in executors() {
        let meet = Arc::new(Barrier::new(CLOSURES));
        let tasks: Vec<_> = (0..CLOSURES)
            .map(|number| {
                let meet = Arc::clone(&meet);
                executor.spawn_blocking(move || {
                    meet.wait();
                    assert!(current().is_none());
                    number
                })
            })
            .collect();
        let sum: usize = tasks.into_iter().map(block_on).sum();
        assert_eq!(sum, CLOSURES * (CLOSURES - 1) / 2);
        assert!(executor.is_empty());
        assert_eq!(executor.metrics().spawned_tasks_count(), CLOSURES);
    }
}

/// The only worker runs a task that the closure waits for.
#[test]
fn a_closure_blocks_no_worker() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(1).build();
    let task = executor.spawn(async {
        let (sender, receiver) = channel();
        let blocked = Current::spawn_blocking(move || receiver.recv());
        Current::spawn(async move { sender.send(42) })
            .await
            .unwrap();
        blocked.await
    });
    assert_eq!(block_on(task), Ok(42));
}

#[test]
fn a_panic_reaches_the_handle_or_the_handler() {
    let _watchdog = watchdog();
    let (sender, panics) = channel();
    let executor = Builder::new()
        .workers(1)
        .panic_handler(move |payload| sender.send(payload).unwrap())
        .build();
    let task = executor.spawn_blocking(|| panic!("of the test"));
    assert!(catch_unwind(AssertUnwindSafe(|| block_on(task))).is_err());
    executor.spawn_blocking(|| panic!("detached")).detach();
    let payload = panics.recv().unwrap();
    assert_eq!(payload.downcast_ref(), Some(&"detached"));
    executor.wait_idle(None).unwrap();
    assert!(panics.try_recv().is_err());
}

#[test]
fn ends_wait_for_closures() {
    let _watchdog = watchdog();
    for executor in executors() {
        let (go, waits) = channel::<()>();
        executor
            .spawn_blocking(move || waits.recv().unwrap())
            .detach();
        let left = executor.wait_idle(Some(Duration::from_millis(1)));
        assert_eq!(left.unwrap_err().tasks(), 1);
        go.send(()).unwrap();
        executor.wait_idle(None).unwrap();
        let done = Arc::new(());
        let kept = Arc::clone(&done);
        executor
            .spawn_blocking(move || {
                std::thread::sleep(Duration::from_millis(2));
                drop(kept);
            })
            .detach();
        executor.shutdown(Shutdown::FinishAll, None).unwrap();
        assert_eq!(Arc::strong_count(&done), 1);
    }
}

/// A closure that runs goes on. What it holds is dropped once, whether it began or not.
#[test]
fn an_executor_may_go_before_its_closures() {
    let _watchdog = watchdog();
    for round in 0..50 {
        for executor in executors() {
            let held = Arc::new(());
            let spawner = executor.spawner();
            let tasks: Vec<_> = (0..8)
                .map(|number| {
                    let held = Arc::clone(&held);
                    let task = spawner.spawn_blocking(move || Arc::strong_count(&held));
                    (number, task.fallible())
                })
                .collect();
            if round % 2 == 0 {
                drop(executor);
            }
            for (number, task) in tasks {
                if number % 3 == 0 {
                    drop(task);
                } else {
                    // Called, or dropped: either ends it.
                    assert!(block_on(task).is_none_or(|count| count > 1));
                }
            }
            while Arc::strong_count(&held) > 1 {
                std::thread::yield_now();
            }
        }
    }
}

#[test]
fn a_spawner_whose_executor_is_gone_drops_the_closure() {
    let _watchdog = watchdog();
    let executor = Executor::new();
    let spawner = executor.spawner();
    drop(executor);
    let held = Arc::new(());
    let kept = Arc::clone(&held);
    let task = spawner.spawn_blocking(move || Arc::strong_count(&kept));
    assert_eq!(block_on(task.fallible()), None);
    assert_eq!(Arc::strong_count(&held), 1);
}

#[test]
fn a_static_executor_and_large_closures() {
    static EXECUTOR: StaticExecutor = StaticExecutor::new();
    let _watchdog = watchdog();
    let large = [7_u8; 5_000];
    let task = EXECUTOR.spawn_blocking(move || large.iter().map(|&byte| u32::from(byte)).sum());
    assert_eq!(block_on::<u32>(task), 35_000);
}

#[test]
#[should_panic(expected = "no executor polls the caller of `Current::spawn_blocking`")]
fn outside_of_an_executor_current_says_what_to_do() {
    Current::spawn_blocking(|| ()).detach();
}
