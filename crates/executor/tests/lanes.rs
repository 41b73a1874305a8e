//! Lanes: what goes first, and what may not take every worker.

mod yields;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use terrace_executor::{Builder, Executor, Lane, block_on, current};
use yields::Yield;

const LIMIT: Duration = Duration::from_secs(30);

#[test]
fn lanes_run_in_order() {
    let executor = Executor::new();
    let order = Arc::new(Mutex::new(Vec::new()));
    let lanes = [Lane::Background, Lane::Normal, Lane::High];
    let tasks: Vec<_> = lanes
        .iter()
        .flat_map(|&lane| [lane; 3])
        .map(|lane| {
            let order = Arc::clone(&order);
            executor.spawn_on(lane, async move {
                Yield(1).await;
                order.lock().unwrap().push(lane);
            })
        })
        .collect();
    while executor.try_tick() {}
    assert!(tasks.iter().all(terrace_executor::Task::is_finished));
    let expected: Vec<_> = lanes.iter().rev().flat_map(|&lane| [lane; 3]).collect();
    assert_eq!(*order.lock().unwrap(), expected);
}

/// Need 1: background tasks never take the last worker, and without them the foreground has all.
#[test]
fn background_tasks_leave_a_worker() {
    for workers in [2, 3, 5] {
        let executor = Builder::new().workers(workers).build();
        let (started, wait) = channel();
        let barrier = Arc::new(Barrier::new(workers));
        let running = Arc::new(AtomicUsize::new(0));
        let background: Vec<_> = (0..2 * workers)
            .map(|_| {
                let (started, barrier) = (started.clone(), Arc::clone(&barrier));
                let running = Arc::clone(&running);
                executor.spawn_on(Lane::Background, async move {
                    assert_eq!(current().unwrap().lane(), Lane::Background);
                    let others = running.fetch_add(1, Ordering::Relaxed);
                    assert!(others < workers - 1, "all workers run background tasks");
                    started.send(()).unwrap();
                    barrier.wait();
                    running.fetch_sub(1, Ordering::Relaxed);
                })
            })
            .collect();
        for round in 0..2 * workers / (workers - 1) {
            for _ in 0..workers - 1 {
                wait.recv_timeout(LIMIT).expect("permits are used");
            }
            // All permits are taken: the foreground runs nevertheless.
            for i in 0..20 {
                assert_eq!(block_on(executor.spawn(async move { i })), i);
            }
            if round == 0 {
                assert_eq!(current(), None);
            }
            barrier.wait();
        }
        let rest = 2 * workers % (workers - 1);
        for _ in 0..rest {
            wait.recv_timeout(LIMIT).expect("permits were given back");
        }
        if rest > 0 {
            for _ in rest..workers - 1 {
                let barrier = Arc::clone(&barrier);
                executor
                    .spawn(async move {
                        barrier.wait();
                    })
                    .detach();
            }
            barrier.wait();
        }
        background.into_iter().for_each(block_on);
        let all = Arc::new(Barrier::new(workers));
        let foreground: Vec<_> = (0..workers)
            .map(|_| {
                let all = Arc::clone(&all);
                executor.spawn(async move {
                    assert_eq!(current().unwrap().lane(), Lane::Normal);
                    all.wait();
                })
            })
            .collect();
        foreground.into_iter().for_each(block_on);
    }
}

/// A background task that waits for another one gives its permit back meanwhile.
#[test]
fn background_tasks_may_wait_for_each_other() {
    for workers in [1, 2, 3] {
        let executor = Arc::new(Builder::new().workers(workers).build());
        let tasks: Vec<_> = (0..20)
            .map(|i| {
                let weak = Arc::downgrade(&executor);
                executor.spawn_on(Lane::Background, async move {
                    let executor = weak.upgrade().expect("the test waits");
                    let lane = block_on(executor.spawn_on(Lane::Background, async move {
                        Yield(i % 3).await;
                        current().unwrap().lane()
                    }));
                    assert_eq!(lane, Lane::Background);
                    assert_eq!(current().unwrap().lane(), Lane::Background);
                    assert_eq!(
                        block_on(executor.spawn(async { current().unwrap().lane() })),
                        Lane::Normal
                    );
                })
            })
            .collect();
        tasks.into_iter().for_each(block_on);
        assert!(executor.is_empty());
    }
}

/// Endless tasks of one lane do not starve the others.
#[test]
fn no_lane_starves() {
    for endless in [Lane::High, Lane::Normal, Lane::Background] {
        let executor = Builder::new().workers(1).build();
        for _ in 0..2 {
            executor.spawn_on(endless, Yield(u32::MAX)).detach();
        }
        for lane in [Lane::High, Lane::Normal, Lane::Background] {
            let task = executor.spawn_on(lane, async { 7 });
            let (done, wait) = channel();
            thread::scope(|s| {
                s.spawn(move || done.send(block_on(task)).unwrap());
                assert_eq!(
                    wait.recv_timeout(LIMIT),
                    Ok(7),
                    "{lane:?} beside {endless:?}"
                );
            });
        }
    }
}

#[test]
fn lanes_are_emptied_by_a_drop() {
    let executor = Executor::new();
    let marker = Arc::new(());
    for lane in [Lane::High, Lane::Normal, Lane::Background] {
        let marker = Arc::clone(&marker);
        executor
            .spawn_on(lane, async move { drop(marker) })
            .detach();
    }
    drop(executor);
    assert_eq!(Arc::strong_count(&marker), 1);
}
