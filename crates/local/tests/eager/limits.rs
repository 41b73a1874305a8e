//! Depth, fairness, and the thread: which children are queued.

use std::cell::Cell;
use std::future::{Future, ready};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::mpsc::channel;
use std::thread;

use futures_lite::future::{block_on, yield_now};
use terrace_local::{LocalExecutor, StaticLocalExecutor};
use terrace_testing::{Homebody, on_stack_of, watchdog};

use crate::each_kind;

/// Spawns a child, which does the same, and waits for it.
fn chain(executor: &'static StaticLocalExecutor, left: u32) -> Pin<Box<dyn Future<Output = u32>>> {
    Box::pin(async move {
        if left == 0 {
            return 0;
        }
        executor.spawn_eager(chain(executor, left - 1)).await + 1
    })
}

/// Each eager child spawns the next. A bound on the depth queues some, so the stack stays small.
#[test]
fn a_million_deep_on_a_small_stack() {
    let _watchdog = watchdog();
    const DEEP: u32 = 1_000_000;
    on_stack_of(256 << 10, || {
        let executor = LocalExecutor::new().leak();
        let task = executor.spawn_eager(chain(executor, DEEP));
        assert_eq!(block_on(executor.run(task)), DEEP);
    });
}

/// The documented depth: the 16th child inside of each other is polled at once, the 17th is queued.
#[test]
fn the_seventeenth_child_is_queued() {
    fn nest(executor: &'static StaticLocalExecutor, depth: u32, deepest: &'static Cell<u32>) {
        executor
            .spawn_eager(async move {
                deepest.set(deepest.get().max(depth));
                if depth < 20 {
                    nest(executor, depth + 1, deepest);
                }
            })
            .detach();
    }

    let _watchdog = watchdog();
    let deepest: &Cell<u32> = Box::leak(Box::default());
    let executor = LocalExecutor::new().leak();
    nest(executor, 1, deepest);
    assert_eq!(deepest.get(), 16);
    assert!(executor.try_tick() && !executor.try_tick());
    assert_eq!(deepest.get(), 20);
}

/// A task that spawns and awaits eager children without end still lets others run: each 200th child of a turn is queued.
#[test]
fn others_have_their_turn() {
    let _watchdog = watchdog();
    each_kind(|executor| {
        let ran = Rc::new(Cell::new(0_u32));
        let spawner = executor.spawner();
        let count = ran.clone();
        let parent = executor.spawn(async move {
            loop {
                spawner.spawn_eager(ready(())).await;
                count.set(count.get() + 1);
            }
        });
        assert!(executor.try_tick());
        assert_eq!(ran.get(), 200);
        let other = executor.spawn(async { "other" });
        assert_eq!(block_on(executor.run(other)), "other");
        // In a future of `run` as well.
        let other = Rc::new(Cell::new(false));
        let set = other.clone();
        executor.spawn(async move { set.set(true) }).detach();
        let count = ran.clone();
        block_on(executor.run(async {
            while !other.get() {
                executor.spawn_eager(ready(())).await;
                count.set(count.get() + 1);
            }
        }));
        drop(parent);
    });
}

/// A turn begins with the whole number.
#[test]
fn a_turn_of_less_than_two_hundred_queues_none() {
    let _watchdog = watchdog();
    each_kind(|executor| {
        for _ in 0..10 {
            let spawner = executor.spawner();
            let parent = executor.spawn(async move {
                for _ in 0..200 {
                    assert!(spawner.spawn_eager(ready(())).is_finished());
                }
                assert!(!spawner.spawn_eager(ready(())).is_finished());
                assert!(spawner.spawn_eager(ready(())).is_finished());
            });
            block_on(executor.run(parent));
        }
    });
}

/// A `!Send` future stays on its thread: spawned from another one it is queued.
#[test]
fn children_from_other_threads_are_queued() {
    let _watchdog = watchdog();
    each_kind(|executor| {
        let spawner = executor.spawner();
        let make = || {
            let here = Homebody::new();
            async move {
                here.check();
                thread::current().id()
            }
        };
        let mut tasks = thread::spawn({
            let spawner = spawner.clone();
            move || {
                [
                    spawner.spawn_eager_with(make),
                    spawner.spawn_eager(async { thread::current().id() }),
                ]
            }
        })
        .join()
        .expect("spawns");
        assert!(tasks.iter().all(|task| !task.is_finished()));
        assert_eq!(executor.run_until_stalled(), 2);
        let here = thread::current().id();
        assert!(tasks.iter_mut().all(|task| task.try_take() == Some(here)));
        let mut tasks = [
            spawner.spawn_eager_with(make),
            spawner.spawn_eager(async { thread::current().id() }),
        ];
        assert!(tasks.iter_mut().all(|task| task.try_take() == Some(here)));
    });
}

/// Inside of the first poll the thread is in the middle of one of its tasks, as in any poll. So a wait there leaves the others
/// queued.
#[test]
fn the_first_poll_is_a_task_of_the_executor() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new().leak();
    let core = executor.core();
    assert!(!core.is_running());
    let mut task = executor.spawn_eager(async { executor.core().is_running() });
    assert_eq!(task.try_take(), Some(true));
    assert!(!core.is_running());
}

/// A child wakes a task that is awaited, and a hook and a sleeping driver hear of what it queues.
#[test]
fn a_hook_hears_of_queued_children_only() {
    let _watchdog = watchdog();
    each_kind(|executor| {
        let (sender, calls) = channel();
        executor.set_on_ready(move || sender.send(()).expect("kept"));
        executor.spawn_eager(ready(())).detach();
        assert!(calls.try_recv().is_err());
        executor.spawn_eager(yield_now()).detach();
        assert!(calls.try_recv().is_ok());
        assert_eq!(executor.run_until_stalled(), 1);
    });
}
