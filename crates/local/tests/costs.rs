//! The costs of the hot paths: allocations here, and with `--cfg terrace_count` all atomics, fences and locks.

use std::cell::Cell;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::thread;

use terrace_local::settle::{IS_GLIBC, POLLS};
use terrace_local::{LocalExecutor, StaticLocalExecutor, TaskGroup};
use terrace_sync::count::Counts;
use terrace_testing::{CountingAllocator, allocations, on_stack_of, watchdog};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Rounds of a measurement, after as many of warm-up.
const ROUNDS: u64 = 10_000;

/// Allocations and other costs of all rounds.
fn measure(round: impl FnMut()) -> (u64, Counts) {
    measure_rounds(ROUNDS, round)
}

/// As `measure`, of so many rounds.
fn measure_rounds(rounds: u64, mut round: impl FnMut()) -> (u64, Counts) {
    for _ in 0..rounds {
        round();
    }
    let before = allocations();
    let counts = Counts::of(|| {
        for _ in 0..rounds {
            round();
        }
    });
    ((allocations() - before) as u64, counts)
}

fn leaked() -> &'static StaticLocalExecutor {
    Box::leak(Box::default())
}

#[test]
fn spawn_run_detach_on_the_static_kind() {
    let _watchdog = watchdog();
    let executor = leaked();
    let (allocations, counts) = measure(|| {
        executor.spawn(async {}).detach();
        assert!(executor.try_tick());
    });
    assert_eq!(allocations, ROUNDS, "one a spawn");
    assert_eq!(counts, Counts::default(), "nothing of our own");
}

#[test]
fn spawn_run_detach_on_the_droppable_kind() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let (allocations, counts) = measure(|| {
        executor.spawn(async {}).detach();
        assert!(executor.try_tick());
    });
    assert_eq!(allocations, ROUNDS, "one a spawn");
    assert_eq!(
        counts,
        Counts::default(),
        "nothing of our own, and no reference counted, see `tests/kinds.rs`"
    );
}

/// Never ends, and wakes itself through a clone of its waker in each poll.
struct Ping;

impl Future for Ping {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

#[test]
fn a_wake_on_the_owner_adds_nothing() {
    let _watchdog = watchdog();
    let executor = leaked();
    executor.spawn(Ping).detach();
    let (allocations, counts) = measure(|| assert!(executor.try_tick()));
    assert_eq!(allocations, 0);
    assert_eq!(counts, Counts::default());
}

/// A task's first `Pending` allocates nothing, once the lists have grown.
#[test]
fn the_first_pending_allocates_nothing() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let (allocations, counts) = measure(|| {
        let task = executor.spawn(std::future::pending::<()>());
        assert!(executor.try_tick());
        drop(task);
        assert!(executor.try_tick());
    });
    assert_eq!(allocations, ROUNDS, "one a spawn");
    assert_eq!(counts, Counts::default());
    let executor = leaked();
    let (allocations, counts) = measure(|| {
        let task = executor.spawn(std::future::pending::<()>());
        assert!(executor.try_tick());
        drop(task);
        assert!(executor.try_tick());
    });
    assert_eq!(allocations, ROUNDS, "one a spawn");
    assert_eq!(counts, Counts::default());
}

/// Counts of so many read-modify-writes, in a counting build, and no other costs.
fn rmws(rmws: u64) -> Counts {
    let mut counts = Counts::default();
    if cfg!(terrace_count) {
        counts.rmws = rmws;
    }
    counts
}

/// A task with a waiting handle hands over its outcome by one read-modify-write. If it has to wake the awaiter, it
/// gives its reference back by another.
#[test]
fn a_task_that_is_waited_for() {
    let _watchdog = watchdog();
    let executor = leaked();
    let (allocations, counts) = measure(|| {
        let mut task = executor.spawn(async { 42 });
        assert!(executor.try_tick());
        assert_eq!(task.try_take(), Some(42));
    });
    assert_eq!((allocations, counts), (ROUNDS, rmws(ROUNDS)));
    let (allocations, counts) = measure(|| {
        let mut task = executor.spawn(async { 42 });
        let waker = &mut Context::from_waker(Waker::noop());
        for _ in 0..3 {
            assert!(Pin::new(&mut task).poll(waker).is_pending());
        }
        assert!(executor.try_tick());
        assert!(task.is_finished());
        assert_eq!(Pin::new(&mut task).poll(waker), Poll::Ready(42));
    });
    assert_eq!((allocations, counts), (ROUNDS, rmws(2 * ROUNDS)));
    // Awaited when it is pending already.
    let (allocations, counts) = measure(|| {
        let mut left = false;
        let mut task = executor.spawn(poll_fn(move |context| {
            if std::mem::replace(&mut left, true) {
                return Poll::Ready(42);
            }
            LEFT.set(Some(context.waker().clone()));
            Poll::Pending
        }));
        let waker = &mut Context::from_waker(Waker::noop());
        assert!(executor.try_tick());
        assert!(Pin::new(&mut task).poll(waker).is_pending());
        LEFT.take().expect("it was polled").wake();
        assert!(executor.try_tick());
        assert_eq!(Pin::new(&mut task).poll(waker), Poll::Ready(42));
    });
    assert_eq!((allocations, counts), (ROUNDS, rmws(3 * ROUNDS)));
}

