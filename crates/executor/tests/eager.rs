//! Eager children of a pool: the first poll on the thread that spawns.

use std::future::{Future, pending, poll_fn, ready};
use std::panic::panic_any;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::task::Poll;
use std::thread;

use terrace_executor::{
    Builder, Current, Executor, Lane, Shutdown, StaticExecutor, block_on, current,
};
use terrace_testing::{Drops, WakerSlot, Yields, on_stack_of, poll_once, text, text_of, watchdog};

fn pool(workers: usize) -> Executor<'static> {
    Builder::new().workers(workers).build()
}

#[test]
fn a_child_that_is_done_at_once_sees_no_queue() {
    let _watchdog = watchdog();
    let word = String::from("borrowed");
    let executor = Executor::new();
    let mut task = executor.spawn_eager(async { word.len() });
    assert!(task.is_finished() && executor.is_empty());
    assert_eq!(task.try_take(), Some(8));
    assert!(!executor.try_tick());
    executor.spawn_eager(async {}).detach();
    drop(executor.spawn_eager(async { word.clone() }));
    assert_eq!(block_on(executor.spawn_eager(ready(1)).cancel()), Some(1));
    assert!(executor.is_empty() && !executor.try_tick());
    static STATIC: StaticExecutor = StaticExecutor::new();
    assert_eq!(
        STATIC.spawn_eager(ready([7; 1000])).try_take(),
        Some([7; 1000])
    );
    assert!(STATIC.is_empty() && !STATIC.try_tick());
}

#[test]
fn a_pending_child_is_as_any_other() {
    let _watchdog = watchdog();
    for workers in [0, 1, 2] {
        let executor = pool(workers);
        let slot = WakerSlot::default();
        let polls = Arc::new(AtomicU32::new(0));
        let task = executor.spawn_eager({
            let (slot, polls) = (slot.clone(), polls.clone());
            poll_fn(move |context| {
                if polls.fetch_add(1, Ordering::Relaxed) == 2 {
                    return Poll::Ready(());
                }
                slot.leave(context);
                Poll::Pending
            })
        });
        assert_eq!(polls.load(Ordering::Relaxed), 1);
        slot.waker().wake();
        while polls.load(Ordering::Relaxed) < 2 {
            // Without workers a waiting thread of another test may be faster.
            if workers > 0 || !executor.try_tick() {
                thread::yield_now();
            }
        }
        let waker = loop {
            if let Some(waker) = slot.take() {
                break waker;
            }
        };
        thread::spawn(|| waker.wake()).join().expect("wakes");
        block_on(executor.run(task));
        assert_eq!(polls.load(Ordering::Relaxed), 3);
    }
}

/// The values of `current` in a parent, in its eager child, in the child's second poll, and in the parent afterwards.
fn seen(executor: &'static StaticExecutor, lane: Lane) -> [Option<Current>; 3] {
    let parent = async move {
        let before = current();
        let mut child = executor.spawn_eager(async { current() });
        let inside = child.try_take().expect("polled");
        [before, inside, current()]
    };
    block_on(executor.spawn_on(lane, parent))
}

#[test]
fn the_child_runs_on_its_parents_worker_and_its_own_lane() {
    let _watchdog = watchdog();
    let executor = pool(2).leak();
    for lane in [Lane::Normal, Lane::High, Lane::Background] {
        let [before, inside, after] = seen(executor, lane);
        assert_eq!(before, after);
        let (before, inside) = (before.expect("a worker"), inside.expect("a worker"));
        assert_eq!(before.lane(), lane);
        assert_eq!(inside.lane(), Lane::Normal);
        assert_eq!(inside.worker(), before.worker());
        assert_eq!(inside.executor(), before.executor());
        // Also where so many have ended at once that it gets no cell before.
        let lanes = block_on(executor.spawn_on(lane, async move {
            let lane = || executor.spawn_eager(async { current().map(|current| current.lane()) });
            [(); 8].map(|()| lane().try_take())
        }));
        assert_eq!(lanes, [Some(Some(Lane::Normal)); 8]);
    }
}

