//! The depth of the shared queues comes back to 0, however tasks leave them. `terrace-trace` counts for the whole
//! process, so this program has one test.
#![cfg(feature = "trace")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use terrace_executor::{Builder, Executor, Lane, Task, block_on};
use terrace_testing::watchdog;
use terrace_trace::snapshot;

/// More than the rings of two workers hold.
const TASKS: usize = 1_501;
/// How long the test waits for something that takes microseconds.
const PATIENCE: Duration = Duration::from_secs(60);

fn depth() -> u64 {
    snapshot().global_queue_depth
}

/// A worker counts the tasks that it took, after others may already have run them.
#[track_caller]
fn comes_back_to_zero(what: &str) {
    let start = Instant::now();
    while depth() != 0 {
        assert!(start.elapsed() < PATIENCE, "{what}: {} are left", depth());
        std::thread::yield_now();
    }
}

async fn all(tasks: Vec<Task<()>>) {
    for task in tasks {
        task.await;
    }
}

fn batch(executor: &Executor<'_>, tasks: usize) -> Vec<Task<()>> {
    let mut handles = Vec::new();
    executor.spawn_many((0..tasks).map(|_| async {}), &mut handles);
    handles
}

fn one_by_one(executor: &Executor<'_>, tasks: usize) -> Vec<Task<()>> {
    (0..tasks).map(|_| executor.spawn(async {})).collect()
}

fn on_lanes(executor: &Executor<'_>) -> Vec<Task<()>> {
    let lanes = [Lane::High, Lane::Background, Lane::Normal];
    let spawn = |n: usize| executor.spawn_on(lanes[n % 3], async {});
    (0..TASKS).map(spawn).collect()
}

#[test]
fn what_leaves_a_shared_queue_is_counted() {
    let _watchdog = watchdog();
    for workers in [1, 2] {
        let executor = Arc::new(Builder::new().workers(workers).build());
        block_on(all(one_by_one(&executor, TASKS)));
        comes_back_to_zero("tasks from outside, one by one");
        block_on(all(batch(&executor, TASKS)));
        comes_back_to_zero("a batch from outside");
        block_on(all(on_lanes(&executor)));
        comes_back_to_zero("lanes");
        let own = Arc::clone(&executor);
        // More than the ring takes.
        block_on(executor.spawn(async move {
            all(one_by_one(&own, TASKS)).await;
            all(batch(&own, TASKS)).await;
        }));
        comes_back_to_zero("what overflowed a ring");
        let tasks = one_by_one(&executor, TASKS);
        executor.set_workers(workers + 1).expect("threads start");
        executor.set_workers(workers).expect("threads end");
        block_on(all(tasks));
        comes_back_to_zero("threads that come and go");
    }

    // No worker takes a task: this thread drives the pool.
    let executor = Executor::new();
    let before = depth();
    assert_eq!(before, 0);
    let (few, many) = (one_by_one(&executor, 3), batch(&executor, 70));
    let high = executor.spawn_on(Lane::High, async {});
    let background = executor.spawn_on(Lane::Background, async {});
    assert_eq!(depth(), 75);
    while executor.try_tick() {}
    assert_eq!(depth(), 0, "ticks");
    block_on(all(few));
    block_on(all(many));
    block_on(all(vec![high, background]));

    let tasks = batch(&executor, TASKS);
    assert_eq!(depth(), TASKS as u64);
    block_on(executor.run(all(tasks)));
    comes_back_to_zero("a `run` future");

    for tasks in [one_by_one(&executor, 5), on_lanes(&executor)] {
        tasks.into_iter().for_each(Task::detach);
    }
    assert_eq!(depth(), 5 + TASKS as u64);
    drop(executor);
    assert_eq!(depth(), 0, "an executor that was dropped");
}
