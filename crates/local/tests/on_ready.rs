//! External drivers: `run_until_stalled` and the on-ready hook.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{channel, sync_channel};
use std::thread;

use futures_lite::future::{block_on, yield_now};
use terrace_local::{LocalExecutor, StaticLocalExecutor, Task};
use terrace_testing::{WakerSlot, on_own_thread, watchdog};

fn counted(executor: &LocalExecutor<'_>) -> Arc<AtomicUsize> {
    let calls = Arc::new(AtomicUsize::new(0));
    let hook = calls.clone();
    executor.set_on_ready(move || {
        hook.fetch_add(1, Ordering::Relaxed);
    });
    calls
}

#[test]
fn stalled_means_that_nothing_is_queued() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    assert_eq!(executor.run_until_stalled(), 0);
    executor
        .spawn(async {
            for _ in 0..3 {
                yield_now().await;
            }
        })
        .detach();
    let slot = WakerSlot::default();
    executor.spawn(slot.clone().forever::<()>()).detach();
    assert_eq!(executor.run_until_stalled(), 5);
    assert!(!executor.is_empty(), "one waits");
    slot.waker().wake();
    assert_eq!(executor.run_until_stalled(), 1);
}

#[test]
fn the_owner_is_told_once_an_edge() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let calls = counted(&executor);
    for edge in 1..=3 {
        for _ in 0..5 {
            executor.spawn(async {}).detach();
        }
        assert_eq!(calls.load(Ordering::Relaxed), edge);
        executor.run_until_stalled();
    }
    let mut tasks = Vec::new();
    executor.spawn_many((0..5).map(|_| async {}), &mut tasks);
    assert_eq!(calls.load(Ordering::Relaxed), 4);
}

#[test]
fn work_that_was_there_before_the_hook_counts_as_an_edge() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    executor.spawn(async {}).detach();
    assert_eq!(counted(&executor).load(Ordering::Relaxed), 1);
    let idle = LocalExecutor::new();
    assert_eq!(counted(&idle).load(Ordering::Relaxed), 0);
}

/// An event loop sleeps until the hook sends it an event, and another thread wakes tasks. A call of the hook follows
/// every wake.
#[test]
fn an_event_loop_driven_by_the_hook_misses_no_wake() {
    on_own_thread(|| {
        const ROUNDS: usize = 2_000;
        let executor: &'static StaticLocalExecutor = Box::leak(Box::default());
        let (events, received) = channel();
        executor.set_on_ready(move || events.send(()).expect("the loop listens"));
        let slot = WakerSlot::default();
        let task = executor.spawn({
            let slot = slot.clone();
            async move {
                for _ in 0..ROUNDS {
                    slot.pause().await;
                }
            }
        });
        let (wakers, to_wake) = sync_channel::<std::task::Waker>(1);
        let other = thread::spawn(move || to_wake.iter().for_each(std::task::Waker::wake));
        while !task.is_finished() {
            received.recv().expect("the hook calls");
            if executor.run_until_stalled() != 0 && !task.is_finished() {
                wakers.send(slot.waker()).expect("the other thread wakes");
            }
        }
        drop(wakers);
        other.join().expect("woke");
    });
}

/// The hook's panic stays with the waker that calls it, and a hook may spawn.
#[test]
fn hooks_may_panic() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    executor.set_on_ready(|| panic!("the hook's panic"));
    executor.spawn(async {}).detach();
    assert_eq!(executor.run_until_stalled(), 1);
}

/// So does the panic of a value that the hook holds. The executor drops it, or the thread that wakes a task at that
/// time.
#[test]
fn what_a_hook_holds_may_panic_when_it_is_dropped() {
    let _watchdog = watchdog();
    struct Panics(Arc<AtomicUsize>);

    impl Drop for Panics {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
            panic!("the destructor's panic");
        }
    }

    let drops = Arc::new(AtomicUsize::new(0));
    let held = Panics(drops.clone());
    let executor = LocalExecutor::new();
    executor.set_on_ready(move || {
        let _held = &held;
    });
    let spawner = executor.spawner();
    drop(executor);
    assert_eq!(drops.load(Ordering::Relaxed), 0);
    thread::spawn(move || drop(spawner))
        .join()
        .expect("nothing unwinds");
    assert_eq!(drops.load(Ordering::Relaxed), 1);
}

