//! No wake is lost, on any thread and at any time. A waker outlives its executor without harm.

use std::future::poll_fn;
use std::task::Poll;

use terrace_sync::Arc;

use crate::kind::{Caps, Kind};
use crate::tools::{Channel, OnDrop, Slot, Tracker, arrived, settle, wait, wake_owned, yields};

pub(crate) fn from_another_thread_while_idle<K: Kind>(kind: K, tracker: &Tracker) {
    for _ in 0..20 {
        let (slot, token) = (Slot::default(), tracker.token());
        let task = kind.spawn({
            let slot = slot.clone();
            async move {
                slot.pause().await;
                token
            }
        });
        let waker = arrived(&kind, &slot);
        settle(&kind);
        let thread = std::thread::spawn(move || waker.wake());
        drop(wait(&kind, task));
        thread.join().expect("a wake does not panic");
    }
}

/// After a wake during a poll comes another poll, which sees all that was written before the wake.
pub(crate) fn from_another_thread_while_running<K: Kind>(kind: K, tracker: &Tracker) {
    const WAKES: usize = 2_000;
    let (slot, written, token) = (Slot::default(), tracker.counter(), tracker.token());
    let task = kind.spawn({
        let (slot, written) = (slot.clone(), written.clone());
        poll_fn(move |context| {
            let _inside = &token;
            slot.leave(context);
            if written.get() == WAKES {
                return Poll::Ready(());
            }
            Poll::Pending
        })
    });
    let waker = arrived(&kind, &slot);
    let busy = kind.spawn({
        let written = written.clone();
        async move {
            while written.get() != WAKES {
                yields(1).await;
            }
        }
    });
    let thread = std::thread::spawn(move || {
        for _ in 0..WAKES {
            written.add();
            waker.wake_by_ref();
        }
    });
    wait(&kind, task);
    wait(&kind, busy);
    thread.join().expect("a wake does not panic");
}

pub(crate) fn before_the_poll_returns<K: Kind>(kind: K, tracker: &Tracker) {
    let (polls, token) = (tracker.counter(), tracker.token());
    let task = kind.spawn({
        let polls = polls.clone();
        poll_fn(move |context| {
            let _inside = &token;
            polls.add();
            if polls.get() == 2 {
                return Poll::Ready(());
            }
            // Two wakes within a poll are one more poll.
            context.waker().wake_by_ref();
            wake_owned(context.waker());
            Poll::Pending
        })
    });
    wait(&kind, task);
    settle(&kind);
    assert_eq!(polls.get(), 2);
}

pub(crate) fn after_the_task_is_done<K: Kind>(kind: K, tracker: &Tracker) {
    let (slot, token) = (Slot::default(), tracker.token());
    let task = kind.spawn({
        let slot = slot.clone();
        poll_fn(move |context| {
            slot.leave(context);
            let _inside = &token;
            Poll::Ready(())
        })
    });
    wait(&kind, task);
    let waker = slot.take().expect("it was polled");
    waker.wake_by_ref();
    wake_owned(&waker);
    settle(&kind);
    assert!(slot.take().is_none(), "polled after its end");
}

pub(crate) fn a_waker_outlives_its_executor<K: Kind>(kind: K, tracker: &Tracker) {
    let waker = pending_then_gone(kind, tracker);
    waker.wake_by_ref();
    wake_owned(&waker);
    drop(waker);
}

pub(crate) fn a_waker_outlives_its_executor_elsewhere<K: Kind>(kind: K, tracker: &Tracker) {
    let waker = pending_then_gone(kind, tracker);
    let thread = std::thread::spawn(move || {
        waker.wake_by_ref();
        wake_owned(&waker);
        drop(waker);
    });
    thread.join().expect("a late wake does nothing");
}

/// The waker of a task whose executor is gone. Static ones stay: their task is cancelled instead.
fn pending_then_gone<K: Kind>(kind: K, tracker: &Tracker) -> std::task::Waker {
    let (slot, token) = (Slot::default(), tracker.token());
    let task = kind.spawn({
        let slot = slot.clone();
        async move {
            let _inside = token;
            slot.forever::<()>().await;
        }
    });
    let waker = arrived(&kind, &slot);
    if kind.caps().has(Caps::CLOSES) {
        task.detach();
        drop(kind);
    } else {
        wait(&kind, task.cancel());
    }
    tracker.all_gone();
    waker
}