/// A batch costs what its tasks cost one by one.
#[test]
fn a_batch_allocates_once_a_task() {
    let _watchdog = watchdog();
    const TASKS: usize = 10;
    let executor = LocalExecutor::new();
    let mut tasks = Vec::with_capacity(TASKS);
    let (allocations, counts) = measure(|| {
        executor.spawn_many((0..TASKS).map(|_| async {}), &mut tasks);
        assert_eq!(executor.run_until_stalled(), TASKS);
        tasks.clear();
    });
    assert_eq!(allocations, ROUNDS * TASKS as u64);
    assert_eq!(
        counts,
        rmws(ROUNDS * TASKS as u64),
        "their handles were kept"
    );
}

/// Eager children of one turn.
const CHILDREN: usize = 100;

/// A chain of eager children that are done at once: no allocation, no read-modify-write, no fence. The parent of each
/// hundred is a task of the usual costs.
fn eager_chain(executor: &LocalExecutor<'static>) {
    let spawner = executor.spawner();
    let parent = {
        let spawner = spawner.clone();
        move || {
            let spawner = spawner.clone();
            async move {
                for child in 0..CHILDREN {
                    assert_eq!(spawner.spawn_eager(async move { child }).await, child);
                    assert_eq!(
                        spawner.spawn_eager(async move { [child; 20] }).try_take(),
                        Some([child; 20])
                    );
                }
            }
        }
    };
    let rounds = ROUNDS / CHILDREN as u64;
    let (allocations, counts) = measure_rounds(rounds, || {
        executor.spawn(parent()).detach();
        assert!(executor.try_tick());
    });
    assert_eq!(allocations, rounds, "one a parent");
    assert_eq!(counts, Counts::default());
}

#[test]
fn eager_children_on_both_kinds() {
    let _watchdog = watchdog();
    eager_chain(&LocalExecutor::new());
    eager_chain(leaked());
}

/// Beside each other: a thread keeps one free cell of a size.
#[test]
fn one_free_cell_is_kept_of_a_size() {
    let _watchdog = watchdog();
    let executor = leaked();
    let (allocations, counts) = measure(|| {
        executor.spawn(async {}).detach();
        assert!(executor.try_tick());
        let mut tasks = [1, 2, 3].map(|n| executor.spawn_eager(async move { n }));
        assert_eq!(
            tasks.each_mut().map(|task| task.try_take()),
            [1, 2, 3].map(Some)
        );
    });
    assert_eq!(allocations, 3 * ROUNDS, "one of four tasks finds a cell");
    assert_eq!(counts, Counts::default());
}

/// Beside each other, if their outputs have no size: their handles need no cell.
#[test]
fn outputs_without_a_size_keep_no_cell() {
    let _watchdog = watchdog();
    let executor = leaked();
    let waker = &mut Context::from_waker(Waker::noop());
    let (allocations, counts) = measure(|| {
        executor.spawn(async {}).detach();
        assert!(executor.try_tick());
        let mut tasks =
            [(); 100].map(|()| executor.spawn_eager(async { Ok::<(), Infallible>(()) }));
        for task in &mut tasks {
            assert!(task.is_finished());
            assert_eq!(Pin::new(task).poll(waker), Poll::Ready(Ok(())));
        }
    });
    assert_eq!(allocations, ROUNDS, "the task of this turn");
    assert_eq!(counts, Counts::default());
}

