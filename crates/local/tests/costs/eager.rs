//! Eager children, and groups.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use terrace_local::{LocalExecutor, TaskGroup};
use terrace_sync::count::Counts;
use terrace_testing::watchdog;

use crate::{ROUNDS, leaked, measure, measure_rounds, rmws};

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
