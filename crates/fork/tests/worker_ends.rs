//! A child of a scope that only one worker may run, and that worker ends while the child waits to be woken.

use std::future::{pending, poll_fn};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::task::{Poll, Waker};
use std::thread;

use terrace_executor::{Builder, Executor, Shutdown, current};
use terrace_fork::{here, scope};
use terrace_testing::{OnDrop, text_of, watchdog};

fn pool() -> Executor<'static> {
    Builder::new().workers(2).build()
}

/// Opens a scope with a child that waits on worker 1, and calls `ends` when it does.
fn while_a_child_waits(executor: &Executor<'static>, ends: impl FnOnce()) {
    let dropped = AtomicUsize::new(0);
    scope(executor, |s| {
        let (waits, waiting) = channel();
        let count = OnDrop(|| {
            dropped.fetch_add(1, Ordering::Relaxed);
        });
        s.spawn_on(1, async move {
            let _count = count;
            waits.send(()).unwrap();
            pending::<()>().await;
        });
        waiting.recv().unwrap();
        ends();
    });
    assert_eq!(dropped.load(Ordering::Relaxed), 1);
}

#[test]
fn fewer_workers() {
    let _watchdog = watchdog();
    let executor = pool();
    while_a_child_waits(&executor, || executor.set_workers(1).unwrap());
}

#[test]
fn a_shutdown() {
    let _watchdog = watchdog();
    for how in [Shutdown::RunQueued, Shutdown::DropQueued] {
        let executor = pool();
        while_a_child_waits(&executor, || executor.shutdown(how, None).unwrap());
    }
}

/// Its panic is one of the scope's, as if a thread had run the child.
#[test]
fn the_destructor_of_the_child_panics() {
    let _watchdog = watchdog();
    let executor = pool();
    let message = text_of(|| {
        scope(&executor, |s| {
            let (waits, waiting) = channel();
            let bomb = OnDrop(|| panic!("in a destructor"));
            s.spawn_on(
                1,
                poll_fn(move |_| {
                    let _alive = &bomb;
                    waits.send(()).unwrap();
                    Poll::Pending
                }),
            );
            waiting.recv().unwrap();
            executor.set_workers(1).unwrap();
        });
    });
    assert_eq!(message, "in a destructor");
}

#[test]
fn the_drop_of_the_executor() {
    let _watchdog = watchdog();
    let executor = pool();
    let (waits, waiting) = channel();
    executor
        .spawn(async move {
            let other = 1 - current().unwrap().worker();
            here::scope(|s| {
                s.spawn_on(other, async move {
                    waits.send(()).unwrap();
                    pending::<()>().await;
                });
            });
        })
        .detach();
    waiting.recv().unwrap();
    drop(executor);
}

/// The wake may come before, beside and after the end of the worker.
#[test]
fn a_wake_beside_the_end() {
    let _watchdog = watchdog();
    for _ in 0..200 {
        let executor = pool();
        scope(&executor, |s| {
            let (waits, waiting) = channel::<Waker>();
            s.spawn_on(1, async move {
                let mut polls = 0;
                poll_fn(|context| {
                    polls += 1;
                    if polls == 1 {
                        waits.send(context.waker().clone()).unwrap();
                    }
                    Poll::<()>::Pending
                })
                .await;
            });
            let waker = waiting.recv().unwrap();
            let wakes = thread::spawn(move || waker.wake());
            executor.set_workers(1).unwrap();
            wakes.join().unwrap();
        });
    }
}
