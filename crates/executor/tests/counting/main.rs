//! The costs of a spawn: allocations, and with `--cfg terrace_count` our own read-modify-writes, fences and locks.
//! Amortised over many spawns after a warm-up. Two cores hide contention; counts do not. With `inspect` each task has a record besides.
#![cfg(not(feature = "inspect"))]

mod eager;

use std::task::{Context, Waker};
use std::thread;

use terrace_executor::{Builder, StaticExecutor, block_on};
use terrace_local::settle::{IS_GLIBC, POLLS};
use terrace_testing::{CountingAllocator, Yields, allocations, least, watchdog};

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
    let count = || {
        block_on(executor.spawn(async move {
            rounds(executor, 4).await;
            let before = allocations();
            rounds(executor, ROUNDS).await;
            allocations() - before
        }))
    };
    // If the worker stands still for long, the watch looks at the pool, and is told of it anew, at first by an allocation.
    assert_eq!(least(count), ROUND * ROUNDS);
}

#[test]
fn a_remote_spawn_allocates_once() {
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
    // One a task, two for each ring by which the injector grows to hold them all, and the last task with its waiter's waker.
    assert!(counted <= count + 2 * 10 + 4, "{counted}");
}

/// The spawning thread counts the task in and pushes it. A worker pops it.
#[cfg(terrace_count)]
#[test]
fn a_remote_spawn_adds_two_rmws_and_one_fence() {
    let _watchdog = watchdog();
    use terrace_sync::count::Counts;

    let executor = Builder::new().workers(1).try_build_static().unwrap();
    let batch = || (0..25).for_each(|_| executor.spawn(async {}).detach());
    (0..40).for_each(|_| batch());
    // The least of several counts: the worker sleeps now and then, and the thread wakes it.
    let least = (0..200).map(|_| Counts::of(batch)).min_by_key(|c| c.rmws);
    let least = least.unwrap();
    assert!(least.rmws <= 2 * 25 && least.fences <= 25, "{least:?}");
}

#[test]
fn a_remote_batch_allocates_once_a_task() {
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
    // One a task, and two for each ring by which the injector grows to hold them all: nine of them, from 32 slots to 8,192.
    const GROWTH: usize = 2 * 9;
    assert!(counted <= count + GROWTH, "{counted}");
    // It does not grow with each batch.
    let (rounds, count) = (31, 320);
    let counted: usize = (0..rounds).map(|_| spawn(count)).sum();
    assert!(counted <= rounds * count + GROWTH, "{counted}");
}

/// One allocation where a `run` sleeps after many polls, or goes on after many. None after few.
#[test]
fn a_run_lets_the_allocator_settle() {
    let _watchdog = watchdog();
    static EXECUTOR: StaticExecutor = StaticExecutor::new();
    let mut run = std::pin::pin!(EXECUTOR.run(std::future::pending::<()>()));
    let context = &mut Context::from_waker(Waker::noop());
    // Allocations of the driver, up to its sleep, where a task is polled so often.
    let mut after = |polls: u32| {
        let task = EXECUTOR.spawn(Yields(polls - 1));
        let before = allocations();
        // It sleeps in the poll that finds no task, which is at last the one after the task's end.
        while !task.is_finished() {
            assert!(run.as_mut().poll(context).is_pending());
        }
        assert!(run.as_mut().poll(context).is_pending());
        allocations() - before
    };
    // The first yield of all makes the slots of the driver's ring.
    after(2);
    let many = POLLS as u32;
    let settles = usize::from(IS_GLIBC);
    for (polls, due) in [(1, 0), (many - 4, 0), (1, 1), (10, 0), (3 * many, 2)] {
        assert_eq!(after(polls), due * settles, "{polls} polls");
    }
}

/// As for a `run`, before a worker sleeps.
#[test]
fn a_worker_lets_the_allocator_settle() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(1).try_build_static().unwrap();
    let parks = || executor.metrics().workers()[0].park_count();
    // Allocations of the worker in a sleep after so many polls.
    let sleep_after = |polls| {
        let (before, at) = block_on(executor.spawn(async move {
            Yields(polls).await;
            let at = parks();
            (allocations(), at)
        }));
        while parks() == at {
            thread::yield_now();
        }
        block_on(executor.spawn(async { allocations() })) - before
    };
    sleep_after(1);
    for round in 0..3 {
        assert_eq!(sleep_after(1), 0, "round {round}");
        let due = usize::from(IS_GLIBC);
        assert_eq!(sleep_after(POLLS as u32), due, "round {round}");
    }
}

#[cfg(terrace_count)]
#[test]
fn a_spawn_on_a_worker_adds_one_rmw_and_one_fence() {
    let _watchdog = watchdog();
    use terrace_sync::count::Counts;

    let executor = Builder::new().workers(1).try_build_static().unwrap();
    let count = |_| {
        block_on(executor.spawn(async move {
            rounds(executor, 4).await;
            let before = Counts::now();
            rounds(executor, ROUNDS).await;
            Counts::now() - before
        }))
    };
    // If the worker stands still for long, the watch looks at the pool, and is told of it anew under a lock.
    let counts = [(); 3].map(count);
    let counts = counts.iter().min_by_key(|counts| counts.locks).unwrap();
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
