//! A thread that awaits a task without an output learns what happened to it.

use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use terrace_executor::{Builder, Task, block_on};
use terrace_testing::watchdog;

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
    let executor = Builder::new().workers(0).build();
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
