//! The costs of a spawn: allocations, and with `--cfg terrace_count` our own read-modify-writes, fences and locks.
//! Amortised over many spawns after a warm-up. Two cores hide contention; counts do not.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use terrace_executor::{Builder, StaticExecutor, block_on};
use terrace_local::settle::{IS_GLIBC, POLLS};
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

/// Eager children of one turn, all done at once.
async fn eager_children(executor: &'static StaticExecutor) {
    for child in 0..ROUND {
        let task = executor.spawn_eager(async move { child });
        assert_eq!(task.await, child);
    }
}

/// A chain of eager children that are done at once, once the thread expects it: no allocation, and nothing of our own.
async fn a_chain_costs_nothing(executor: &'static StaticExecutor) {
    use terrace_sync::count::Counts;

    eager_children(executor).await;
    Yields(1).await;
    for round in 0..ROUNDS {
        let counts = Counts::now();
        let before = allocations();
        eager_children(executor).await;
        let counted = allocations() - before;
        let counts = Counts::now() - counts;
        assert_eq!(counted, 0, "round {round}");
        assert_eq!(counts, Counts::default(), "round {round}");
        Yields(1).await;
    }
}

#[test]
fn a_chain_of_eager_children_on_a_worker_allocates_nothing() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(1).try_build_static().unwrap();
    block_on(executor.spawn(a_chain_costs_nothing(executor)));
}

#[test]
fn a_chain_of_eager_children_in_a_run_allocates_nothing() {
    let _watchdog = watchdog();
    static EXECUTOR: StaticExecutor = StaticExecutor::new();
    block_on(EXECUTOR.run(EXECUTOR.spawn(a_chain_costs_nothing(&EXECUTOR))));
}

/// On the executor that can be dropped: it counts no reference for a child that is done at once.
#[test]
fn a_chain_of_eager_children_on_the_droppable_kind_allocates_nothing() {
    let _watchdog = watchdog();
    let executor = std::sync::Arc::new(Builder::new().workers(1).build());
    let parent = {
        let executor = executor.clone();
        async move {
            for round in 0..ROUNDS {
                let before = allocations();
                for child in 0..ROUND {
                    let task = executor.spawn_eager(async move { [child; 20] });
                    assert_eq!(task.await, [child; 20]);
                }
                assert!(
                    allocations() == before || round == 0,
                    "round {round}: {}",
                    allocations() - before
                );
                Yields(1).await;
            }
        }
    };
    block_on(executor.spawn(parent));
}

/// On a thread without a seat, which may be a worker of another executor, and in a `tick`. Two read-modify-writes count a child.
#[test]
fn a_chain_of_eager_children_elsewhere_allocates_nothing() {
    use terrace_sync::count::Counts;

    /// One turn of a thread.
    fn chain(executor: &'static StaticExecutor) {
        let spawn = |child: usize| executor.spawn_eager(async move { child }).try_take();
        for child in 0..10 {
            assert_eq!(spawn(child), Some(child));
        }
        let (before, counts) = (allocations(), Counts::now());
        for child in 0..ROUND {
            assert_eq!(spawn(child), Some(child));
        }
        let counts = Counts::now() - counts;
        assert_eq!(allocations(), before);
        if cfg!(terrace_count) {
            assert_eq!(counts.rmws, 2 * ROUND as u64);
        }
        assert_eq!(
            (counts.fences, counts.heavy_fences, counts.locks),
            (0, 0, 0)
        );
        // Without its memory a child allocates once.
        terrace_local::cells::give_back();
        assert_eq!(spawn(1), Some(1));
        assert_eq!(allocations(), before + 1);
    }

    let _watchdog = watchdog();
    let workers = Builder::new().workers(1).try_build_static().unwrap();
    let ticked = Builder::new().try_build_static().unwrap();
    for executor in [workers, ticked] {
        thread::spawn(|| chain(executor)).join().unwrap();
    }
    block_on(workers.spawn(async { chain(ticked) }));
    let task = ticked.spawn(async { chain(ticked) });
    // The thread of another test may be faster, which waits.
    ticked.try_tick();
    block_on(task);
}

