//! A thread that awaits a task without an output learns what happened to it.

use std::future::{pending, poll_fn, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use terrace_executor::{Builder, Executor, Task, TaskSet, block_on};
use terrace_testing::{Signal, signal, watchdog};

fn poll<T>(task: &mut Task<T>) -> Poll<T> {
    Pin::new(task).poll(&mut Context::from_waker(Waker::noop()))
}

/// The message of the panic when a thread awaits this task.
fn complaint(task: &mut Task<u32>) -> &'static str {
    let polled = catch_unwind(AssertUnwindSafe(|| poll(task)));
    let payload = polled.expect_err("there is nothing to give");
    payload.downcast_ref::<&str>().expect("a literal")
}

#[test]
fn a_task_without_an_output_says_what_happened() {
    let _watchdog = watchdog();
    // No thread of another test drives it.
    let executor = Executor::new();
    let mut cancelled = executor.spawn(pending::<u32>());
    let mut taken = executor.spawn(async { 1 });
    let mut panicked = executor.spawn(async { panic!("the task's own") });
    while executor.try_tick() {}
    assert_eq!(taken.try_take(), Some(1));
    assert_eq!(complaint(&mut panicked), "the task's own");
    drop(executor);
    for _ in 0..2 {
        let says = complaint(&mut cancelled);
        assert!(says.starts_with("Task polled after completion: its executor dropped it"));
        assert!(says.contains("`Task::fallible`"));
        for task in [&mut taken, &mut panicked] {
            assert!(task.is_finished());
            let says = complaint(task);
            assert!(says.starts_with("Task polled after completion: its output"));
            assert!(says.contains("was taken before") && says.contains("`Task::fallible`"));
        }
    }
    assert_eq!(block_on(taken.fallible()), None);
    assert_eq!(block_on(panicked.cancel()), None);
    cancelled.detach();
}

/// The waker that a future gets.
fn waker() -> impl Future<Output = Waker> {
    poll_fn(|context| Poll::Ready(context.waker().clone()))
}

/// So a set that is awaited task by task does not give all its tasks a new waker each time.
#[test]
fn the_waits_of_a_thread_have_one_waker() {
    let _watchdog = watchdog();
    let kept = block_on(waker());
    assert!(block_on(waker()).will_wake(&kept));
    // What comes between two waits is no wake of the second one alone.
    kept.wake_by_ref();
    assert!(block_on(waker()).will_wake(&kept));
    let inner = block_on(async { block_on(waker()) });
    assert!(!inner.will_wake(&kept), "the outer wait has it");
}

#[test]
fn a_wake_between_two_waits_is_not_lost() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(2).build();
    for _ in 0..200 {
        let mut set = TaskSet::new(&executor);
        let signals: Vec<Signal> = (0..40)
            .map(|_| {
                let (waits, signal) = signal();
                set.spawn(waits);
                signal
            })
            .collect();
        let waits = poll_fn(|context| Poll::Ready(set.poll_join_next(context).is_pending()));
        assert!(block_on(waits));
        for signal in signals {
            signal.set();
        }
        for _ in 0..40 {
            assert!(block_on(set.join_next()).is_some_and(|(_, result)| result.is_ok()));
            block_on(ready(()));
        }
    }
}
