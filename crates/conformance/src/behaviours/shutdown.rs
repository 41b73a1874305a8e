//! A dropped executor drops its tasks, for every behaviour of their destructors; handles and outputs outlive it.

use terrace_local::Task;
use terrace_sync::{Arc, Mutex};

use crate::kind::{Caps, Handle, Kind, poll_once};
use crate::tools::{OnDrop, Slot, Token, Tracker, arrived, payload_of, until};

/// A task that waits without end, once it has been polled.
fn pending<K: Kind, G: Send + 'static>(kind: &K, guard: G) -> Task<()> {
    let slot = Slot::default();
    let task = kind.spawn({
        let slot = slot.clone();
        async move {
            let _inside = guard;
            slot.forever::<()>().await;
        }
    });
    drop(arrived(kind, &slot));
    task
}

pub(crate) fn drops_queued_and_pending_tasks<K: Kind>(kind: K, tracker: &Tracker) {
    let mut handles = Vec::new();
    for n in 0..10 {
        let task = pending(&kind, tracker.token());
        if n % 2 == 0 {
            handles.push(task);
        } else {
            task.detach();
        }
    }
    for _ in 0..10 {
        let token = tracker.token();
        kind.spawn(async move { token }).detach();
    }
    drop(kind);
    tracker.all_gone();
    drop(handles);
}

pub(crate) fn a_fallible_task_has_no_output<K: Kind>(kind: K, tracker: &Tracker) {
    let mut task = pending(&kind, tracker.token()).fallible();
    drop(kind);
    tracker.all_gone();
    until_gone(|| task.is_finished());
    assert_eq!(poll_once(&mut task), std::task::Poll::Ready(None));
}

pub(crate) fn an_awaited_task_panics<K: Kind>(kind: K, tracker: &Tracker) {
    let mut task = pending(&kind, tracker.token());
    drop(kind);
    tracker.all_gone();
    until_gone(|| task.is_finished());
    drop(payload_of(|| poll_once(&mut task)));
}

/// The end of a drop on other threads: the token goes a little before the task is marked.
fn until_gone(condition: impl Fn() -> bool) {
    while !condition() {
        terrace_sync::thread::yield_now();
    }
}

/// The sibling is dropped unpolled, by its spawner or by the executor.
pub(crate) fn a_destructor_spawns_a_sibling<K: Kind>(kind: K, tracker: &Tracker) {
    let (handle, polls, tokens) = (kind.handle(), tracker.counter(), Arc::new(tracker.token()));
    let counted = polls.clone();
    let guard = OnDrop(move || {
        let (polls, token) = (counted.clone(), Arc::clone(&tokens));
        let task = handle.spawn(async move {
            let _inside = token;
            polls.add();
        });
        if let Some(task) = task {
            task.detach();
        }
    });
    pending(&kind, guard).detach();
    drop(kind);
    tracker.all_gone();
    assert_eq!(polls.get(), 0, "polled after the end");
}

pub(crate) fn a_destructor_wakes_a_sibling<K: Kind>(kind: K, tracker: &Tracker) {
    const TASKS: usize = 6;
    let slots: Vec<Slot> = (0..TASKS).map(|_| Slot::default()).collect();
    for (n, own) in slots.iter().enumerate() {
        let (own, others, token) = (own.clone(), slots.clone(), tracker.token());
        let guard = OnDrop(move || {
            // The next one's waker, and the one's before: one is dropped already, one is not, in either order.
            for other in [n + 1, n + TASKS - 1] {
                if let Some(waker) = others[other % TASKS].take() {
                    waker.wake();
                }
            }
        });
        let task = kind.spawn(async move {
            let _inside = (guard, token);
            own.forever::<()>().await;
        });
        task.detach();
    }
    let waits = |slot: &Slot| {
        let waker = slot.take();
        waker.is_some_and(|waker| {
            waker.wake();
            true
        })
    };
    // Each is polled twice, so that each has left a waker.
    for slot in &slots {
        until(&kind, || waits(slot));
    }
    if kind.caps().has(Caps::MANUAL) {
        while kind.tick() {}
    }
    drop(kind);
    for slot in &slots {
        drop(slot.take());
    }
    tracker.all_gone();
}

/// The place where tasks are kept changes while it is walked.
pub(crate) fn a_destructor_cancels_siblings<K: Kind>(kind: K, tracker: &Tracker) {
    const TASKS: usize = 16;
    let handles: Arc<Mutex<Vec<Task<()>>>> = Arc::default();
    for _ in 0..TASKS {
        let (handles_inside, token) = (Arc::clone(&handles), tracker.token());
        let guard = OnDrop(move || {
            // Two from the end: dropped after the lock is released.
            for _ in 0..2 {
                let task = handles_inside.lock().pop();
                drop(task);
            }
        });
        let task = pending(&kind, (guard, token));
        handles.lock().push(task);
    }
    drop(kind);
    tracker.all_gone();
    handles.lock().clear();
}

pub(crate) fn tasks_that_hold_each_other<K: Kind>(kind: K, tracker: &Tracker) {
    type Held = Arc<Mutex<Option<Task<()>>>>;
    let (one, other): (Held, Held) = Default::default();
    let first = pending(&kind, (Arc::clone(&other), tracker.token()));
    let second = pending(&kind, (Arc::clone(&one), tracker.token()));
    *one.lock() = Some(first);
    *other.lock() = Some(second);
    drop((one, other));
    drop(kind);
    tracker.all_gone();
}

pub(crate) fn a_finished_output_survives<K: Kind>(kind: K, tracker: &Tracker) {
    let token = tracker.token();
    let mut task: Task<(u32, Token)> = kind.spawn(async move { (9, token) });
    until(&kind, || task.is_finished());
    drop(kind);
    let (nine, _token) = task.try_take().expect("the output is the handle's");
    assert_eq!(nine, 9);
}

pub(crate) fn handles_are_dropped_elsewhere_meanwhile<K: Kind>(kind: K, tracker: &Tracker) {
    const ROUNDS: usize = 50;
    let make = kind.maker();
    let mut kind = Some(kind);
    for _ in 0..ROUNDS {
        let kind = kind.take().unwrap_or_else(make);
        let tasks: Vec<_> = (0..4).map(|_| pending(&kind, tracker.token())).collect();
        let start = Arc::new(std::sync::Barrier::new(2));
        let thread = std::thread::spawn({
            let start = Arc::clone(&start);
            move || {
                start.wait();
                drop(tasks);
            }
        });
        start.wait();
        drop(kind);
        thread.join().expect("handles are dropped quietly");
    }
    tracker.all_gone();
}
