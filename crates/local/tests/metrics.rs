//! `LocalExecutor::metrics`: each number after each way in which a task can begin and end.

use std::future::{pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;
use std::thread;

use futures_lite::future::{block_on, poll_once, yield_now};
use terrace_local::{LocalExecutor, LocalMetrics};
use terrace_testing::{Random, watchdog};

fn spawned_and_alive(metrics: LocalMetrics) -> (usize, usize) {
    (metrics.spawned_tasks_count(), metrics.num_alive_tasks())
}

#[test]
fn an_executor_that_did_nothing_has_zeros() {
    let executor = LocalExecutor::new();
    assert_eq!(executor.metrics(), LocalMetrics::default());
}

#[test]
fn a_task_is_counted_where_it_begins_and_where_it_ends() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let queued = executor.spawn(async {});
    let waits = executor.spawn(pending::<()>());
    let eager = executor.spawn_eager(async {});
    let eager_waits = executor.spawn_eager(pending::<()>());
    let metrics = executor.metrics();
    assert_eq!(spawned_and_alive(metrics), (4, 3));
    assert_eq!((metrics.poll_count(), metrics.queue_depth()), (2, 2));
    assert_eq!(executor.run_until_stalled(), 2);
    let metrics = executor.metrics();
    assert_eq!(spawned_and_alive(metrics), (4, 2));
    assert_eq!((metrics.poll_count(), metrics.queue_depth()), (4, 0));
    drop((queued, waits, eager, eager_waits));
    executor.run_until_stalled();
    assert_eq!(spawned_and_alive(executor.metrics()), (4, 0));
    assert!(executor.is_empty());
}

#[test]
fn panics_cancellations_and_tasks_of_other_threads_are_counted() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let panics = executor.spawn(async { panic!("of the test") });
    executor.run_until_stalled();
    assert!(catch_unwind(AssertUnwindSafe(|| block_on(executor.run(panics)))).is_err());
    assert_eq!(spawned_and_alive(executor.metrics()), (1, 0));
    // Cancelled before its first poll, on this thread and on another one.
    drop(executor.spawn(async {}));
    let spawner = executor.spawner();
    thread::spawn(move || drop(spawner.spawn(async {})))
        .join()
        .unwrap();
    executor.run_until_stalled();
    let metrics = executor.metrics();
    assert_eq!(spawned_and_alive(metrics), (3, 0));
    assert_eq!(metrics.poll_count(), 1);
    let spawner = executor.spawner();
    let task = thread::spawn(move || spawner.spawn(async { 1 }))
        .join()
        .unwrap();
    assert_eq!(spawned_and_alive(executor.metrics()), (4, 1));
    assert_eq!(executor.metrics().queue_depth(), 1);
    assert_eq!(block_on(executor.run(task)), 1);
    assert_eq!(spawned_and_alive(executor.metrics()), (4, 0));
}

#[test]
fn sleeps_of_run_and_tick_are_counted() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    executor.spawn(yield_now()).detach();
    assert!(block_on(poll_once(executor.run(pending::<()>()))).is_none());
    assert_eq!(executor.metrics().park_count(), 1);
    assert!(block_on(poll_once(executor.tick())).is_none());
    assert_eq!(executor.metrics().park_count(), 2);
    executor.spawn(async {}).detach();
    block_on(executor.tick());
    assert_eq!(executor.metrics().park_count(), 2);
}

/// A random program: the numbers agree with its own counts after each step.
#[test]
fn the_numbers_agree_with_the_programs_own() {
    let _watchdog = watchdog();
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let executor = LocalExecutor::new();
        let mut waiting = Vec::new();
        let mut spawned = 0;
        for _ in 0..300 {
            spawned += 1;
            match random.below(6) {
                0 => executor.spawn(async {}).detach(),
                1 => executor.spawn_eager(yield_now()).detach(),
                2 => waiting.push(executor.spawn(pending::<()>())),
                3 => waiting.push(executor.spawn_eager(pending::<()>())),
                4 => {
                    let spawner = executor.spawner();
                    let task = thread::spawn(move || spawner.spawn(pending::<()>()));
                    waiting.push(task.join().unwrap());
                }
                _ => {
                    spawned -= 1;
                    if !waiting.is_empty() {
                        drop(waiting.swap_remove(random.below(waiting.len())));
                    }
                }
            }
            if random.once_in(4) {
                executor.run_until_stalled();
                let alive = waiting.len();
                assert_eq!(spawned_and_alive(executor.metrics()), (spawned, alive));
            }
        }
    }
}

/// The future is dropped on the thread that spawned it, and the owner's thread counts no end.
#[test]
fn a_spawn_of_another_thread_after_the_close_is_not_counted() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let spawner = executor.spawner();
    assert!(executor.core().close());
    let task = thread::spawn(move || spawner.spawn(async {}))
        .join()
        .unwrap();
    assert!(task.is_finished());
    assert_eq!(executor.metrics(), LocalMetrics::default());
    assert!(executor.is_empty());
}

/// Another thread wakes a task in its last poll. What that leaves in the inbox needs no turn.
#[test]
fn a_wake_in_the_last_poll_leaves_nothing_queued() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let woken = poll_fn(|context| {
        let waker = context.waker().clone();
        thread::spawn(move || waker.wake()).join().unwrap();
        Poll::Ready(())
    });
    executor.spawn(woken).detach();
    assert!(executor.try_tick());
    assert!(!executor.has_queued());
}
