//! What a worker leaves to others while a sentinel watches. That one looks at slots, not at rings, and as a thread is inside of joins it does not
//! end. So each task that comes into a ring, or gets a permit, is published.

use std::future::poll_fn;
use std::sync::mpsc::{Sender, channel};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use terrace_executor::{Builder, Executor, Lane, Task, block_on};
use terrace_testing::{WakerSlot, Yields, on_own_thread, signal};
use terrace_thread::ThreadSpawner;

/// Long enough for the other worker to become the sentinel; too short only makes a test easier.
fn let_it_watch() {
    thread::sleep(Duration::from_millis(3));
}

/// Calls `test` with an executor of so many workers, in the place of a thread that forks.
fn beside_a_fork(workers: usize, test: impl FnOnce(&Executor<'static>) + Send + 'static) {
    on_own_thread(move || {
        let executor = Builder::new().workers(workers).build();
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

/// A task calls `next`, yields, and lets the task that it got go on. It lay in the worker's ring, so that a round has begun with it.
fn yields_before(
    executor: &Executor<'static>,
    go_on: Sender<()>,
    next: impl FnOnce() -> Task<()> + Send + 'static,
) {
    let (over, is_over) = channel();
    let yields = async move {
        let_it_watch();
        let blocked = next();
        Yields(1).await;
        go_on.send(()).unwrap();
        blocked.await;
        over.send(()).unwrap();
    };
    let spawner = executor.spawner();
    executor
        .spawn(async move { spawner.spawn(yields).detach() })
        .detach();
    is_over.recv().unwrap();
}

/// The woken one runs next, and blocks its thread until the first one has gone on.
#[test]
fn a_task_that_yielded_before_a_woken_one_blocks() {
    beside_a_fork(2, |executor| {
        for _ in 0..20 {
            let (waker, (go_on, goes_on)) = (WakerSlot::default(), channel());
            let blocked = woken(executor, &waker, move || goes_on.recv().unwrap());
            yields_before(executor, go_on, move || {
                waker.waker().wake();
                blocked
            });
        }
    });
}

#[test]
fn a_task_that_yielded_before_a_pinned_one_blocks() {
    beside_a_fork(2, |executor| {
        for _ in 0..20 {
            let (go_on, goes_on) = channel();
            let blocks = async move { goes_on.recv().unwrap() };
            yields_before(executor, go_on, || ThreadSpawner::current().spawn(blocks));
        }
    });
}

/// A task wakes another one, and waits for what that does.
#[test]
fn a_task_that_was_woken_before_a_wait() {
    beside_a_fork(2, |executor| {
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

/// A worker that was asked to end is asked to stay. So there is one permit more, for a background task that lies there, and no new thread that
/// looks.
#[test]
fn a_background_task_before_a_worker_stays() {
    beside_a_fork(3, |executor| {
        let (begins, begun) = channel();
        let ((release, released), (go_on, goes_on)) = (channel::<()>(), channel());
        let started = begins.clone();
        let blocks = executor.spawner().spawn_work_on(2, async move {
            started.send(()).unwrap();
            released.recv().unwrap();
        });
        begun.recv().unwrap();
        executor.set_workers(2).unwrap();
        let (over, is_over) = channel();
        let first = async move {
            begins.send(()).unwrap();
            goes_on.recv().unwrap();
            over.send(()).unwrap();
        };
        executor.spawn_on(Lane::Background, first).detach();
        begun.recv().unwrap();
        let second = async move { go_on.send(()).unwrap() };
        executor.spawn_on(Lane::Background, second).detach();
        let_it_watch();
        executor.set_workers(3).unwrap();
        is_over.recv().unwrap();
        release.send(()).unwrap();
        block_on(blocks);
    });
}