/// A pending eager child costs as much as any task.
#[test]
fn a_pending_eager_child_allocates_once() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let (allocations, counts) = measure(|| {
        let mut task = executor.spawn_eager(futures_lite::future::yield_now());
        assert!(executor.try_tick());
        assert_eq!(task.try_take(), Some(()));
        assert!(!executor.try_tick(), "the cell is given back");
    });
    assert_eq!((allocations, counts), (ROUNDS, rmws(ROUNDS)));
}

/// An executor with nothing to do gives the thread's free cells back, and so does the drop of one.
#[test]
fn idle_threads_keep_no_cells() {
    let _watchdog = watchdog();
    let executor = leaked();
    let idle = |rest: &dyn Fn()| {
        let (allocations, _) = measure(|| {
            assert!(executor.spawn_eager(async {}).is_finished());
            rest();
        });
        allocations
    };
    assert_eq!(idle(&|| assert!(!executor.try_tick())), ROUNDS);
    let sleep = || {
        let mut run = std::pin::pin!(executor.run(std::future::pending::<()>()));
        let polled = run.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending());
    };
    assert_eq!(idle(&sleep), 2 * ROUNDS, "and the driver's node");
    let drop_one = || {
        executor.spawn(async {}).detach();
        assert!(executor.try_tick());
        drop(LocalExecutor::new().spawner());
    };
    assert_eq!(idle(&drop_one), 3 * ROUNDS, "a task, and the other's core");
}

/// A driver allocates once where many tasks were polled since the last time: before it sleeps, or between two of its polls.
#[test]
fn a_driver_lets_the_allocator_settle() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let settles = usize::from(IS_GLIBC);
    let mut run = std::pin::pin!(executor.run(std::future::pending::<()>()));
    let context = &mut Context::from_waker(Waker::noop());
    assert!(run.as_mut().poll(context).is_pending());
    let mut sleep = |tasks: usize| {
        for _ in 0..tasks {
            executor.spawn(async {}).detach();
        }
        let parks = executor.metrics().park_count();
        let before = allocations();
        while executor.metrics().park_count() == parks {
            assert!(run.as_mut().poll(context).is_pending());
        }
        allocations() - before
    };
    // Without optimisation the waker is not known again, and its driver makes a new node.
    let node = sleep(1);
    assert!(node <= 1);
    for (tasks, due) in [(1, 0), (POLLS - 3, 0), (1, 1), (1, 0), (3 * POLLS, 2)] {
        assert_eq!(sleep(tasks), node + due * settles, "{tasks} tasks");
    }
    // One that never sleeps.
    let executor = LocalExecutor::new();
    executor.spawn(Ping).detach();
    let mut run = std::pin::pin!(executor.run(std::future::pending::<()>()));
    assert!(run.as_mut().poll(context).is_pending());
    let before = allocations();
    while executor.metrics().poll_count() < 3 * POLLS {
        assert!(run.as_mut().poll(context).is_pending());
    }
    assert_eq!(allocations() - before, 2 * settles);
}

/// A group whose children are done at once: its list, and the list of values. Beside that a child costs what it costs alone.
#[test]
fn a_group_of_eager_children() {
    let _watchdog = watchdog();
    let executor: &'static LocalExecutor<'static> = leaked();
    let (allocations, counts) = measure(|| {
        let mut group = TaskGroup::<_, usize, ()>::with_capacity(executor, 6);
        for child in 0..6 {
            group.spawn_eager(async move { Ok(child) });
        }
        let joined = std::pin::pin!(group.join_all());
        let joined = joined.poll(&mut Context::from_waker(Waker::noop()));
        let Poll::Ready(Ok(values)) = joined else {
            panic!("all are done");
        };
        assert_eq!(values, [0, 1, 2, 3, 4, 5]);
        executor.spawn(async {}).detach();
        assert!(executor.try_tick());
    });
    assert_eq!(
        allocations,
        3 * ROUNDS,
        "two lists, and the task of this turn"
    );
    assert_eq!(counts, Counts::default());
}

