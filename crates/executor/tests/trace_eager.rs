//! What an eager child counts: a spawn and a poll, on the worker that spawns it, and nothing else. `terrace-trace` counts for the
//! whole process, so this program has one test.
#![cfg(feature = "trace")]

use std::future::ready;

use terrace_executor::{Builder, StaticExecutor, block_on, current};
use terrace_testing::{Yields, watchdog};
use terrace_trace::{Counters, snapshot};

/// Spawns, polls, and tasks that went through a queue, since `before`.
fn since(before: &Counters) -> (u64, u64, u64) {
    let counted = snapshot().since(before);
    (
        counted.spawned_tasks_count,
        counted.worker_poll_count,
        counted.worker_local_schedule_count + counted.remote_schedule_count,
    )
}

/// In a task, which is the only one.
async fn counts(executor: &'static StaticExecutor) {
    let parent = current();
    // The first ones have a cell before their poll, the others have not.
    for _ in 0..20 {
        let before = snapshot();
        let mut child = executor.spawn_eager(async move { (current(), since(&before)) });
        let (inside, counted) = child.try_take().expect("it has ended");
        assert_eq!(counted, (1, 1, 0), "in the child");
        assert_eq!(inside, parent);
        assert_eq!(since(&before), (1, 1, 0), "after the child");
        assert_eq!(current(), parent);
    }
    // One in another.
    let before = snapshot();
    let nested = executor.spawn_eager(async move {
        executor.spawn_eager(ready(())).await;
        since(&before)
    });
    assert_eq!(nested.await, (2, 2, 0));
    assert_eq!(current(), parent);
    // A pending child is polled twice, and goes through the queue once. So does this task, which waits for it.
    for expected in [true, false] {
        if expected {
            for _ in 0..10 {
                executor.spawn_eager(ready(())).await;
            }
        }
        let before = snapshot();
        let child = executor.spawn_eager(Yields(1));
        assert_eq!(since(&before), (1, 1, 1), "at its spawn");
        child.await;
        assert_eq!(since(&before).0, 1);
        assert_eq!(
            since(&before).1,
            3,
            "the child's second poll, and the parent's"
        );
    }
}

#[test]
fn an_eager_child_is_a_spawn_and_a_poll() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(1).build().leak();
    block_on(executor.spawn(counts(executor)));
    static THREADLESS: StaticExecutor = StaticExecutor::new();
    block_on(THREADLESS.run(THREADLESS.spawn(counts(&THREADLESS))));
}
