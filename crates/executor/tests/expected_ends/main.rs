//! Eager children that their thread expects to end at once: it polls them before it makes a cell. Each program first spawns children
//! that do end, so that the thread expects it.
#![expect(
    clippy::async_yields_async,
    reason = "a parent hands its child out to be awaited elsewhere"
)]

mod random;
mod wakes;

use std::future::{poll_fn, ready};
use std::panic::panic_any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::task::Poll;
use std::thread;

use terrace_executor::{Builder, Executor, StaticExecutor, Task, block_on, current};
use terrace_testing::{Dropped, Drops, OnDrop, Yields, poll_once, sole, text, text_of, watchdog};

fn pool(workers: usize) -> &'static StaticExecutor {
    Builder::new().workers(workers).build().leak()
}

/// The thread expects the next child to end at once.
fn expect_ends(executor: &Executor<'static>) {
    for n in 0..8 {
        assert_eq!(executor.spawn_eager(ready(n)).try_take(), Some(n));
    }
}

/// Calls `body` in a task of a worker, whose eager children are expected to end.
fn on_worker<T: Send + 'static>(
    executor: &'static StaticExecutor,
    body: impl FnOnce() -> T + Send + 'static,
) -> T {
    block_on(executor.spawn(async move {
        expect_ends(executor);
        body()
    }))
}

#[test]
fn handles_of_ended_children_go_anywhere() {
    let _watchdog = watchdog();
    let executor = pool(1);
    let drops = Drops::new();
    let spawn = || {
        let value = drops.value();
        on_worker(executor, move || executor.spawn_eager(async move { value }))
    };
    let taken = |task: &mut Task<Dropped>| drop(task.try_take().expect("it has ended"));
    // Here, on a thread that is not the worker.
    drop(spawn());
    spawn().detach();
    drop(block_on(spawn()));
    drop(block_on(spawn().cancel()).expect("it has ended"));
    assert!(block_on(spawn().fallible()).is_some());
    let mut task = spawn();
    assert!(task.is_finished());
    taken(&mut task);
    assert!(task.try_take().is_none());
    assert!(matches!(poll_once(&mut task.fallible()), Poll::Ready(None)));
    assert_eq!(drops.count(), 6);
    // On the other worker, and after the executor.
    let other = Builder::new().workers(1).build();
    let task = {
        let value = drops.value();
        let other = Arc::new(other);
        let again = other.clone();
        let task = block_on(other.spawn(async move {
            expect_ends(&again);
            again.spawn_eager(async move { value })
        }));
        drop(other);
        task
    };
    thread::spawn(move || drop(task)).join().expect("it drops");
    assert_eq!(drops.count(), 7);
    assert!(executor.is_empty());
}

fn handled() -> (&'static StaticExecutor, impl Fn() -> String) {
    let (sender, panics): (Sender<String>, _) = channel();
    let executor = Builder::new()
        .workers(1)
        .panic_handler(move |payload| drop(sender.send(text(&*payload).to_owned())))
        .build();
    (executor.leak(), move || panics.recv().expect("handled"))
}

#[test]
fn panics_are_the_childs() {
    let _watchdog = watchdog();
    let (executor, handled) = handled();
    // In the poll, in the destructor of the future, and in that of the output.
    let polled = on_worker(executor, move || {
        executor.spawn_eager(async { panic_any("polled") })
    });
    assert_eq!(text_of(|| block_on::<()>(polled)), "polled");
    let dropped = on_worker(executor, move || {
        let guard = OnDrop(|| panic_any("dropped"));
        executor.spawn_eager(poll_fn(move |_| {
            let _guard = &guard;
            Poll::Ready(1)
        }))
    });
    assert_eq!(text_of(|| block_on(dropped)), "dropped");
    let output = on_worker(executor, move || {
        executor.spawn_eager(async { OnDrop(|| panic_any("output")) })
    });
    drop(output);
    assert_eq!(handled(), "output");
    on_worker(executor, move || {
        executor
            .spawn_eager(async { panic_any("detached") })
            .detach();
    });
    assert_eq!(handled(), "detached");
    // In the destructor of a future that was pending: cancelled, it goes to the handler.
    let pending = on_worker(executor, move || {
        let guard = OnDrop(|| panic_any("cancelled"));
        executor.spawn_eager(poll_fn(move |_| {
            let _guard = &guard;
            Poll::<()>::Pending
        }))
    });
    assert_eq!(block_on(pending.cancel()), None);
    assert_eq!(handled(), "cancelled");
    assert!(executor.is_empty());
    on_worker(executor, || ());
}