/// A thread without a seat gives the memory back when it finds nothing to do, and when it waits.
#[test]
fn an_idle_thread_elsewhere_keeps_no_memory() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(1).try_build_static().unwrap();
    let idle: [fn(&'static StaticExecutor); 2] = [
        |executor| while executor.try_tick() {},
        |executor| {
            let sleeps = async {
                // The thread that waits has fallen asleep by then, sooner or later.
                thread::sleep(Duration::from_millis(1));
            };
            block_on(executor.spawn(sleeps));
        },
    ];
    for idle in idle {
        let first_of_many = || {
            idle(executor);
            let before = allocations();
            drop(executor.spawn_eager(async {}));
            let counted = allocations() - before;
            for _ in 0..10 {
                drop(executor.spawn_eager(async {}));
            }
            counted
        };
        first_of_many();
        while first_of_many() != 1 {}
    }
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
    after(1);
    let many = POLLS as u32;
    let settles = usize::from(IS_GLIBC);
    for (polls, due) in [(1, 0), (many - 3, 0), (1, 1), (10, 0), (3 * many, 2)] {
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

/// Allocations of pending eager children, each after `before` others that were done at once.
fn pending_after(before: usize, child: impl Future<Output = ()> + Send + Copy + 'static) -> usize {
    let executor = Builder::new().workers(1).try_build_static().unwrap();
    block_on(executor.spawn(async move {
        let mut counted = 0;
        for round in 0..2 * ROUNDS {
            for _ in 0..before {
                executor.spawn_eager(async {}).await;
            }
            let at = allocations();
            let task = executor.spawn_eager(child);
            if round >= ROUNDS {
                counted += allocations() - at;
            }
            assert!(!task.is_finished());
            task.await;
        }
        counted
    }))
}

/// Pends once, and wakes itself; it may clone its waker, too.
#[derive(Clone, Copy)]
struct Once<const CLONES: bool>(bool);

impl<const CLONES: bool> Future for Once<CLONES> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.0 {
            return Poll::Ready(());
        }
        self.0 = true;
        if CLONES {
            drop(context.waker().clone());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// The child's push may find the pool unattended. It then calls the watch, whose list grows, once.
fn assert_counted(counted: usize, expected: usize) {
    assert!(
        (expected..=expected + 1).contains(&counted),
        "{counted} allocations, not {expected}"
    );
}

/// A pending child that the thread does not expect to end takes its cell. Else it takes its memory, its cell and a relay.
#[test]
fn a_pending_eager_child_allocates_up_to_three_times() {
    let _watchdog = watchdog();
    for before in [0, 1, 3] {
        assert_counted(pending_after(before, Once::<false>(false)), ROUNDS);
        assert_counted(pending_after(before, Once::<true>(false)), ROUNDS);
    }
    // The memory is that of the child before it, so there are the cell and the relay.
    assert_counted(pending_after(4, Once::<false>(false)), 2 * ROUNDS);
    assert_counted(pending_after(10, Once::<true>(false)), 2 * ROUNDS);
    // Handles of those before keep theirs.
    let executor = Builder::new().workers(1).try_build_static().unwrap();
    let counted = block_on(executor.spawn(async move {
        let kept: Vec<_> = (0..10)
            .map(|n| executor.spawn_eager(async move { n }))
            .collect();
        let at = allocations();
        let task = executor.spawn_eager(Once::<true>(false));
        let counted = allocations() - at;
        task.await;
        drop(kept);
        counted
    }));
    assert_counted(counted, 3);
}

/// A worker with nothing to do gives the memory back.
#[test]
fn an_idle_worker_keeps_no_memory() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(1).try_build_static().unwrap();
    let first_of_many = || {
        block_on(executor.spawn(async move {
            let before = allocations();
            executor.spawn_eager(async {}).await;
            let counted = allocations() - before;
            eager_children(executor).await;
            counted
        }))
    };
    first_of_many();
    // The worker has a moment to fall asleep, sooner or later.
    while first_of_many() != 1 {
        thread::sleep(Duration::from_millis(1));
    }
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
fn a_remote_batch_allocates_once_a_task_and_keeps_its_parcels() {
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
    // One a task, at most one a parcel of 32, and two for each 31 parcels: blocks of the queues of full and of empty ones.
    assert!(
        counted <= count + count.div_ceil(32) + 2 * count / 992 + 64,
        "{counted}"
    );
    // With few parcels on the way, each comes back before the next batch.
    let (rounds, count) = (31, 320);
    let counted: usize = (0..rounds).map(|_| spawn(count)).sum();
    assert!(counted <= rounds * (count + 1), "{counted}");
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
