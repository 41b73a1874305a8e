//! Workers that park in a poll: a waker stands for the thread.

use std::task::{Wake, Waker};

use terrace_park::{Parker, Token, Unparker};
use terrace_sync::atomic::AtomicBool;
use terrace_sync::atomic::Ordering::{AcqRel, Relaxed};
use terrace_sync::{Arc, model, thread};

use crate::fixture::{Fixture, Shape};

/// A waker that unparks the thread which polls the worker.
struct Unpark(Unparker);

impl Wake for Unpark {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.unpark();
    }
}

fn parker_and_waker() -> (Parker, Waker) {
    let parker = Parker::new();
    let waker = std::sync::Arc::new(Unpark(parker.unparker())).into();
    (parker, waker)
}

/// Sleeps on the parker until the worker, which is parked, was woken.
fn sleep(f: &Fixture, parker: &Parker, waker: &Waker) -> Token {
    loop {
        parker.park();
        if let Some(token) = f.idle.poll_park(0, waker.clone()) {
            return token;
        }
    }
}

/// Worker 0 parks in a poll until it gets one item.
fn run_one(f: &Fixture) {
    let (parker, waker) = parker_and_waker();
    let mut token = f.idle.enter(0);
    while !f.take() {
        let woken = f.idle.park_in_poll(0, token, f, waker.clone());
        token = woken.unwrap_or_else(|| sleep(f, &parker, &waker));
    }
    f.idle.stop_search(token, f);
}

/// Worker 0 parks in a poll, worker 1 on its thread. Two items are published one by one, and each worker gets one.
///
/// Seen to deadlock where the worker puts no waker into its seat (`park-polled-unput`).
#[test]
fn idle_polled_park_against_publish() {
    model(|| {
        let f = Fixture::new(Shape::OneGroupOfTwo, 2);
        let (polled, parked) = (f.clone(), f.clone());
        let threads = [
            thread::spawn(move || run_one(&polled)),
            thread::spawn(move || parked.run_one(1)),
        ];
        f.publish_one();
        f.publish_one();
        for thread in threads {
            thread.join().unwrap();
        }
        f.assert_at_rest();
    });
}

/// The worker parks with a waker that does nothing, and is polled again with another one, while an item is published. The
/// second waker counts.
///
/// Seen to deadlock where the poll looks at the bit before it puts the waker (`park-polled-early`).
#[test]
fn idle_polled_park_with_another_waker() {
    model(|| {
        let f = Fixture::new(Shape::OneOfOne, 1);
        let other = f.clone();
        let worker = thread::spawn(move || {
            let f = &*other;
            let (parker, waker) = parker_and_waker();
            let token = f.idle.enter(0);
            let mut token = f.idle.park_in_poll(0, token, f, Waker::noop().clone());
            if token.is_none() {
                token = f.idle.poll_park(0, waker.clone());
            }
            let token = token.unwrap_or_else(|| sleep(f, &parker, &waker));
            assert!(f.take(), "the wake is for the item");
            f.idle.stop_search(token, f);
        });
        f.publish_one();
        worker.join().unwrap();
        f.assert_at_rest();
    });
}

/// The worker ends its park by itself while another thread wakes it for its private work: one token comes out of it.
#[test]
fn idle_polled_park_is_ended_while_it_is_woken() {
    model(|| {
        let f = Fixture::new(Shape::OneOfOne, 1);
        let other = f.clone();
        let worker = thread::spawn(move || {
            let f = &*other;
            let token = f.idle.enter(0);
            let token = f.idle.park_in_poll(0, token, f, Waker::noop().clone());
            let token = token.unwrap_or_else(|| f.idle.end_park(0));
            f.idle.stop_search(token, f);
        });
        f.private[0].store(1, Relaxed);
        f.idle.wake_worker(0);
        worker.join().unwrap();
        f.assert_at_rest();
    });
}

/// What a wait of the worker's own thread hands to its loop as a waker: it says that the loop is to be polled, and notifies the worker.
struct Again {
    fixture: Arc<Fixture>,
    polls: Arc<AtomicBool>,
}

impl Wake for Again {
    fn wake(self: std::sync::Arc<Self>) {
        if !self.polls.swap(true, AcqRel) {
            self.fixture.idle.wake_worker(0);
            self.fixture.idle.unpark_thread(0);
        }
    }
}

/// The wait that polls the loop sleeps on the worker's thread, in the park that the loop has made. It gets an item, and a wake of the
/// future around the loop.
///
/// Seen to deadlock where the wake does not unpark the thread (`park-thread-unparked`): the worker's bit is clear, and its waker taken.
#[test]
fn idle_polled_park_on_the_own_thread() {
    model(|| {
        let f = Fixture::new(Shape::OneOfOne, 1);
        let polls = Arc::new(AtomicBool::new(false));
        let waker = Waker::from(std::sync::Arc::new(Again {
            fixture: f.clone(),
            polls: Arc::clone(&polls),
        }));
        let (other, around) = (f.clone(), waker.clone());
        let worker = thread::spawn(move || {
            let f = &*other;
            let mut token = Some(f.idle.enter(0));
            while !f.take() {
                token = f.idle.park_in_poll(0, token.take(), f, waker.clone());
                while token.is_none() {
                    if polls.swap(false, AcqRel) {
                        token = f.idle.poll_park(0, waker.clone());
                    } else {
                        thread::park();
                    }
                }
            }
            f.idle.stop_search(token.expect("it has searched"), f);
        });
        let waking = thread::spawn(move || around.wake());
        f.publish_one();
        waking.join().unwrap();
        worker.join().unwrap();
        f.assert_at_rest();
    });
}