#[test]
fn elsewhere_the_child_is_polled_by_a_visitor() {
    let _watchdog = watchdog();
    let executor = pool(1).leak();
    let visitor = |current: Option<Option<Current>>| {
        let current = current.flatten();
        current
            .filter(Current::is_visitor)
            .map(|own| own.executor())
    };
    // A thread that is no worker.
    let inside = executor.spawn_eager(async { current() }).try_take();
    assert_eq!(visitor(inside), Some(executor.id()));
    // A worker of another pool.
    let other = pool(1).leak();
    let [before, inside, after] = block_on(other.spawn(async {
        let before = current();
        let inside = executor.spawn_eager(async { current() }).try_take();
        [before, inside.expect("polled"), current()]
    }));
    assert!(before.is_some_and(|current| current.executor() == other.id()));
    assert_eq!(visitor(Some(inside)), Some(executor.id()));
    assert_eq!(before, after);
    // A `run` future.
    let threadless: &'static StaticExecutor = Executor::new().leak();
    let (before, inside) = block_on(threadless.run(async {
        (
            current(),
            threadless.spawn_eager(async { current() }).try_take(),
        )
    }));
    assert_eq!(inside, Some(before));
}

#[test]
fn a_panic_is_the_childs() {
    let _watchdog = watchdog();
    let (sender, panics) = channel();
    let executor = Builder::new()
        .workers(1)
        .panic_handler(move |payload| drop(sender.send(text(&*payload).to_owned())))
        .build();
    let executor = executor.leak();
    let spawn = |message: &'static str| executor.spawn_eager(async move { panic_any(message) });
    let task = spawn("taken");
    assert!(task.is_finished());
    assert_eq!(text_of(|| block_on::<()>(task)), "taken");
    drop(spawn("dropped"));
    assert_eq!(panics.recv().expect("handled"), "dropped");
    block_on(executor.spawn(async move { spawn("detached").detach() }));
    assert_eq!(panics.recv().expect("handled"), "detached");
    assert_eq!(block_on(executor.spawn(ready(1))), 1);
}

/// Pending children go with their executor, and so do those that were cancelled.
#[test]
fn each_future_is_dropped_once() {
    let _watchdog = watchdog();
    for workers in [0, 2] {
        let drops = Drops::new();
        let executor = pool(workers);
        let spawn = || executor.spawn_eager(drops.never());
        spawn().detach();
        assert_eq!(block_on(executor.run(spawn().cancel())), None);
        assert_eq!(drops.count(), 1);
        let task = spawn();
        drop(executor);
        while workers == 0 && drops.count() < 3 {
            // The thread of another test was at the end of the cancelled child, and drops the others.
            thread::yield_now();
        }
        assert_eq!(drops.count(), 3);
        assert_eq!(poll_once(&mut task.fallible()), Poll::Ready(None));
    }
}

fn chain(
    executor: &'static StaticExecutor,
    left: u32,
) -> Pin<Box<dyn Future<Output = u32> + Send>> {
    Box::pin(async move {
        if left == 0 {
            return 0;
        }
        executor.spawn_eager(chain(executor, left - 1)).await + 1
    })
}

#[test]
fn a_million_deep_on_a_small_stack() {
    let _watchdog = watchdog();
    // ThreadSanitizer takes longer than the watchdog for a million.
    const DEEP: u32 = if cfg!(terrace_tsan) {
        100_000
    } else {
        1_000_000
    };
    on_stack_of(256 << 10, || {
        let executor = Executor::new().leak();
        let task = executor.spawn_eager(chain(executor, DEEP));
        assert_eq!(block_on(executor.run(task)), DEEP);
    });
}

/// On workers, a thousand at a time: their stacks are the system's.
#[test]
fn chains_on_workers() {
    let _watchdog = watchdog();
    let executor = pool(2).leak();
    let tasks: Vec<_> = (0..20)
        .map(|_| executor.spawn(chain(executor, 10_000)))
        .collect();
    for task in tasks {
        assert_eq!(block_on(task), 10_000);
    }
    assert!(executor.is_empty());
}