#[test]
fn there_is_one_hook() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    executor.set_on_ready(|| ());
    let second = AssertUnwindSafe(|| executor.set_on_ready(|| ()));
    assert!(catch_unwind(second).is_err());
}

/// An event loop that ticks once a call of the hook runs all tasks: it is called again while something is queued.
#[test]
fn one_tick_a_call_runs_everything() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let calls = counted(&executor);
    let mut tasks = Vec::new();
    executor.spawn_many((0..3).map(|_| yield_now()), &mut tasks);
    let mut answered = 0;
    while answered < calls.load(Ordering::Relaxed) {
        answered += 1;
        executor.try_tick();
    }
    assert!(tasks.iter().all(Task::is_finished));
    assert!(!executor.has_queued());
    assert_eq!(answered, 6, "two polls a task, and no call too many");
}

/// The same with the other ways to drive it for a while.
#[test]
fn a_driver_that_stops_tells_of_the_rest() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let calls = counted(&executor);
    let spawn = |count| {
        for _ in 0..count {
            executor.spawn(async {}).detach();
        }
    };
    spawn(2);
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    block_on(executor.tick());
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    block_on(executor.run(async {}));
    assert_eq!(calls.load(Ordering::Relaxed), 3, "it ran none");
    block_on(executor.tick());
    assert_eq!(calls.load(Ordering::Relaxed), 3);
    spawn(3);
    assert_eq!(executor.run_until_stalled(), 3);
    assert_eq!(calls.load(Ordering::Relaxed), 4, "nothing is left");
}

#[test]
fn has_queued_tells_what_try_tick_would_do() {
    let _watchdog = watchdog();
    let leaked: &'static StaticLocalExecutor = Box::leak(Box::default());
    assert!(!leaked.has_queued());
    let task = leaked.spawn(yield_now());
    for _ in 0..2 {
        assert!(leaked.has_queued() && leaked.try_tick());
    }
    assert!(!leaked.has_queued() && task.is_finished());

    let executor = LocalExecutor::new();
    assert!(!executor.has_queued());
    let slot = WakerSlot::default();
    let task = executor.spawn(slot.clone().forever::<()>());
    assert!(executor.has_queued() && executor.try_tick() && !executor.has_queued());
    // The task is woken remotely, and then cancelled: the item in the inbox still counts as queued.
    thread::scope(|scope| {
        let waker = slot.waker();
        scope.spawn(|| waker.wake()).join().expect("woke");
    });
    assert!(executor.has_queued());
    drop(task);
    assert!(executor.try_tick() && !executor.has_queued());
}

#[test]
fn the_bell_rings_again_while_a_budget_leaves_work() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    assert!(!executor.run_for(0), "no task, no core");
    let calls = counted(&executor);
    for _ in 0..5 {
        executor.spawn(async {}).detach();
    }
    let rung = || calls.swap(0, Ordering::Relaxed);
    assert_eq!(rung(), 1, "the edge");
    assert!(executor.run_for(2));
    assert_eq!(rung(), 1);
    assert!(executor.run_for(0), "polls nothing");
    assert_eq!(rung(), 1);
    assert!(executor.run_for(2));
    assert_eq!(rung(), 1);
    assert!(!executor.run_for(1), "the last one");
    assert_eq!(rung(), 0);
    assert!(!executor.run_for(1));
    assert_eq!(rung(), 0);
    assert!(executor.is_empty());
}

#[test]
fn a_budget_outlasts_tasks_that_wake_themselves_and_ones_that_panic() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let calls = counted(&executor);
    let endless = executor.spawn(async {
        loop {
            yield_now().await;
        }
    });
    let panics = executor.spawn(async { panic!("a task of this test") });
    assert!(executor.run_for(100));
    assert!(calls.load(Ordering::Relaxed) >= 1);
    assert!(panics.is_finished());
    drop((endless, panics));
    assert!(!executor.run_for(usize::MAX));
}
