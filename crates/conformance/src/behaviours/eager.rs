//! Eager children: polled once in the call that spawns them, and as any other from then on.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::kind::{Caps, Handle, Kind};
use crate::tools::{Slot, Tracker, arrived, text_of, until, wait, yields};

pub(crate) fn a_child_is_polled_in_the_call<K: Kind>(kind: K, tracker: &Tracker) {
    for n in 0..100 {
        let (inside, token) = (tracker.token(), tracker.token());
        let mut task = kind.spawn_eager(async move {
            let _inside = inside;
            (n, token)
        });
        assert!(task.is_finished() || !kind.polls_at_spawn(), "{n}");
        if kind.polls_at_spawn() {
            assert_eq!(tracker.live(), 1, "the future is gone");
            assert_eq!(task.try_take().expect("it is done").0, n);
            assert!(task.try_take().is_none());
        } else {
            assert_eq!(wait(&kind, task).0, n);
        }
    }
}

pub(crate) fn a_pending_child_goes_on<K: Kind>(kind: K, tracker: &Tracker) {
    let (slot, polls, token) = (Slot::default(), tracker.counter(), tracker.token());
    let task = kind.spawn_eager({
        let (slot, polls) = (slot.clone(), polls.clone());
        poll_fn(move |context| {
            let _inside = &token;
            polls.add();
            if polls.get() == 3 {
                return Poll::Ready(7);
            }
            slot.leave(context);
            Poll::Pending
        })
    });
    assert!(polls.get() == 1 || !kind.polls_at_spawn());
    for _ in 0..2 {
        arrived(&kind, &slot).wake();
    }
    assert_eq!(wait(&kind, task), 7);
    assert_eq!(polls.get(), 3);
}

/// Done ones and pending ones, by every way to let go of a handle.
pub(crate) fn cancelled_and_detached_children<K: Kind>(kind: K, tracker: &Tracker) {
    let spawn = |times: usize| {
        let (inside, token) = (tracker.token(), tracker.token());
        kind.spawn_eager(async move {
            let _inside = inside;
            yields(times).await;
            token
        })
    };
    for times in [0, 3] {
        drop(spawn(times));
        spawn(times).detach();
        let cancelled = wait(&kind, spawn(times).cancel());
        assert!(cancelled.is_some() || times > 0 || !kind.polls_at_spawn());
        drop(cancelled);
        until(&kind, || tracker.live() == 0);
    }
}

pub(crate) fn a_panic_is_the_childs<K: Kind>(kind: K, tracker: &Tracker) {
    let token = tracker.token();
    let task = kind.spawn_eager(async move {
        let _inside = token;
        panic!("in the first poll");
    });
    assert!(task.is_finished() || !kind.polls_at_spawn());
    assert_eq!(text_of(|| wait::<K, ()>(&kind, task)), "in the first poll");
    assert_eq!(wait(&kind, kind.spawn_eager(async { 1 })), 1);
}

/// The child lends its waker to another thread, which wakes it before the poll returns.
pub(crate) fn a_wake_in_the_first_poll<K: Kind>(kind: K, tracker: &Tracker) {
    for keeps in [false, true] {
        let (polls, token, slot) = (tracker.counter(), tracker.token(), Slot::default());
        let task = kind.spawn_eager({
            let (polls, slot) = (polls.clone(), slot.clone());
            poll_fn(move |context| {
                let _inside = &token;
                polls.add();
                if polls.get() == 2 {
                    return Poll::Ready(());
                }
                let waker = context.waker();
                let wake = || {
                    if keeps {
                        slot.leave(&Context::from_waker(waker));
                    }
                    waker.wake_by_ref();
                };
                std::thread::scope(|scope| scope.spawn(wake).join().expect("wakes"));
                Poll::Pending
            })
        });
        wait(&kind, task);
        assert_eq!(polls.get(), 2);
        if let Some(waker) = slot.take() {
            waker.wake();
        }
    }
}

/// Spawns a child that does the same, as often as it says, and awaits it.
fn chain<H: Handle>(handle: H, left: u32) -> Pin<Box<dyn Future<Output = u32> + Send>> {
    Box::pin(async move {
        if left == 0 {
            return 0;
        }
        let child = handle.spawn_eager(chain(handle.clone(), left - 1));
        child.expect("the executor is there").await + 1
    })
}

/// A hundred thousand deep: a bound on the depth keeps the stack small.
pub(crate) fn children_nest_deep<K: Kind>(kind: K, _tracker: &Tracker) {
    const DEEP: u32 = if cfg!(target_arch = "wasm32") {
        1_000
    } else {
        100_000
    };
    let task = kind.spawn_eager(chain(kind.handle(), DEEP));
    assert_eq!(wait(&kind, task), DEEP);
}

/// A task that spawns and awaits eager children lets others run before it has had a thousand of them.
pub(crate) fn a_parent_that_spawns_yields<K: Kind>(kind: K, tracker: &Tracker) {
    // Another thread may take the other task, and be kept off its processor in the middle of it.
    let tries = if kind.caps().has(Caps::ONE_THREAD) {
        1
    } else {
        3
    };
    let children = (0..tries).map(|_| children_before_another(&kind, tracker));
    let least = children.min().expect("there is a try");
    assert!(least < 1_000, "the other task has had no turn");
}

/// How many eager children a task has, up to a thousand, before another task has run.
fn children_before_another<K: Kind>(kind: &K, tracker: &Tracker) -> usize {
    let (ran, handle) = (tracker.counter(), kind.handle());
    let parent = kind.spawn(async move {
        let seen = ran.clone();
        let other = handle.spawn(async move { seen.add() });
        other.expect("the executor is there").detach();
        let mut children = 0;
        while ran.get() == 0 && children < 1_000 {
            let child = handle.spawn_eager(async {});
            child.expect("the executor is there").await;
            children += 1;
        }
        children
    });
    wait(kind, parent)
}
