//! Panics that no handle sees reach the executor's handler.

use std::any::Any;
use std::cell::Cell;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::Poll;
use std::thread;

use futures_lite::future::{block_on, yield_now};
use terrace_local::LocalExecutor;
use terrace_testing::watchdog;

/// The messages so far.
fn received<T>(receiver: &Receiver<T>) -> Vec<T> {
    receiver.try_iter().collect()
}

/// Panics when dropped.
struct Bomb(&'static str);

impl Drop for Bomb {
    fn drop(&mut self) {
        if !thread::panicking() {
            panic_any(self.0);
        }
    }
}

fn handled(executor: &LocalExecutor<'_>) -> Receiver<&'static str> {
    let (sender, receiver) = channel();
    executor.set_panic_handler(move |payload| send(&sender, payload));
    receiver
}

fn send(sender: &Sender<&'static str>, payload: Box<dyn Any + Send>) {
    let name = payload.downcast::<&'static str>().expect("one of ours");
    sender.send(*name).expect("the test listens");
}

#[test]
fn panics_of_detached_tasks_reach_the_handler() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let panics = handled(&executor);
    executor.spawn(async { panic_any("poll") }).detach();
    executor.spawn(async { Bomb("output") }).detach();
    let held = Bomb("destructor");
    executor
        .spawn(async move {
            yield_now().await;
            drop(held);
        })
        .detach();
    executor.run_until_stalled();
    assert_eq!(received(&panics), ["poll", "output", "destructor"]);
}

#[test]
fn panics_that_a_handle_sees_do_not() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let panics = handled(&executor);
    let task = executor.spawn(async { panic_any("poll") });
    let caught = catch_unwind(AssertUnwindSafe(|| block_on(executor.run(task))));
    assert!(caught.is_err());
    assert!(received(&panics).is_empty());
}

/// The executor is gone when a handle gives up its outcome, on another thread.
#[test]
fn the_handler_outlives_the_executor() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let panics = handled(&executor);
    let failed = executor.spawn(async { panic_any("poll") });
    let output = executor.spawn(async { Bomb("output") });
    executor.run_until_stalled();
    drop(executor);
    assert!(received(&panics).is_empty());
    thread::spawn(move || drop((failed, output)))
        .join()
        .expect("both panics are contained");
    assert_eq!(received(&panics), ["poll", "output"]);
}

/// Futures that the end of their executor drops, and futures that are spawned too late, which the spawning thread
/// drops.
#[test]
fn destructors_of_unfinished_futures_reach_the_handler() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let panics = handled(&executor);
    let bomb = Bomb("never polled");
    executor.spawn(async move { drop(bomb) }).detach();
    let spawner = executor.spawner();
    drop(executor);
    thread::spawn(move || {
        let bomb = Bomb("too late");
        spawner.spawn(async move { drop(bomb) }).detach();
    })
    .join()
    .expect("contained");
    assert_eq!(received(&panics), ["never polled", "too late"]);
}

#[test]
fn a_handler_may_panic() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    executor.set_panic_handler(|_| panic!("the handler's panic"));
    executor.spawn(async { panic_any("poll") }).detach();
    let ran = Cell::new(false);
    let sibling = LocalExecutor::new();
    sibling.spawn(async { ran.set(true) }).detach();
    assert_eq!(executor.run_until_stalled(), 1);
    assert_eq!(sibling.run_until_stalled(), 1);
    drop(sibling);
    assert!(ran.get());
}

#[test]
fn there_is_one_handler() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    executor.set_panic_handler(drop);
    let second = AssertUnwindSafe(|| executor.set_panic_handler(drop));
    assert!(catch_unwind(second).is_err());
}

#[test]
fn a_panic_of_the_destructor_behind_one_of_the_poll_reaches_the_handler() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let panics = handled(&executor);
    let held = Bomb("destructor");
    let task = executor.spawn(poll_fn(move |_| -> Poll<()> {
        let _held = &held;
        panic_any("poll")
    }));
    executor.run_until_stalled();
    assert_eq!(received(&panics), ["destructor"]);
    let end = catch_unwind(AssertUnwindSafe(|| block_on(task)));
    assert_eq!(end.unwrap_err().downcast_ref(), Some(&"poll"));
}

#[test]
fn outcomes_that_were_taken_keep_no_handler() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let (token, held) = (Arc::new(()), Arc::new(()));
    let kept = Arc::clone(&token);
    executor.set_panic_handler(move |_| drop(Arc::clone(&kept)));
    let mut value = executor.spawn(async move { held });
    let failed = executor.spawn(async { panic!("of the test") });
    executor.run_until_stalled();
    assert!(value.try_take().is_some());
    assert!(catch_unwind(AssertUnwindSafe(|| block_on(failed))).is_err());
    drop(executor);
    assert_eq!(Arc::strong_count(&token), 1);
}