pub(crate) fn race_with_the_drop<K: Kind>(kind: K, tracker: &Tracker) {
    const ROUNDS: usize = 50;
    let make = kind.maker();
    let mut kind = Some(kind);
    for round in 0..ROUNDS {
        let kind = kind.take().unwrap_or_else(make);
        let slots = [Slot::default(), Slot::default()];
        for slot in &slots {
            let (slot, token) = (slot.clone(), tracker.token());
            let task = kind.spawn(async move {
                let _inside = token;
                slot.forever::<()>().await;
            });
            task.detach();
        }
        let start = Arc::new(std::sync::Barrier::new(3));
        let threads = slots.map(|slot| {
            let (waker, start) = (arrived(&kind, &slot), Arc::clone(&start));
            std::thread::spawn(move || {
                start.wait();
                for _ in 0..10 {
                    waker.wake_by_ref();
                }
                waker.wake();
            })
        });
        start.wait();
        if round % 2 == 0 {
            kind.tick();
        }
        drop(kind);
        for thread in threads {
            thread.join().expect("a wake does not panic");
        }
    }
}

/// One that wakes itself 10,000 times does not keep another one waiting.
pub(crate) fn a_task_that_wakes_itself_is_fair<K: Kind>(kind: K, tracker: &Tracker) {
    const SELF_WAKES: usize = 10_000;
    const STEPS: usize = 100;
    let polls = tracker.counter();
    let greedy = kind.spawn({
        let polls = polls.clone();
        async move {
            for _ in 0..SELF_WAKES {
                polls.add();
                yields(1).await;
            }
        }
    });
    let at_end = kind.spawn({
        let polls = polls.clone();
        async move {
            yields(STEPS).await;
            polls.get()
        }
    });
    let at_end = wait(&kind, at_end);
    if kind.caps().has(Caps::MANUAL.and(Caps::FIFO)) {
        assert!(
            at_end <= STEPS + 1,
            "{at_end} polls of one for {STEPS} of the other"
        );
    }
    wait(&kind, greedy);
    assert_eq!(polls.get(), SELF_WAKES);
}

pub(crate) fn ping_pong_over_a_channel<K: Kind>(kind: K, tracker: &Tracker) {
    const ROUNDS: usize = 1_000;
    let (there, back) = (Channel::new(), Channel::new());
    let (end, token) = (tracker.counter(), tracker.token());
    let echo = kind.spawn({
        let (there, back) = (Arc::clone(&there), Arc::clone(&back));
        async move {
            let _inside = token;
            for _ in 0..ROUNDS {
                let item: usize = there.receive().await;
                back.send(item + 1);
            }
        }
    });
    let ping = kind.spawn({
        let end = end.clone();
        async move {
            let _end = OnDrop(|| end.add());
            let mut item = 0;
            for _ in 0..ROUNDS {
                there.send(item);
                item = back.receive().await;
            }
            item
        }
    });
    assert_eq!(wait(&kind, ping), ROUNDS);
    wait(&kind, echo);
    assert_eq!(end.get(), 1);
}

pub(crate) fn many_tasks_are_joined<K: Kind>(kind: K, tracker: &Tracker) {
    const TASKS: usize = 1_000;
    let tasks: Vec<_> = (0..TASKS)
        .map(|n| {
            let token = tracker.token();
            kind.spawn(async move {
                yields(n % 3).await;
                (n, token)
            })
        })
        .collect();
    let sum = kind.spawn(async move {
        let mut sum = 0;
        for task in tasks {
            sum += task.await.0;
        }
        sum
    });
    assert_eq!(wait(&kind, sum), TASKS * (TASKS - 1) / 2);
}

pub(crate) fn a_chain_of_tasks_awaits_each_other<K: Kind>(kind: K, tracker: &Tracker) {
    const LENGTH: usize = 200;
    let (slot, token) = (Slot::default(), tracker.token());
    let mut last = kind.spawn({
        let slot = slot.clone();
        async move {
            let _inside = token;
            slot.pause().await;
            0
        }
    });
    for _ in 0..LENGTH {
        let (before, token) = (last, tracker.token());
        last = kind.spawn(async move {
            let _inside = token;
            before.await + 1
        });
    }
    settle(&kind);
    arrived(&kind, &slot).wake();
    assert_eq!(wait(&kind, last), LENGTH);
}
