//! A wake neither blocks nor polls, even if the only worker is stopped and the waker's thread holds the lock that the
//! task takes.

use std::future::poll_fn;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

use terrace_executor::{Builder, block_on};
use terrace_testing::watchdog;

const WAKES: usize = 100_000;

/// What the task and its waker's thread share.
#[derive(Default)]
struct State {
    polls: usize,
    woken: usize,
    waker: Option<Waker>,
}

#[test]
fn wakes_neither_block_nor_poll() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(1).build();
    let state = Arc::new(Mutex::new(State::default()));
    let task = {
        let state = Arc::clone(&state);
        executor.spawn(poll_fn(move |context| {
            let mut state = state.lock().unwrap();
            state.polls += 1;
            state.waker = Some(context.waker().clone());
            if state.woken == WAKES {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        }))
    };
    while state.lock().unwrap().waker.is_none() {
        std::thread::yield_now();
    }
    // The only worker stops in a task of its own.
    let (release, released) = channel::<()>();
    let (stops, stopped) = channel();
    let stop = executor.spawn(async move {
        stops.send(()).unwrap();
        released.recv().unwrap();
    });
    stopped.recv().unwrap();
    let mut held = state.lock().unwrap();
    let polls = held.polls;
    let waker = held.waker.clone().unwrap();
    for _ in 0..WAKES {
        waker.wake_by_ref();
        held.woken += 1;
    }
    assert_eq!(held.polls, polls);
    drop(held);
    release.send(()).unwrap();
    block_on(stop);
    block_on(task);
    assert!(
        state.lock().unwrap().polls <= polls + 2,
        "the wakes of a task that is queued are one"
    );
}