/// A worker, or a `run` future, whose task spawns and awaits eager children without end still runs others.
#[test]
fn others_have_their_turn() {
    let _watchdog = watchdog();
    for workers in [0, 1] {
        let executor = pool(workers).leak();
        let ends = Arc::new(AtomicBool::new(false));
        let parent = executor.spawn({
            let ends = ends.clone();
            async move {
                while !ends.load(Ordering::Relaxed) {
                    executor.spawn_eager(ready(())).await;
                }
            }
        });
        let other = executor.spawn(async move { ends.store(true, Ordering::Relaxed) });
        block_on(executor.run(async {
            other.await;
            parent.await;
        }));
    }
}

#[test]
fn a_turn_of_less_than_two_hundred_queues_none() {
    let _watchdog = watchdog();
    let executor = pool(1).leak();
    for _ in 0..10 {
        block_on(executor.spawn(async move {
            for _ in 0..200 {
                assert!(executor.spawn_eager(ready(())).is_finished());
            }
            let queued = executor.spawn_eager(ready(()));
            assert!(!queued.is_finished());
            queued.await;
        }));
    }
}

/// How many of 400 eager children, all pending, were polled as they were spawned.
fn polled_of_pending(executor: &'static StaticExecutor) -> usize {
    let polled = Arc::new(AtomicUsize::new(0));
    for _ in 0..400 {
        let polled = polled.clone();
        let child = async move {
            polled.fetch_add(1, Ordering::Relaxed);
            pending::<()>().await;
        };
        drop(executor.spawn_eager(child));
    }
    polled.load(Ordering::Relaxed)
}

/// A turn that starts many children that are pending leaves the rest to other threads; the next turn begins anew. A thread in no turn
/// goes on.
#[test]
fn a_turn_starts_some_pending_children() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(1).try_build_static().unwrap();
    let turns = async {
        // After some that ended, which the thread expects the next ones to do, too.
        for _ in 0..8 {
            assert!(executor.spawn_eager(ready(())).is_finished());
        }
        let first = polled_of_pending(executor);
        Yields(1).await;
        (first, polled_of_pending(executor))
    };
    assert_eq!(block_on(executor.spawn(turns)), (128, 128));
    assert!(polled_of_pending(executor) >= 398);
    assert!(polled_of_pending(executor) >= 398);
}

/// Each tick is a turn of its own, also where one poll of a future ticks twice.
#[test]
fn a_tick_of_less_than_two_hundred_queues_none() {
    let _watchdog = watchdog();
    // Its worker never begins. Without one, a thread that waits in another test would run the tasks.
    let (executor, _worker) = Builder::new().workers(1).build_hosted();
    let executor: &'static Executor<'_> = Box::leak(Box::new(executor));
    let turns = [(); 8].map(|()| {
        executor.spawn(async {
            let starts = || executor.spawn_eager(ready(())).is_finished();
            (0..150).filter(|_| starts()).count()
        })
    });
    (0..4).for_each(|_| assert!(executor.try_tick()));
    block_on(async {
        for _ in 0..4 {
            executor.tick().await;
        }
    });
    let started = turns.map(poll_once);
    assert_eq!(started, [const { Poll::Ready(150) }; 8]);
}

/// Children that yield in their first poll, spawned by workers and from outside, beside tasks that steal them.
#[test]
fn children_that_yield_move_on() {
    let _watchdog = watchdog();
    let executor = pool(2).leak();
    let parents: Vec<_> = (0..50_u32)
        .map(|parent| {
            executor.spawn_eager(async move {
                let children: Vec<_> = (0..100_u32)
                    .map(|child| {
                        executor.spawn_eager(async move {
                            for _ in 0..child % 3 {
                                Yields(1).await;
                            }
                            parent * child
                        })
                    })
                    .collect();
                let mut sum = 0;
                for child in children {
                    sum += child.await;
                }
                sum
            })
        })
        .collect();
    let sum: u32 = parents.into_iter().map(block_on).sum();
    assert_eq!(sum, (0..50).sum::<u32>() * (0..100).sum::<u32>());
    assert!(executor.is_empty());
}

