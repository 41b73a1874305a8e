//! Drivers outside: `run_until_stalled` and the on-ready hook.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{channel, sync_channel};
use std::thread;

use common::{GENEROUS, Slot, with_watchdog};
use futures_lite::future::yield_now;
use terrace_local::{LocalExecutor, StaticLocalExecutor};

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
    let executor = LocalExecutor::new();
    assert_eq!(executor.run_until_stalled(), 0);
    executor
        .spawn(async {
            for _ in 0..3 {
                yield_now().await;
            }
        })
        .detach();
    let slot = Slot::default();
    executor.spawn(slot.clone().park::<()>()).detach();
    assert_eq!(executor.run_until_stalled(), 5);
    assert!(!executor.is_empty(), "one waits");
    slot.take().wake();
    assert_eq!(executor.run_until_stalled(), 1);
}

#[test]
fn the_owner_is_told_once_an_edge() {
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
    let executor = LocalExecutor::new();
    executor.spawn(async {}).detach();
    assert_eq!(counted(&executor).load(Ordering::Relaxed), 1);
    let idle = LocalExecutor::new();
    assert_eq!(counted(&idle).load(Ordering::Relaxed), 0);
}

/// An event loop that sleeps until the hook sends it an event, and tasks that are woken from another thread: every wake
/// is followed by a call.
#[test]
fn an_event_loop_driven_by_the_hook_misses_no_wake() {
    with_watchdog(|| {
        const ROUNDS: usize = 2_000;
        let executor: &'static StaticLocalExecutor = Box::leak(Box::default());
        let (events, received) = channel();
        executor.set_on_ready(move || events.send(()).expect("the loop listens"));
        let slot = Slot::default();
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
            received.recv_timeout(GENEROUS).expect("the hook calls");
            if executor.run_until_stalled() != 0 && !task.is_finished() {
                wakers.send(slot.take()).expect("the other thread wakes");
            }
        }
        drop(wakers);
        other.join().expect("woke");
    });
}

/// The hook's panic stays with whoever wakes, and a hook may spawn.
#[test]
fn hooks_may_panic() {
    let executor = LocalExecutor::new();
    executor.set_on_ready(|| panic!("the hook's panic"));
    executor.spawn(async {}).detach();
    assert_eq!(executor.run_until_stalled(), 1);
}

#[test]
fn there_is_one_hook() {
    let executor = LocalExecutor::new();
    executor.set_on_ready(|| ());
    let second = AssertUnwindSafe(|| executor.set_on_ready(|| ()));
    assert!(catch_unwind(second).is_err());
}