/// A group whose queued children end in their first turn: its list is kept, so there are the tasks and the list of values. A child
/// costs what a task costs whose handle is taken.
#[test]
fn a_group_of_queued_children() {
    let _watchdog = watchdog();
    let executor: &'static LocalExecutor<'static> = leaked();
    let mut group = TaskGroup::<_, usize, ()>::with_capacity(executor, 20);
    let context = &mut Context::from_waker(Waker::noop());
    let (allocations, counts) = measure(|| {
        for child in 0..20 {
            group.spawn(async move { Ok(child) });
        }
        let mut joined = std::pin::pin!(group.join_all());
        assert!(joined.as_mut().poll(context).is_pending());
        assert_eq!(executor.run_until_stalled(), 20);
        let Poll::Ready(Ok(all)) = joined.poll(context) else {
            panic!("all have ended");
        };
        assert_eq!(all.len(), 20);
    });
    assert_eq!(allocations, (20 + 1) * ROUNDS, "tasks, and the values");
    assert_eq!(counts, rmws(20 * ROUNDS));
}

/// A group that waits: an allocation for each 16 children, and for each child one read-modify-write more than for a task, which
/// sets its bit. (Two more, uncounted here, count its waker's reference to the block.) The poll takes all bits at once.
#[test]
fn a_group_that_waits() {
    let _watchdog = watchdog();
    let executor: &'static LocalExecutor<'static> = leaked();
    let mut group = TaskGroup::<_, usize, ()>::with_capacity(executor, 20);
    // In a debug build, `noop` has a vtable in each crate. A clone of it has that of its own clones, so it wakes as they do.
    let waker = Waker::noop().clone();
    let mut values = Vec::new();
    let (allocations, counts) = measure(|| {
        for child in 0..20 {
            group.spawn(async move { Ok(child) });
        }
        {
            let mut joined = std::pin::pin!(group.join_all());
            let context = &mut Context::from_waker(&waker);
            // The first poll yields, and the second one waits.
            assert!(joined.as_mut().poll(context).is_pending());
            assert!(joined.as_mut().poll(context).is_pending());
            assert_eq!(executor.run_until_stalled(), 20);
            let Poll::Ready(Ok(all)) = joined.poll(context) else {
                panic!("all have ended");
            };
            values = all;
        }
        assert_eq!(values.len(), 20);
    });
    assert_eq!(
        allocations,
        (20 + 2 + 1) * ROUNDS,
        "tasks, blocks, the values"
    );
    assert_eq!(counts, rmws((20 * 3 + 2) * ROUNDS));
}

/// Leaves its waker in a thread-local.
struct Leave;

thread_local! {
    static LEFT: Cell<Option<Waker>> = const { Cell::new(None) };
}

impl Future for Leave {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        LEFT.set(Some(context.waker().clone()));
        Poll::Pending
    }
}

/// From another thread: the task's own word, the inbox, two counts, one fence; no lock.
#[test]
fn a_remote_wake() {
    let _watchdog = watchdog();
    let executor = leaked();
    for _ in 0..100 {
        executor.spawn(Leave).detach();
        assert!(executor.try_tick());
        let waker = LEFT.take().expect("it was polled");
        let wake = move || {
            // A thread gets its id in the first call, which costs one more.
            let _id = terrace_local::thread_id();
            Counts::of(|| waker.wake())
        };
        let counts = thread::spawn(wake).join().expect("a wake does not panic");
        if cfg!(terrace_count) {
            assert_eq!((counts.rmws, counts.fences), (4, 1));
        }
        assert_eq!((counts.heavy_fences, counts.locks), (0, 0));
        // Its waker was the last reference but the item's, which arrives.
        let counts = Counts::of(|| assert!(executor.try_tick()));
        assert_eq!(counts, rmws(2), "the swap, and the task's own word");
        drop(LEFT.take());
        executor.try_tick();
    }
}

/// A future of 2 KiB and more takes a box of its own, before anything else.
#[test]
fn large_futures_are_boxed() {
    let _watchdog = watchdog();
    let executor = leaked();
    let big = [1_u8; 4096];
    let (allocations, _) = measure(|| {
        let task = executor.spawn(async move { std::hint::black_box(&big).len() });
        task.detach();
        assert!(executor.try_tick());
    });
    assert_eq!(allocations, 2 * ROUNDS);
}

/// A 48 KiB future on a 256 KiB stack, in a debug build as well.
#[test]
fn large_futures_do_not_overflow_small_stacks() {
    let _watchdog = watchdog();
    const SIZE: usize = 48 * 1024;
    on_stack_of(256 * 1024, || {
        let executor = LocalExecutor::new();
        let mut task = executor.spawn(async {
            let big = [1_u8; SIZE];
            futures_lite::future::yield_now().await;
            std::hint::black_box(&big).len()
        });
        while executor.try_tick() {}
        assert_eq!(task.try_take(), Some(SIZE));
    });
}
