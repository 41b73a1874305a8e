//! What a worker leaves to others while a sentinel watches. That one looks at slots, not at rings, and as a thread is inside of joins it does not
//! end. So each task that comes into a ring is published.

use std::future::poll_fn;
use std::sync::mpsc::channel;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use terrace_executor::{Builder, Executor, Task, block_on};
use terrace_testing::{WakerSlot, Yields, on_own_thread, signal};
use terrace_thread::ThreadSpawner;

/// Long enough for the other worker to become the sentinel; too short only makes a test easier.
fn let_it_watch() {
    thread::sleep(Duration::from_millis(3));
}

/// Calls `test` with an executor of two workers, in the place of a thread that forks.
fn beside_a_fork(test: impl FnOnce(&Executor<'static>) + Send + 'static) {
    on_own_thread(|| {
        let executor = Builder::new().workers(2).build();
        executor.with_worker(|worker| {
            worker.join(|_| (), |_| ());
            test(&executor);
        });
    });
}

/// A task that was polled, is pending until the waker is used, and then calls `f`.
fn woken(
    executor: &Executor<'static>,
    waker: &WakerSlot,
    f: impl FnOnce() + Send + 'static,
) -> Task<()> {
    let slot = waker.clone();
    let (polls, polled) = channel();
    let mut polls = Some(polls);
    let task = executor.spawn(async move {
        poll_fn(|context| {
            slot.leave(context);
            match polls.take() {
                Some(polls) => polls.send(()).map_or(Poll::Pending, |()| Poll::Pending),
                None => Poll::Ready(()),
            }
        })
        .await;
        f();
    });
    polled.recv().unwrap();
    task
}

/// A task yields. What the worker runs next blocks its thread until that task has gone on: one that it has woken, or a pinned one.
#[test]
fn a_task_that_yielded_before_another_blocks() {
    for pinned in [false, true] {
        beside_a_fork(move |executor| {
            for _ in 0..20 {
                let (waker, (sends, blocks)) = (WakerSlot::default(), channel());
                let blocked = move || blocks.recv().unwrap();
                let (blocked, spawn_pinned): (_, Option<Box<dyn FnOnce() -> Task<()> + Send>>) =
                    if pinned {
                        let pinned = async move { blocked() };
                        let spawn = || ThreadSpawner::current().spawn(pinned);
                        (None, Some(Box::new(spawn)))
                    } else {
                        (Some(woken(executor, &waker, blocked)), None)
                    };
                let spawner = executor.spawner();
                let (over, is_over) = channel();
                let wakes = async move {
                    let_it_watch();
                    let blocked = match spawn_pinned {
                        Some(spawn) => spawn(),
                        None => {
                            waker.waker().wake();
                            blocked.unwrap()
                        }
                    };
                    Yields(1).await;
                    sends.send(()).unwrap();
                    blocked.await;
                    over.send(()).unwrap();
                };
                // In the ring, so that a round begins with it.
                executor
                    .spawn(async move { spawner.spawn(wakes).detach() })
                    .detach();
                is_over.recv().unwrap();
            }
        });
    }
}

/// A task wakes another one, and waits for what that does.
#[test]
fn a_task_that_was_woken_before_a_wait() {
    beside_a_fork(|executor| {
        for _ in 0..20 {
            let (waker, (future, wake)) = (WakerSlot::default(), signal());
            woken(executor, &waker, move || wake.set()).detach();
            let (over, is_over) = channel();
            executor
                .spawn(async move {
                    let waker = waker.waker();
                    let_it_watch();
                    waker.wake();
                    block_on(future);
                    over.send(()).unwrap();
                })
                .detach();
            is_over.recv().unwrap();
        }
    });
}
