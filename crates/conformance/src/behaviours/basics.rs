//! Tasks run, once for each wake, in order, at every size and number.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use terrace_sync::{Arc, Mutex};

use crate::kind::Kind;
use crate::tools::{Slot, Tracker, arrived, settle, until, wait, wake_owned, yields};

pub(crate) fn an_output_is_delivered<K: Kind>(kind: K, tracker: &Tracker) {
    let (inside, output) = (tracker.token(), tracker.token());
    let task = kind.spawn_exact(async move {
        let _inside = inside;
        yields(2).await;
        (42, output)
    });
    let (number, output) = wait(&kind, task);
    assert_eq!(number, 42);
    drop(output);
}

pub(crate) fn a_detached_task_runs<K: Kind>(kind: K, tracker: &Tracker) {
    let (token, runs) = (tracker.token(), tracker.counter());
    let slot = Slot::default();
    kind.spawn({
        let (slot, runs) = (slot.clone(), runs.clone());
        async move {
            slot.pause().await;
            runs.add();
            token
        }
    })
    .detach();
    arrived(&kind, &slot).wake();
    until(&kind, || runs.get() == 1 && tracker.live() == 0);
}

pub(crate) fn a_tick_polls_one_task<K: Kind>(kind: K, tracker: &Tracker) {
    let polls = tracker.counter();
    let tasks: Vec<_> = (0..3)
        .map(|_| {
            let polls = polls.clone();
            kind.spawn(async move { polls.add() })
        })
        .collect();
    assert_eq!(polls.get(), 0, "nothing is polled before a tick");
    for ticks in 1..=3 {
        assert!(kind.tick());
        assert_eq!(polls.get(), ticks);
    }
    assert!(!kind.tick(), "nothing is left to poll");
    assert!(tasks.iter().all(|task| task.is_finished()));
}

pub(crate) fn ready_tasks_are_polled_in_order<K: Kind>(kind: K, _tracker: &Tracker) {
    const TASKS: usize = 5;
    let log = Arc::new(Mutex::new(Vec::new()));
    let slots: Vec<Slot> = (0..TASKS).map(|_| Slot::default()).collect();
    for (n, slot) in slots.iter().enumerate() {
        let (log, slot) = (Arc::clone(&log), slot.clone());
        let task = kind.spawn(async move {
            log.lock().push(n);
            slot.pause().await;
            log.lock().push(n);
            yields(1).await;
            log.lock().push(n);
        });
        task.detach();
    }
    while kind.tick() {}
    assert_eq!(std::mem::take(&mut *log.lock()), [0, 1, 2, 3, 4]);
    let woken = [3, 1, 4, 0, 2];
    for n in woken {
        slots[n].take().expect("the task waits").wake();
    }
    while kind.tick() {}
    assert_eq!(*log.lock(), [woken, woken].concat());
}

pub(crate) fn each_wake_is_one_poll<K: Kind>(kind: K, tracker: &Tracker) {
    const WAKES: usize = 5;
    let (polls, slot, token) = (tracker.counter(), Slot::default(), tracker.token());
    let task = kind.spawn({
        let (polls, slot) = (polls.clone(), slot.clone());
        poll_fn(move |context| {
            let _inside = &token;
            polls.add();
            slot.leave(context);
            match polls.get() {
                n if n > WAKES => Poll::Ready(()),
                _ => Poll::Pending,
            }
        })
    });
    for wakes in 0..WAKES {
        let waker = arrived(&kind, &slot);
        settle(&kind);
        assert_eq!(polls.get(), wakes + 1, "polled without a wake");
        // Wakes of a task that is not polled in between are one wake; where threads poll, they may be more.
        if kind.caps().has(crate::Caps::MANUAL) {
            waker.wake_by_ref();
            wake_owned(&waker);
        }
        waker.wake();
    }
    wait(&kind, task);
    settle(&kind);
    assert_eq!(polls.get(), WAKES + 1, "polled after its end");
}

pub(crate) fn finished_tasks_say_so<K: Kind>(kind: K, tracker: &Tracker) {
    let (slot, token) = (Slot::default(), tracker.token());
    let mut task = kind.spawn({
        let slot = slot.clone();
        async move {
            slot.pause().await;
            ("done", token)
        }
    });
    let waker = arrived(&kind, &slot);
    assert!(!task.is_finished());
    assert!(task.try_take().is_none());
    waker.wake();
    until(&kind, || task.is_finished());
    let (text, token) = task.try_take().expect("the output is there");
    assert_eq!(text, "done");
    drop(token);
    assert!(task.try_take().is_none(), "an output is taken once");
    assert!(task.is_finished());
}

pub(crate) fn a_done_future_is_dropped_before_its_output_is_taken<K: Kind>(
    kind: K,
    tracker: &Tracker,
) {
    let inside = tracker.token();
    let mut task = kind.spawn(async move {
        let _inside = inside;
        7
    });
    until(&kind, || task.is_finished() && tracker.live() == 0);
    assert_eq!(task.try_take(), Some(7));
}

struct Nothing;

impl Future for Nothing {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}

pub(crate) fn zero_sized_futures_run<K: Kind>(kind: K, _tracker: &Tracker) {
    let tasks: Vec<_> = (0..100).map(|_| kind.spawn_exact(Nothing)).collect();
    for task in tasks {
        wait(&kind, task);
    }
}

/// The executor's own threads are as large as ever; the future is spawned, and polled where the kind is ticked, on a
/// small stack.
pub(crate) fn a_large_future_fits_a_small_stack<K: Kind>(kind: K, tracker: &Tracker) {
    const FUTURE: usize = 48 * 1024;
    // Instrumented frames are larger. Where the processor is another one, each frame of a debug build has two copies of such an argument.
    const TIMES: usize = match (
        cfg!(any(terrace_tsan, terrace_asan)),
        cfg!(target_arch = "x86_64"),
    ) {
        (true, _) => 4,
        (false, true) => 1,
        (false, false) => 2,
    };
    const STACK: usize = 256 * 1024 * TIMES;
    let make = kind.maker();
    drop(kind);
    let token = tracker.token();
    let thread = std::thread::Builder::new().stack_size(STACK);
    let thread = thread.spawn(move || {
        let kind = make();
        let task = kind.spawn_exact(async move {
            let mut large = [1u8; FUTURE];
            yields(1).await;
            large[FUTURE / 2] = 2;
            let sum: usize = large.iter().map(|n| usize::from(*n)).sum();
            (sum, token)
        });
        let (sum, _token) = wait(&kind, task);
        assert_eq!(sum, FUTURE + 1);
    });
    let ended = thread.expect("a thread can be started").join();
    assert!(ended.is_ok());
}

pub(crate) fn a_hundred_thousand_tasks_run<K: Kind>(kind: K, tracker: &Tracker) {
    const TASKS: usize = 100_000;
    let sum = tracker.counter();
    for n in 0..TASKS {
        let (sum, token) = (sum.clone(), tracker.token());
        let task = kind.spawn(async move {
            let _inside = token;
            if n % 2 == 0 {
                yields(1).await;
            }
            sum.add();
        });
        task.detach();
    }
    until(&kind, || sum.get() == TASKS);
    until(&kind, || tracker.live() == 0);
}

pub(crate) fn a_fallible_task_has_an_output<K: Kind>(kind: K, tracker: &Tracker) {
    let token = tracker.token();
    let task = kind.spawn(async move {
        yields(1).await;
        (1, token)
    });
    let (one, _token) = wait(&kind, task.fallible()).expect("an output");
    assert_eq!(one, 1);
}
