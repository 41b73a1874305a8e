//! Cancelled tasks are dropped once, by their executor, and polled no more.

use std::future::poll_fn;
use std::task::Poll;

use terrace_local::Task;
use terrace_sync::{Arc, Mutex};

use crate::kind::Kind;
use crate::tools::{OnDrop, Slot, Tracker, arrived, settle, until, wait, yields};

pub(crate) fn before_the_first_poll<K: Kind>(kind: K, tracker: &Tracker) {
    let (polls, token) = (tracker.counter(), tracker.token());
    let task = kind.spawn({
        let polls = polls.clone();
        async move {
            let _inside = token;
            polls.add();
        }
    });
    drop(task);
    until(&kind, || tracker.live() == 0);
    while kind.tick() {}
    assert_eq!(polls.get(), 0, "polled after it was cancelled");
}

pub(crate) fn while_pending<K: Kind>(kind: K, tracker: &Tracker) {
    let (slot, token) = (Slot::default(), tracker.token());
    let task = kind.spawn({
        let slot = slot.clone();
        async move {
            let _inside = token;
            slot.forever::<u32>().await
        }
    });
    let waker = arrived(&kind, &slot);
    assert_eq!(wait(&kind, task.cancel()), None);
    assert_eq!(tracker.live(), 0, "cancelled means dropped");
    waker.wake();
    settle(&kind);
    assert!(slot.take().is_none(), "polled after it was cancelled");
}

pub(crate) fn after_it_is_done<K: Kind>(kind: K, tracker: &Tracker) {
    let token = tracker.token();
    let task = kind.spawn(async move { (5, token) });
    until(&kind, || task.is_finished());
    let output = wait(&kind, task.cancel()).expect("it was done before");
    assert_eq!(output.0, 5);
}

pub(crate) fn between_wake_and_poll<K: Kind>(kind: K, tracker: &Tracker) {
    let (slot, token, polls) = (Slot::default(), tracker.token(), tracker.counter());
    let task = kind.spawn({
        let (slot, polls) = (slot.clone(), polls.clone());
        async move {
            let _inside = token;
            slot.pause().await;
            polls.add();
        }
    });
    arrived(&kind, &slot).wake();
    drop(task);
    until(&kind, || tracker.live() == 0);
    while kind.tick() {}
    assert_eq!(polls.get(), 0, "polled after it was cancelled");
}

pub(crate) fn by_dropping_the_handle<K: Kind>(kind: K, tracker: &Tracker) {
    let (slot, drops) = (Slot::default(), tracker.counter());
    let task = kind.spawn({
        let (slot, drops, token) = (slot.clone(), drops.clone(), tracker.token());
        async move {
            let _inside = (OnDrop(move || drops.add()), token);
            slot.forever::<()>().await;
        }
    });
    let waker = arrived(&kind, &slot);
    drop(task);
    until(&kind, || tracker.live() == 0);
    waker.wake_by_ref();
    settle(&kind);
    drop(waker);
    assert_eq!(drops.get(), 1, "dropped once");
}

pub(crate) fn a_finished_task_drops_its_output_with_the_handle<K: Kind>(
    kind: K,
    tracker: &Tracker,
) {
    let token = tracker.token();
    let task = kind.spawn(async move { token });
    until(&kind, || task.is_finished());
    assert_eq!(tracker.live(), 1, "the output waits for its handle");
    drop(task);
    until(&kind, || tracker.live() == 0);
}

/// It is being polled while it is cancelled, so it is dropped when that poll ends.
pub(crate) fn a_task_that_drops_its_own_handle<K: Kind>(kind: K, tracker: &Tracker) {
    let own: Arc<Mutex<Option<Task<()>>>> = Arc::default();
    let (slot, polls, token) = (Slot::default(), tracker.counter(), tracker.token());
    let task = kind.spawn({
        let (own, slot, polls) = (Arc::clone(&own), slot.clone(), polls.clone());
        poll_fn(move |context| {
            let _inside = &token;
            slot.leave(context);
            let task = own.lock().take();
            if task.is_some() {
                polls.add();
            }
            drop(task);
            Poll::Pending
        })
    });
    let waker = arrived(&kind, &slot);
    *own.lock() = Some(task);
    waker.wake();
    until(&kind, || tracker.live() == 0);
    assert_eq!(polls.get(), 1);
}

/// The handle is `Send`, wherever the task is.
pub(crate) fn awaited_from_elsewhere<K: Kind>(kind: K, tracker: &Tracker) {
    let (slot, inside, output) = (Slot::default(), tracker.token(), tracker.token());
    let awaited = kind.spawn(async move {
        yields(3).await;
        output
    });
    let cancelled = kind.spawn({
        let slot = slot.clone();
        async move {
            let _inside = inside;
            slot.forever::<()>().await;
        }
    });
    let _waker = arrived(&kind, &slot);
    let ended = tracker.counter();
    let thread = std::thread::spawn({
        let ended = ended.clone();
        move || {
            let token = terrace_executor::block_on(awaited);
            let output = terrace_executor::block_on(cancelled.cancel());
            assert!(output.is_none());
            drop(token);
            ended.add();
        }
    });
    until(&kind, || ended.get() == 1 || thread.is_finished());
    thread.join().expect("what it awaits comes");
}
