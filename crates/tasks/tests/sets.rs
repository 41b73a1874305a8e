//! Sets of tasks, aborts, ids and numbers, on a pool.
#![cfg(feature = "multi_threaded")]

use std::future::pending;

use terrace_tasks::{
    AbortHandle, Metrics, TaskError, TaskId, TaskPoolBuilder, TaskSet, abortable, block_on, named,
};
use terrace_testing::{on_own_thread, watchdog};

#[test]
fn results_come_as_tasks_end_and_an_abort_ends_one() {
    let _watchdog = watchdog();
    on_own_thread(|| {
        for threads in [0, 1, 2] {
            let pool = TaskPoolBuilder::new().num_threads(threads).build();
            let mut set = TaskSet::new(&pool);
            let (never, handle): (_, AbortHandle) = abortable(pending());
            set.spawn(async move { never.await.unwrap_or(0) });
            for number in 1..=8 {
                set.spawn(named("child", async move { number }));
            }
            let mut results = Vec::new();
            while results.len() < 8 {
                let (_, result) = block_on(set.join_next()).expect("some task is left");
                results.push(result.expect("it does not panic"));
            }
            results.sort_unstable();
            assert_eq!(results, [1, 2, 3, 4, 5, 6, 7, 8]);
            handle.abort();
            let last: Option<(_, Result<u32, TaskError>)> = block_on(set.join_next());
            assert_eq!(last.expect("the aborted one ends").1.ok(), Some(0));
            assert!(set.is_empty());
        }
    });
}

#[test]
fn a_handle_knows_the_id_of_its_task() {
    let _watchdog = watchdog();
    let pool = TaskPoolBuilder::new().num_threads(1).build();
    let (first, second) = (pool.spawn(pending::<()>()), pool.spawn(pending::<()>()));
    let ids: [Option<TaskId>; 2] = [first.id(), second.id()];
    assert!(ids[0].is_some() && ids[1].is_some() && ids[0] != ids[1]);
}

#[test]
fn a_pool_counts_its_tasks() {
    let _watchdog = watchdog();
    on_own_thread(|| {
        for threads in [0, 1, 2] {
            let pool = TaskPoolBuilder::new().num_threads(threads).build();
            let waits = pool.spawn(pending::<()>());
            for number in 0..10 {
                assert_eq!(block_on(pool.spawn(async move { number })), number);
            }
            let metrics: Metrics = pool.metrics();
            assert_eq!(metrics.num_workers(), threads);
            assert_eq!(metrics.spawned_tasks_count(), 11);
            // A handle is ready before its task is counted out.
            assert!((1..=11).contains(&metrics.num_alive_tasks()));
            drop(waits);
        }
    });
}
