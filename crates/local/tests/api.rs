//! Auto traits, formats, and what handles answer.

mod common;

use std::future::{pending, ready};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::process::Command;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

use common::poll_once;
use static_assertions::{assert_impl_all, assert_not_impl_any};
use terrace_local::task::{Meta, Runnable};
use terrace_local::{FallibleTask, LocalCore, LocalExecutor, StaticLocalExecutor, Task};

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
    let executor = LocalExecutor::new();
    let mut task = executor.spawn(pending::<u32>());
    drop(executor);
    let _never = poll_once(&mut task);
}

#[test]
fn cancel_of_a_task_that_is_done_gives_its_output() {
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
    let executor = LocalExecutor::default();
    assert!(format!("{executor:?}").starts_with("LocalExecutor { thread: "));
    let task = executor.spawn(async {});
    assert_eq!(format!("{task:?}"), "Task { finished: false }");
    assert!(executor.try_tick());
    let task = task.fallible();
    assert_eq!(format!("{task:?}"), "FallibleTask { finished: true }");
    assert!(format!("{:?}", StaticLocalExecutor::default()).starts_with("StaticLocalExecutor {"));
}

/// Set in the process that `exit_in_a_task` starts.
const CHILD: &str = "TERRACE_TEST_EXITS";

/// A process that exits inside a task, whose executor lies in a thread-local: its destructor, run by the exit, must not
/// wait for the task that it lies under.
#[test]
fn exit_in_a_task() {
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
    let mut child = Command::new(std::env::current_exe().expect("there is one"))
        .args(["exit_in_a_task", "--exact"])
        .env(CHILD, "1")
        .spawn()
        .expect("a process can be started");
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("it is ours") {
            break status;
        }
        if start.elapsed() > common::GENEROUS {
            child.kill().expect("it is ours");
            panic!("the exit hangs");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert_eq!(status.code(), Some(7));
}
