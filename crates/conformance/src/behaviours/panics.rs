//! A panic reaches its own handle or none; the executor and its other tasks go on.

use std::panic::panic_any;

use crate::kind::Kind;
use crate::tools::{
    Slot, Token, Tracker, arrived, payload_of, settle, text_of, until, wait, yields,
};

/// Panics when dropped.
struct Bomb {
    text: &'static str,
    _token: Token,
}

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic_any(self.text);
        }
    }
}

fn bomb(tracker: &Tracker, text: &'static str) -> Bomb {
    let _token = tracker.token();
    Bomb { text, _token }
}

/// A task beside the panicking one ends as if nothing had happened, and a new one runs.
fn lives<K: Kind>(kind: &K, sibling: terrace_local::Task<u32>) {
    assert_eq!(wait(kind, sibling), 3);
    assert_eq!(wait(kind, kind.spawn(async { 4 })), 4);
}

fn sibling<K: Kind>(kind: &K) -> terrace_local::Task<u32> {
    kind.spawn(async {
        yields(3).await;
        3
    })
}

pub(crate) fn in_a_poll_reaches_the_awaiter_alone<K: Kind>(kind: K, tracker: &Tracker) {
    let (before, token) = (sibling(&kind), tracker.token());
    let task = kind.spawn(async move {
        let _inside = token;
        panic_any("in the poll");
    });
    assert_eq!(text_of(|| wait::<_, ()>(&kind, task)), "in the poll");
    lives(&kind, before);
}

pub(crate) fn in_a_later_poll<K: Kind>(kind: K, tracker: &Tracker) {
    let (before, slot, token) = (sibling(&kind), Slot::default(), tracker.token());
    let task = kind.spawn({
        let slot = slot.clone();
        async move {
            let _inside = token;
            slot.pause().await;
            panic_any("in the second poll");
        }
    });
    arrived(&kind, &slot).wake();
    assert_eq!(text_of(|| wait::<_, ()>(&kind, task)), "in the second poll");
    lives(&kind, before);
}

pub(crate) fn in_the_futures_destructor<K: Kind>(kind: K, tracker: &Tracker) {
    let (before, bomb) = (sibling(&kind), bomb(tracker, "in the destructor"));
    let task = kind.spawn(async move {
        let _inside = bomb;
        yields(1).await;
    });
    assert_eq!(text_of(|| wait(&kind, task)), "in the destructor");
    lives(&kind, before);
}

pub(crate) fn in_the_destructor_of_a_cancelled_future<K: Kind>(kind: K, tracker: &Tracker) {
    for awaited in [false, true] {
        let (before, slot) = (sibling(&kind), Slot::default());
        let task = kind.spawn({
            let (slot, bomb) = (slot.clone(), bomb(tracker, "in the destructor"));
            async move {
                let _inside = bomb;
                slot.forever::<()>().await;
            }
        });
        let _waker = arrived(&kind, &slot);
        if awaited {
            assert!(wait(&kind, task.cancel()).is_none());
        } else {
            drop(task);
        }
        until(&kind, || tracker.live() == 0);
        lives(&kind, before);
    }
}

pub(crate) fn in_the_outputs_destructor<K: Kind>(kind: K, tracker: &Tracker) {
    let before = sibling(&kind);
    // Dropped by the executor.
    let output = bomb(tracker, "in the output");
    kind.spawn(async move { output }).detach();
    until(&kind, || tracker.live() == 0);
    // Dropped with the handle, here: the panic stays in the task, too.
    let output = bomb(tracker, "in the output");
    let task = kind.spawn(async move { output });
    until(&kind, || task.is_finished());
    drop(task);
    until(&kind, || tracker.live() == 0);
    lives(&kind, before);
}

pub(crate) fn of_detached_tasks_leave_the_executor_alive<K: Kind>(kind: K, tracker: &Tracker) {
    let before = sibling(&kind);
    for n in 0..20 {
        let token = tracker.token();
        let task = kind.spawn(async move {
            let _inside = token;
            yields(n % 3).await;
            panic_any("detached");
        });
        task.detach();
    }
    until(&kind, || tracker.live() == 0);
    settle(&kind);
    lives(&kind, before);
}

pub(crate) fn through_try_take<K: Kind>(kind: K, tracker: &Tracker) {
    let token = tracker.token();
    let mut task = kind.spawn(async move {
        let _inside = token;
        panic_any("taken");
    });
    until(&kind, || task.is_finished());
    assert_eq!(text_of(|| -> Option<()> { task.try_take() }), "taken");
}

/// A payload whose destructor panics with another such payload, a few times.
struct Chain(u32);

impl Drop for Chain {
    fn drop(&mut self) {
        if self.0 > 0 {
            panic_any(Chain(self.0 - 1));
        }
    }
}

pub(crate) fn with_a_payload_that_panics_when_dropped<K: Kind>(kind: K, tracker: &Tracker) {
    let before = sibling(&kind);
    let token = tracker.token();
    kind.spawn(async move {
        let _inside = token;
        panic_any(Chain(2));
    })
    .detach();
    until(&kind, || tracker.live() == 0);
    // Delivered, it is the awaiter's.
    let task = kind.spawn(async { panic_any(Chain(0)) });
    let payload = payload_of(|| wait::<_, ()>(&kind, task));
    assert!(payload.is::<Chain>());
    lives(&kind, before);
}

pub(crate) fn in_destructors_during_the_drop<K: Kind>(kind: K, tracker: &Tracker) {
    let slots: Vec<Slot> = (0..4).map(|_| Slot::default()).collect();
    for slot in &slots {
        let (slot, bomb) = (slot.clone(), bomb(tracker, "during the drop"));
        let task = kind.spawn(async move {
            let _inside = bomb;
            slot.forever::<()>().await;
        });
        task.detach();
    }
    for slot in &slots {
        let _waker = arrived(&kind, slot);
    }
    drop(kind);
    tracker.all_gone();
}
