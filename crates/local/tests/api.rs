//! Auto traits, formats, and the answers of handles.

use std::future::{pending, ready};
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind};
use std::rc::Rc;
use std::task::Poll;

use futures_lite::future::block_on;
use static_assertions::{assert_impl_all, assert_not_impl_any};
use terrace_local::task::{Meta, Runnable};
use terrace_local::{FallibleTask, LocalCore, LocalExecutor, StaticLocalExecutor, Task};
use terrace_testing::{poll_once, this_program, watchdog};

assert_impl_all!(Task<u32>: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe);
assert_impl_all!(FallibleTask<u32>: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe);
assert_not_impl_any!(Task<Rc<()>>: Send);
assert_not_impl_any!(FallibleTask<Rc<()>>: Send);
assert_impl_all!(Task<Rc<()>>: Unpin, UnwindSafe);
assert_impl_all!(LocalExecutor<'static>: Unpin, UnwindSafe, RefUnwindSafe);
assert_not_impl_any!(LocalExecutor<'static>: Send, Sync);
assert_impl_all!(StaticLocalExecutor: Unpin, UnwindSafe, RefUnwindSafe);
assert_not_impl_any!(StaticLocalExecutor: Send, Sync);
assert_impl_all!(LocalCore: Send, Sync);
assert_impl_all!(Runnable: Send, Sync);
assert_impl_all!(Meta: Send, Sync);

#[test]
fn the_handle_of_a_future_that_is_not_send_is_send() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let not_send = Rc::new(3);
    let mut task = executor.spawn(async move { *not_send });
    let finished = |task: &Task<i32>| task.is_finished();
    std::thread::scope(|scope| {
        assert!(!scope.spawn(|| finished(&task)).join().expect("looks"));
    });
    assert!(executor.try_tick());
    assert_eq!(task.try_take(), Some(3));
    assert_eq!(task.try_take(), None);
    assert!(task.is_finished());
}

#[test]
fn fallible_handles_of_cancelled_tasks_give_none() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let mut task = executor.spawn(pending::<u32>()).fallible();
    assert_eq!(task.try_take(), None);
    drop(executor);
    assert!(task.is_finished());
    assert_eq!(task.try_take(), None);
    assert_eq!(poll_once(&mut task), Poll::Ready(None));
}

#[test]
#[should_panic = "its executor dropped it"]
fn awaiting_a_cancelled_task_says_why_it_cannot() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let mut task = executor.spawn(pending::<u32>());
    drop(executor);
    let _never = poll_once(&mut task);
}

#[test]
fn cancel_of_a_task_that_is_done_gives_its_output() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let done = executor.spawn(ready(1));
    let fallible = executor.spawn(ready(2)).fallible();
    while executor.try_tick() {}
    let mut cancel = Box::pin(done.cancel());
    assert_eq!(poll_once(&mut cancel), Poll::Ready(Some(1)));
    let mut cancel = Box::pin(fallible.cancel());
    assert_eq!(poll_once(&mut cancel), Poll::Ready(Some(2)));
}

#[test]
fn is_empty_counts_what_is_queued_and_what_waits() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    assert!(executor.is_empty());
    let queued = executor.spawn(pending::<()>());
    assert!(!executor.is_empty());
    assert!(executor.try_tick());
    assert!(!executor.is_empty());
    drop(queued);
    assert!(executor.try_tick());
    assert!(executor.is_empty());
    executor.spawn(async {}).detach();
    assert!(executor.try_tick());
    assert!(executor.is_empty());
}

#[test]
fn formats_name_the_type() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::default();
    assert!(format!("{executor:?}").starts_with("LocalExecutor { thread: "));
    let task = executor.spawn(async {});
    assert_eq!(format!("{task:?}"), "Task { finished: false }");
    assert!(executor.try_tick());
    let task = task.fallible();
    assert_eq!(format!("{task:?}"), "FallibleTask { finished: true }");
    assert!(format!("{:?}", StaticLocalExecutor::default()).starts_with("StaticLocalExecutor {"));
}

/// The message of the panic when the test awaits this task.
fn complaint(task: &mut Task<u32>) -> String {
    let polled = catch_unwind(AssertUnwindSafe(|| poll_once(task)));
    let payload = polled.expect_err("there is nothing to give");
    *payload.downcast().unwrap_or_else(|payload| {
        Box::new(payload.downcast_ref::<&str>().expect("text").to_string())
    })
}

/// A future that awaits a task without an output learns why at each poll, and how to avoid it.
#[test]
fn a_task_without_an_output_says_what_happened() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let spawner = executor.spawner();
    let mut cancelled = executor.spawn(pending::<u32>());
    let mut taken = executor.spawn(ready(1));
    let mut awaited = executor.spawn(ready(2));
    let mut panicked = executor.spawn(async { panic!("the task's own") });
    while executor.try_tick() {}
    assert_eq!(taken.try_take(), Some(1));
    assert_eq!(poll_once(&mut awaited), Poll::Ready(2));
    assert_eq!(complaint(&mut panicked), "the task's own");
    drop(executor);
    let mut late = spawner.spawn(ready(3));
    for task in [&mut cancelled, &mut late] {
        let says = complaint(task);
        assert!(says.starts_with("Task polled after completion: its executor dropped it"));
        assert!(says.contains("`Task::fallible`"));
        assert_eq!(complaint(task), says);
    }
    for task in [&mut taken, &mut awaited, &mut panicked] {
        assert!(task.is_finished());
        let says = complaint(task);
        assert!(says.starts_with("Task polled after completion: its output"));
        assert!(says.contains("was taken before") && says.contains("`Task::fallible`"));
    }
    assert_eq!(block_on(taken.fallible()), None);
    assert_eq!(block_on(awaited.cancel()), None);
    late.detach();
}

#[test]
fn an_executor_is_seen_on_its_own_thread_alone() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let core = executor.core().clone();
    let elsewhere = std::thread::spawn(|| drop(LocalExecutor::view(core)));
    assert!(elsewhere.join().is_err());
    executor.spawn(async {}).detach();
    assert!(LocalExecutor::view(executor.core().clone()).try_tick());
}

/// Set in the process that `exit_in_a_task` starts.
const CHILD: &str = "TERRACE_TEST_EXITS";

/// A process exits inside a task whose executor lies in a thread-local. The exit runs the executor's destructor on top
/// of the task, so that must not wait for the task.
#[test]
fn exit_in_a_task() {
    let _watchdog = watchdog();
    thread_local! {
        static EXECUTOR: LocalExecutor<'static> = const { LocalExecutor::new() };
    }
    if std::env::var_os(CHILD).is_some() {
        EXECUTOR.with(|executor| {
            executor
                .spawn(async {
                    futures_lite::future::yield_now().await;
                    std::process::exit(7);
                })
                .detach();
            while executor.try_tick() {}
        });
    }
    let status = this_program()
        .args(["exit_in_a_task", "--exact"])
        .env(CHILD, "1")
        .status()
        .expect("a process can be started");
    assert_eq!(status.code(), Some(7));
}