/// A child shuts its pool down in its first poll, before it ends or waits. The poll goes on, and so does the pool, without threads.
async fn shuts_down_in_the_first_poll(executor: &'static Executor<'static>, before: usize) {
    for pends in [false, true] {
        for _ in 0..before {
            executor.spawn_eager(ready(())).detach();
        }
        let drops = Drops::new();
        let kept = drops.value();
        let mut task = executor.spawn_eager(async move {
            let _kept = kept;
            executor
                .shutdown(Shutdown::DropQueued, None)
                .expect("without a limit");
            if pends {
                pending::<()>().await;
            }
        });
        assert_eq!(task.try_take(), (!pends).then_some(()));
        assert_eq!(drops.count(), usize::from(!pends));
        drop(task);
        while drops.count() == 0 {
            executor.try_tick();
        }
        assert_eq!(executor.spawn_eager(ready(1)).try_take(), Some(1));
    }
}

#[test]
fn the_pool_is_shut_down_in_the_first_poll() {
    let _watchdog = watchdog();
    for workers in [0, 1, 2] {
        for before in [0, 10] {
            let outside: &'static Executor<'static> = Box::leak(Box::new(pool(workers)));
            block_on(shuts_down_in_the_first_poll(outside, before));
            let inside: &'static Executor<'static> = Box::leak(Box::new(pool(workers)));
            block_on(inside.run(inside.spawn(shuts_down_in_the_first_poll(inside, before))));
        }
    }
}

/// Eager children, most of them done at once: by the ways to end of a thread that expects an end, and of one that does not.
async fn children_of_all_ends(executor: Arc<Executor<'static>>) {
    struct PanicsInDrop;

    impl Drop for PanicsInDrop {
        fn drop(&mut self) {
            panic!("in a destructor");
        }
    }

    for _ in 0..20 {
        executor.spawn_eager(async {}).await;
    }
    let panics = || executor.spawn_eager(async { panic!("in a first poll") });
    let panics_later = || {
        let bomb = PanicsInDrop;
        executor.spawn_eager(poll_fn(move |_| {
            let _kept = &bomb;
            Poll::Ready(())
        }))
    };
    for _ in 0..3 {
        panics().detach();
        panics_later().detach();
        drop(executor.spawn_eager(async { PanicsInDrop }));
        for _ in 0..5 {
            executor.spawn_eager(Yields(1)).await;
            executor.spawn_eager(async {}).await;
        }
        for _ in 0..20 {
            executor.spawn_eager(async { [1; 9] }).detach();
        }
        executor.spawn_eager(pending::<()>()).cancel().await;
    }
}

/// Each is counted once as it begins and once as it ends.
#[test]
fn every_end_is_counted_once() {
    let _watchdog = watchdog();
    for lane in [Lane::Normal, Lane::High, Lane::Background] {
        for workers in [0, 1] {
            let executor = Arc::new(pool(workers));
            let on_lane = executor.spawn_on(lane, children_of_all_ends(executor.clone()));
            let children = executor.spawn(children_of_all_ends(executor.clone()));
            block_on(executor.run(async {
                on_lane.await;
                children.await;
                children_of_all_ends(executor.clone()).await;
            }));
            // Elsewhere: on a thread without a seat.
            if workers > 0 {
                block_on(children_of_all_ends(executor.clone()));
            }
            assert!(executor.wait_idle(None).is_ok());
            let metrics = executor.metrics();
            let rounds = if workers > 0 { 4 } else { 3 };
            let children = 20 + 3 * (3 + 2 * 5 + 20 + 1);
            assert_eq!(metrics.num_alive_tasks(), 0);
            assert_eq!(metrics.spawned_tasks_count(), 2 + rounds * children);
        }
    }
}