/// A pending child counts as one task, and ends with its executor.
#[test]
fn pending_children_go_with_their_executor() {
    let _watchdog = watchdog();
    let drops = Drops::new();
    let executor = Arc::new(Builder::new().workers(1).build());
    let parent = {
        let (executor, never) = (executor.clone(), [drops.never(), drops.never()]);
        async move {
            expect_ends(&executor);
            let tasks = never.map(|child| {
                let task = executor.spawn_eager(child);
                expect_ends(&executor);
                task
            });
            let [detached, task] = tasks;
            detached.detach();
            task
        }
    };
    let task = block_on(executor.spawn(parent));
    assert!(!executor.is_empty());
    assert_eq!(drops.count(), 0);
    // The worker may still hold its reference, with the parent's future.
    drop(sole(executor));
    assert_eq!(drops.count(), 2);
    assert_eq!(poll_once(&mut task.fallible()), Poll::Ready(None));
}

/// The child sees its parent's worker, counts as a task, and yields to others that are queued.
#[test]
fn the_first_poll_is_a_part_of_the_parents() {
    let _watchdog = watchdog();
    let executor = pool(1);
    let (inside, empty, outside) = on_worker(executor, move || {
        let mut child = executor.spawn_eager(async move { (current(), executor.is_empty()) });
        let (inside, empty) = child.try_take().expect("it has ended");
        (inside, empty, current())
    });
    assert!(inside.is_some() && !empty);
    assert_eq!(inside, outside);
    // A child that yields goes behind a task that was queued before.
    let order = Arc::new(AtomicU32::new(0));
    let next = |order: &Arc<AtomicU32>| {
        let order = order.clone();
        move || order.fetch_add(1, Ordering::Relaxed)
    };
    let (queued, yields) = (next(&order), next(&order));
    let [queued, yielded] = on_worker(executor, move || {
        let queued = executor.spawn(async move { queued() });
        let yielded = executor.spawn_eager(async move {
            Yields(1).await;
            yields()
        });
        [queued, yielded]
    })
    .map(block_on);
    assert_eq!((queued, yielded), (0, 1));
}

#[repr(align(64))]
struct Aligned([u8; 64]);

/// Futures that have no room take the ordinary way.
#[test]
fn odd_futures() {
    let _watchdog = watchdog();
    let executor = pool(1);
    on_worker(executor, move || {
        let aligned = Aligned([7; 64]);
        let mut task = executor.spawn_eager(async move {
            assert_eq!((&raw const aligned).addr() % 64, 0);
            aligned.0[63]
        });
        assert_eq!(task.try_take(), Some(7));
        let mut task = executor.spawn_eager(async { Aligned([8; 64]) });
        let output = task.try_take().expect("it has ended");
        assert_eq!(output.0, [8; 64]);
        assert_eq!(
            executor.spawn_eager(ready([9; 1_000])).try_take(),
            Some([9; 1_000])
        );
        assert_eq!(
            executor.spawn_eager(ready([9; 5_000])).try_take(),
            Some([9; 5_000])
        );
    });
}

/// The same without threads of the pool: a `run` future is a runner, too.
#[test]
fn in_a_run() {
    let _watchdog = watchdog();
    let drops = Drops::new();
    let word = String::from("borrowed");
    let executor = Executor::new();
    let value = block_on(executor.run(async {
        for n in 0..8 {
            assert_eq!(executor.spawn_eager(ready(n)).try_take(), Some(n));
        }
        let task = executor.spawn_eager(async {
            let _value = drops.value();
            Yields(2).await;
            word.len()
        });
        assert!(!task.is_finished());
        task.await
    }));
    assert_eq!((value, drops.count()), (8, 1));
    assert!(executor.is_empty());
}
