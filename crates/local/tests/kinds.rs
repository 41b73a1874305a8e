//! From the droppable to the static kind, and the abilities of the static kind.

use std::cell::Cell;
use std::future::pending;
use std::rc::Rc;
use std::thread;

use futures_lite::future::{block_on, yield_now};
use terrace_local::{LocalExecutor, StaticLocalExecutor};
use terrace_testing::{WakerSlot, watchdog};

/// Tasks that were spawned before go on in each state: queued, pending, woken remotely.
#[test]
fn tasks_survive_the_leak_of_their_executor() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let slot = WakerSlot::default();
    let waiting = executor.spawn({
        let slot = slot.clone();
        async move {
            slot.pause().await;
            1
        }
    });
    let woken = executor.spawn(async {
        yield_now().await;
        2
    });
    assert!(executor.try_tick());
    assert!(executor.try_tick());
    let queued = executor.spawn(async { 3 });
    let leaked = executor.leak();
    let later = leaked.spawn(async {
        yield_now().await;
        4
    });
    let waker = slot.waker();
    thread::spawn(move || waker.wake()).join().expect("woken");
    let all = async { [waiting.await, woken.await, queued.await, later.await] };
    assert_eq!(block_on(leaked.run(all)), [1, 2, 3, 4]);
    assert!(leaked.is_empty());
}

#[test]
fn an_unused_executor_can_be_leaked() {
    let _watchdog = watchdog();
    let leaked = LocalExecutor::new().leak();
    assert!(leaked.is_empty());
    assert_eq!(block_on(leaked.run(leaked.spawn(async { 1 }))), 1);
}

/// A leaked executor keeps no list of pending tasks. So a task whose handle is gone is dropped with its last waker.
#[test]
fn a_leaked_executor_keeps_no_pending_task() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let goes_on = Rc::new(());
    let before = goes_on.clone();
    executor
        .spawn(async move {
            pending::<()>().await;
            drop(before);
        })
        .detach();
    assert!(executor.try_tick());
    let leaked = executor.leak();
    let after = goes_on.clone();
    leaked
        .spawn(async move {
            pending::<()>().await;
            drop(after);
        })
        .detach();
    leaked.run_until_stalled();
    assert_eq!(Rc::strong_count(&goes_on), 2, "that of before the leak");
}

/// Both kinds know whether a task is left, also while one runs.
#[test]
fn is_empty_counts_queued_running_and_pending_tasks() {
    let _watchdog = watchdog();
    let executor: &'static StaticLocalExecutor = Box::leak(Box::default());
    assert!(executor.is_empty());
    let seen = Rc::new(Cell::new(None));
    let task = executor.spawn({
        let seen = seen.clone();
        async move {
            seen.set(Some(executor.is_empty()));
            pending::<()>().await;
        }
    });
    assert!(!executor.is_empty());
    assert!(executor.try_tick());
    assert_eq!(seen.get(), Some(false));
    assert!(!executor.is_empty());
    drop(task);
    assert!(!executor.is_empty(), "cancelled, and not dropped yet");
    assert!(executor.try_tick());
    assert!(executor.is_empty());
}

#[test]
fn a_scoped_task_borrows() {
    let _watchdog = watchdog();
    let executor: &'static StaticLocalExecutor = Box::leak(Box::default());
    let mut words = vec![String::from("a")];
    {
        let words = &mut words;
        // SAFETY: the task is run to its end below, before `words` is used again.
        let task = unsafe {
            executor.spawn_scoped(async {
                yield_now().await;
                words.push(String::from("b"));
            })
        };
        block_on(executor.run(task));
    }
    assert_eq!(words, ["a", "b"]);
}

/// No task counts a reference to its executor's core.
#[test]
fn tasks_count_no_references() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let before = std::sync::Arc::strong_count(executor.core());
    let tasks: Vec<_> = (0..3).map(|_| executor.spawn(pending::<()>())).collect();
    executor.run_until_stalled();
    assert_eq!(std::sync::Arc::strong_count(executor.core()), before);
    drop(tasks);
}

#[test]
fn formats_show_counts() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    assert!(format!("{executor:?}").contains("queued: 0"));
    executor.spawn(pending::<()>()).detach();
    executor.try_tick();
    executor.spawn(async {}).detach();
    let shown = format!("{executor:?}");
    assert!(shown.contains("queued: 1, running: 0, alive: 2"), "{shown}");
}
