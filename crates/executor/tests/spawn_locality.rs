//! A worker queues a task that it spawns into its own ring; an external thread queues it into the injector.
//! `terrace-trace` counts for the whole process, so this program has one test.
#![cfg(feature = "trace")]

use std::future::Future;
use std::sync::Arc;

use terrace_executor::{Builder, Executor, Task, block_on};
use terrace_testing::watchdog;
use terrace_trace::{Counters, snapshot};

/// Fewer than a ring holds: more would overflow into the injector.
const TASKS: usize = 100;

/// Where tasks were queued: in the caller's own ring, and in the injector.
#[derive(Debug, PartialEq)]
struct Queued {
    own: u64,
    injected: u64,
}

const NEAR: Queued = Queued {
    own: TASKS as u64,
    injected: 0,
};
const FAR: Queued = Queued {
    own: 0,
    injected: TASKS as u64,
};

/// Calls `spawn`, and returns its result and where the tasks went. No task that runs during the
/// call queues another.
fn queued<T>(spawn: impl FnOnce() -> Vec<Task<T>>) -> (Vec<Task<T>>, Queued) {
    let before = snapshot();
    let tasks = spawn();
    let Counters {
        spawned_tasks_count,
        worker_local_schedule_count,
        remote_schedule_count,
        ..
    } = snapshot().since(&before);
    assert_eq!((tasks.len(), spawned_tasks_count), (TASKS, TASKS as u64));
    let queued = Queued {
        own: worker_local_schedule_count,
        injected: remote_schedule_count,
    };
    (tasks, queued)
}

fn one_by_one(executor: &Executor<'static>) -> Vec<Task<()>> {
    (0..TASKS).map(|_| executor.spawn(async {})).collect()
}

fn batch(executor: &Executor<'static>) -> Vec<Task<()>> {
    let mut tasks = Vec::new();
    executor.spawn_many((0..TASKS).map(|_| async {}), &mut tasks);
    tasks
}

async fn all(tasks: Vec<Task<()>>) {
    for task in tasks {
        task.await;
    }
}

/// Spawns onto `target` in both ways, and waits for the tasks.
async fn spawns(target: &Executor<'static>) -> [Queued; 2] {
    let (tasks, ones) = queued(|| one_by_one(target));
    all(tasks).await;
    let (tasks, many) = queued(|| batch(target));
    all(tasks).await;
    [ones, many]
}

fn on_worker<T: Send + 'static>(
    executor: &Executor<'static>,
    future: impl Future<Output = T> + Send + 'static,
) -> T {
    block_on(executor.spawn(future))
}

#[test]
fn a_spawn_goes_where_its_caller_is() {
    let _watchdog = watchdog();
    for workers in [1, 2] {
        let [executor, other] = [(); 2].map(|()| Arc::new(Builder::new().workers(workers).build()));
        let own = Arc::clone(&executor);
        assert_eq!(
            on_worker(&executor, async move { spawns(&own).await }),
            [NEAR, NEAR],
            "a worker of the executor"
        );
        let own = Arc::clone(&executor);
        assert_eq!(
            on_worker(&other, async move { spawns(&own).await }),
            [FAR, FAR],
            "a worker of another one"
        );
        assert_eq!(block_on(spawns(&executor)), [FAR, FAR], "no worker");
    }
    let driven = Executor::new();
    assert_eq!(
        block_on(driven.run(spawns(&driven))),
        [NEAR, NEAR],
        "a `run` future"
    );
    // Spawned off the pool, and run afterwards.
    let (tasks, outside) = queued(|| one_by_one(&driven));
    block_on(driven.run(all(tasks)));
    assert_eq!(outside, FAR);
}
