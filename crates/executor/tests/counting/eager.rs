//! Eager children.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use terrace_executor::{Builder, StaticExecutor, block_on};
use terrace_testing::{Yields, allocations, least, watchdog};

use crate::{ROUND, ROUNDS};

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
    // Of no builder: a thread of another test that waits does not drive it, and its threads here look for no such pool.
    static TICKED: StaticExecutor = StaticExecutor::new();
    let ticked = &TICKED;
    for executor in [workers, ticked] {
        thread::spawn(|| chain(executor)).join().unwrap();
    }
    block_on(workers.spawn(async { chain(ticked) }));
    let task = ticked.spawn(async { chain(ticked) });
    assert!(ticked.try_tick());
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

/// The child's push may find the pool unattended. It then calls the watch, whose two lists grow, mostly once each in the life of the
/// process.
fn assert_counted(count: impl FnMut() -> usize, expected: usize) {
    assert_eq!(least(count), expected);
}

/// A pending child that the thread does not expect to end takes its cell. Else it takes its memory, its cell and a relay.
#[test]
fn a_pending_eager_child_allocates_up_to_three_times() {
    let _watchdog = watchdog();
    for before in [0, 1, 3] {
        assert_counted(|| pending_after(before, Once::<false>(false)), ROUNDS);
        assert_counted(|| pending_after(before, Once::<true>(false)), ROUNDS);
    }
    // The memory is that of the child before it, so there are the cell and the relay.
    assert_counted(|| pending_after(4, Once::<false>(false)), 2 * ROUNDS);
    assert_counted(|| pending_after(10, Once::<true>(false)), 2 * ROUNDS);
    // Handles of those before keep theirs.
    let executor = Builder::new().workers(1).try_build_static().unwrap();
    let count = || {
        block_on(executor.spawn(async move {
            let kept: Vec<_> = (0..10)
                .map(|n| executor.spawn_eager(async move { n }))
                .collect();
            let at = allocations();
            let task = executor.spawn_eager(Once::<true>(false));
            let counted = allocations() - at;
            task.await;
            drop(kept);
            counted
        }))
    };
    assert_counted(count, 3);
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
