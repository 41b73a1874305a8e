//! The costs of a spawn: allocations, and with `--cfg terrace_count` our own read-modify-writes, fences and locks.
//! Amortised over many spawns after a warm-up. Two cores hide contention; counts do not.

use terrace_executor::{Builder, StaticExecutor, block_on};
use terrace_testing::{CountingAllocator, Yields, allocations, watchdog};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Spawns a round: few enough for the worker's ring.
const ROUND: usize = 100;
const ROUNDS: usize = 100;

async fn rounds(executor: &'static StaticExecutor, rounds: usize) {
    for _ in 0..rounds {
        for _ in 0..ROUND {
            executor.spawn(async {}).detach();
        }
        Yields(1).await;
    }
}

#[test]
fn a_spawn_on_a_worker_allocates_once() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(1).try_build_static().unwrap();
    let counted = block_on(executor.spawn(async move {
        rounds(executor, 4).await;
        let before = allocations();
        rounds(executor, ROUNDS).await;
        allocations() - before
    }));
    assert_eq!(counted, ROUND * ROUNDS);
}

/// An eager child that is done at once takes its cell, and nothing of our own: no queue, no fence, no lock.
#[test]
fn an_eager_child_on_a_worker_allocates_once() {
    let _watchdog = watchdog();
    use terrace_sync::count::Counts;

    let executor = Builder::new().workers(1).try_build_static().unwrap();
    block_on(executor.spawn(async move {
        for round in 0..ROUNDS {
            let counts = Counts::now();
            let before = allocations();
            for child in 0..ROUND {
                assert_eq!(executor.spawn_eager(async move { child }).await, child);
            }
            let counted = allocations() - before;
            let counts = Counts::now() - counts;
            assert_eq!(counted, ROUND, "round {round}");
            assert_eq!(counts, Counts::default(), "round {round}");
            Yields(1).await;
        }
    }));
}

#[test]
fn a_remote_spawn_allocates_once_and_a_block_now_and_then() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(1).try_build_static().unwrap();
    let spawn = |count: usize| {
        for _ in 0..count {
            executor.spawn(async {}).detach();
        }
        block_on(executor.spawn(async {}));
    };
    spawn(1_000);
    let before = allocations();
    let count = 10_000;
    spawn(count);
    let counted = allocations() - before;
    // One a task, one for each block of 31 of the injector, and the last task with its waiter's waker.
    assert!(counted <= count + count / 31 + 4, "{counted}");
}

#[test]
fn a_remote_batch_allocates_once_a_task_and_once_a_parcel() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(1).try_build_static().unwrap();
    let spawn = |count: usize| {
        let mut tasks = Vec::with_capacity(count);
        let before = allocations();
        executor.spawn_many((0..count).map(|_| async {}), &mut tasks);
        let counted = allocations() - before;
        tasks.into_iter().for_each(block_on);
        counted
    };
    spawn(1_000);
    let count = 10_000;
    let counted = spawn(count);
    // One a task, one a parcel of 32, one for each block of 31 parcels, and the list of tasks that are not published
    // yet.
    assert!(
        counted <= count + count.div_ceil(32) + count / 992 + 64,
        "{counted}"
    );
}

#[cfg(terrace_count)]
#[test]
fn a_spawn_on_a_worker_adds_one_rmw_and_one_fence() {
    let _watchdog = watchdog();
    use terrace_sync::count::Counts;

    let executor = Builder::new().workers(1).try_build_static().unwrap();
    let counts = block_on(executor.spawn(async move {
        rounds(executor, 4).await;
        let before = Counts::now();
        rounds(executor, ROUNDS).await;
        Counts::now() - before
    }));
    let tasks = (ROUND * ROUNDS) as u64;
    // The pop from the ring; each round's own turn, and every 61st turn's look at the injector, are the rest.
    assert!(counts.rmws <= tasks + tasks / 20, "{counts:?}");
    assert!(counts.fences <= tasks + tasks / 20, "{counts:?}");
    assert_eq!(counts.locks, 0, "{counts:?}");
}

#[cfg(terrace_count)]
const YIELDS: usize = 1_000;

/// The counts of one task among many, while all of them yield.
#[cfg(terrace_count)]
async fn yields(executor: &'static StaticExecutor) -> terrace_sync::count::Counts {
    use terrace_sync::count::Counts;

    for _ in 1..ROUND {
        executor
            .spawn(async {
                for _ in 0..2 * YIELDS {
                    Yields(1).await;
                }
            })
            .detach();
    }
    Yields(1).await;
    let before = Counts::now();
    for _ in 0..YIELDS {
        Yields(1).await;
    }
    Counts::now() - before
}

/// The tasks take turns: each turn is a pop from the ring, with no publish.
#[cfg(terrace_count)]
fn assert_turns_are_cheap(counts: &terrace_sync::count::Counts) {
    let yields = (ROUND * YIELDS) as u64;
    assert!(counts.rmws >= yields, "they took turns: {counts:?}");
    assert!(counts.rmws <= yields + yields / 20, "{counts:?}");
    // Every 61st turn may look at other sources first.
    assert!(counts.fences <= yields / 20, "{counts:?}");
    assert_eq!(counts.locks, 0, "{counts:?}");
}

#[cfg(terrace_count)]
#[test]
fn a_yield_on_a_worker_adds_one_rmw_and_no_fence() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(1).try_build_static().unwrap();
    assert_turns_are_cheap(&block_on(executor.spawn(yields(executor))));
}

#[cfg(terrace_count)]
#[test]
fn a_yield_in_a_run_adds_one_rmw_and_no_fence() {
    let _watchdog = watchdog();
    static EXECUTOR: StaticExecutor = StaticExecutor::new();
    assert_turns_are_cheap(&block_on(EXECUTOR.run(EXECUTOR.spawn(yields(&EXECUTOR)))));
}

/// The same in a `run` future: it holds a ring like a worker does.
#[test]
fn a_spawn_in_a_run_allocates_once() {
    let _watchdog = watchdog();
    static EXECUTOR: StaticExecutor = StaticExecutor::new();
    let counted = block_on(EXECUTOR.run(EXECUTOR.spawn(async {
        rounds(&EXECUTOR, 4).await;
        let before = allocations();
        rounds(&EXECUTOR, ROUNDS).await;
        allocations() - before
    })));
    // A poll of `run` ends after 200 tasks, and a sleep and a wake now and then.
    assert!(counted <= ROUND * ROUNDS + ROUNDS, "{counted}");
}

#[cfg(terrace_count)]
#[test]
fn a_spawn_in_a_run_takes_no_lock() {
    let _watchdog = watchdog();
    use terrace_sync::count::Counts;

    static EXECUTOR: StaticExecutor = StaticExecutor::new();
    let counts = block_on(EXECUTOR.run(EXECUTOR.spawn(async {
        rounds(&EXECUTOR, 4).await;
        let before = Counts::now();
        rounds(&EXECUTOR, ROUNDS).await;
        Counts::now() - before
    })));
    let tasks = (ROUND * ROUNDS) as u64;
    // The pop from the ring, as on a worker; every 200 tasks a poll ends.
    assert!(counts.rmws <= tasks + tasks / 20, "{counts:?}");
    assert!(counts.fences <= tasks + tasks / 20, "{counts:?}");
    assert_eq!(counts.locks, 0, "{counts:?}");
}
