//! Panics, cancellation, and executors that end.

use std::cell::RefCell;
use std::future::{pending, poll_fn, ready};
use std::panic::panic_any;
use std::sync::mpsc::channel;
use std::task::Poll;
use std::thread;

use futures_lite::future::block_on;
use terrace_local::{LocalExecutor, Task};
use terrace_testing::{Drops, poll_once, text, text_of, watchdog};

use crate::each_kind;

/// Panics when it is dropped.
struct Bomb(&'static str);

impl Drop for Bomb {
    fn drop(&mut self) {
        if !thread::panicking() {
            panic_any(self.0);
        }
    }
}

#[test]
fn a_panic_is_the_childs() {
    let _watchdog = watchdog();
    each_kind(|executor| {
        let (sender, panics) = channel();
        executor.set_panic_handler(move |payload| {
            sender.send(text(&*payload).to_owned()).expect("kept")
        });
        let caught = |task: Task<()>| text_of(|| block_on(task));
        let spawn = |message: &'static str| executor.spawn_eager(async move { panic_any(message) });
        let task = spawn("taken");
        assert!(task.is_finished());
        assert_eq!(caught(task), "taken");
        spawn("detached").detach();
        assert_eq!(panics.try_recv().expect("handled"), "detached");
        drop(spawn("dropped"));
        assert_eq!(panics.try_recv().expect("handled"), "dropped");
        // The destructor of the future.
        let task = executor.spawn_eager({
            let bomb = Bomb("destructor");
            poll_fn(move |_| {
                let _ = &bomb;
                Poll::Ready(())
            })
        });
        assert_eq!(caught(task), "destructor");
        // The destructor of the output.
        drop(executor.spawn_eager(async { Bomb("output") }));
        assert_eq!(panics.try_recv().expect("handled"), "output");
        executor.spawn_eager(async { Bomb("unwanted") }).detach();
        assert_eq!(panics.try_recv().expect("handled"), "unwanted");
        assert!(panics.try_recv().is_err());
        // The executor goes on.
        assert_eq!(executor.spawn_eager(ready(1)).try_take(), Some(1));
        assert!(executor.is_empty());
    });
}

#[test]
fn cancel_and_drop_of_a_pending_child() {
    let _watchdog = watchdog();
    each_kind(|executor| {
        let drops = Drops::new();
        let spawn = || executor.spawn_eager(drops.never());
        drop(spawn());
        assert!(executor.try_tick());
        assert_eq!(drops.count(), 1);
        let task = spawn();
        assert_eq!(block_on(executor.run(task.cancel())), None);
        assert_eq!(drops.count(), 2);
        let task = spawn();
        thread::spawn(|| drop(task)).join().expect("drops it");
        assert!(executor.try_tick());
        assert_eq!(drops.count(), 3);
    });
}

/// An executor drops its pending eager children.
#[test]
fn the_executor_is_dropped() {
    let _watchdog = watchdog();
    let drops = Drops::new();
    let executor = LocalExecutor::new();
    let spawn = || executor.spawn_eager(drops.never());
    spawn().detach();
    let task = spawn();
    let mut finished = executor.spawn_eager(ready(5));
    drop(executor);
    assert_eq!(drops.count(), 2);
    assert!(task.is_finished());
    assert_eq!(finished.try_take(), Some(5));
}

thread_local! {
    static EXECUTOR: RefCell<Option<LocalExecutor<'static>>> = const { RefCell::new(None) };
}

/// A child drops its own executor in its first poll. The executor is leaked, as in the middle of any task, so the child may end,
/// wait, and spawn.
#[test]
fn the_executor_is_dropped_in_the_first_poll() {
    let _watchdog = watchdog();
    for done in [false, true] {
        let executor = LocalExecutor::new();
        let spawner = executor.spawner();
        EXECUTOR.set(Some(executor));
        let inner = spawner.clone();
        let mut ended = false;
        let mut task = spawner.spawn_eager(poll_fn(move |_| {
            if !ended {
                drop(EXECUTOR.take().expect("it was set"));
                ended = true;
                let mut child = inner.spawn_eager(ready("child"));
                assert_eq!(child.try_take(), Some("child"));
            }
            if done {
                Poll::Ready("done")
            } else {
                Poll::Pending
            }
        }));
        assert_eq!(task.try_take(), done.then_some("done"));
        drop(task);
    }
}

/// The destructor of a task spawns eagerly while its executor closes: the future is dropped, and the child counts as cancelled.
#[test]
fn a_closing_executor_polls_nothing() {
    struct SpawnsInDrop(terrace_local::LocalSpawner, Drops);

    impl Drop for SpawnsInDrop {
        fn drop(&mut self) {
            let kept = self.1.value();
            let mut task = self
                .0
                .spawn_eager(async move {
                    let _kept = kept;
                    unreachable!("the executor is closed");
                })
                .fallible();
            assert_eq!(poll_once(&mut task), Poll::Ready(None::<()>));
        }
    }

    let _watchdog = watchdog();
    let drops = Drops::new();
    let executor = LocalExecutor::new();
    let spawner = executor.spawner();
    let value = SpawnsInDrop(spawner.clone(), drops.clone());
    executor
        .spawn_eager(async move {
            let _value = value;
            pending::<()>().await;
        })
        .detach();
    drop(executor);
    assert_eq!(drops.count(), 1);
    drop(SpawnsInDrop(spawner, drops.clone()));
    assert_eq!(drops.count(), 2);
}

/// A child spawned where the thread ends, in the destructor of a thread-local, is polled all the same, and its memory goes.
#[test]
fn a_child_in_the_destructor_of_a_thread_local() {
    struct Last(LocalExecutor<'static>);

    impl Drop for Last {
        fn drop(&mut self) {
            for n in 0..10 {
                assert_eq!(self.0.spawn_eager(ready(n)).try_take(), Some(n));
            }
        }
    }

    thread_local! {
        static LAST: Last = const { Last(LocalExecutor::new()) };
    }

    let _watchdog = watchdog();
    let before = thread::spawn(|| LAST.with(|_| ()));
    before.join().expect("ends");
    let after = thread::spawn(|| {
        LAST.with(|last| drop(last.0.spawn_eager(ready(()))));
    });
    after.join().expect("ends");
}
