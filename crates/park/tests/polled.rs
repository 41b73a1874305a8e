//! Workers that park in a poll: the thread that wakes one calls its waker, and leaves its place alone.

#![cfg(not(any(terrace_loom, terrace_shuttle)))]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

use terrace_park::{Idle, Wake as Woken, Work};
use terrace_testing::watchdog;

/// Work of this many items that every worker may take.
struct Items(usize);

impl Work for Items {
    fn takeable(&self) -> bool {
        self.0 > 0
    }

    fn has_private_work(&self, _worker: usize) -> bool {
        false
    }
}

const NOTHING: Items = Items(0);

#[derive(Default)]
struct Calls(AtomicUsize);

impl Wake for Calls {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A waker, and what counts its calls.
fn counted() -> (Waker, Arc<Calls>) {
    let calls = Arc::<Calls>::default();
    (Arc::clone(&calls).into(), calls)
}

/// The calls of a waker, and how many of its clones others have.
fn state(calls: &Arc<Calls>) -> (usize, usize) {
    (
        calls.0.load(Ordering::Relaxed),
        Arc::strong_count(calls) - 1,
    )
}

#[test]
fn the_newest_waker_is_called_once() {
    let _watchdog = watchdog();
    let idle = Idle::new(1);
    let token = idle.enter(0);
    let (first, first_calls) = counted();
    assert!(idle.park_in_poll(0, token, &NOTHING, first).is_none());
    assert!(idle.any_parked());
    let (second, second_calls) = counted();
    assert!(
        idle.poll_park(0, second).is_none(),
        "no thread has woken it"
    );
    assert_eq!(state(&first_calls), (0, 0), "replaced");
    assert_eq!(idle.publish(), Woken::Woke(0));
    assert_eq!(state(&second_calls), (1, 0));
    let (third, third_calls) = counted();
    let token = idle.poll_park(0, third).expect("it was woken");
    assert_eq!(state(&third_calls), (0, 0), "not kept");
    idle.leave(0, token, &NOTHING);
}

#[test]
fn a_park_that_sees_work_keeps_no_waker() {
    let _watchdog = watchdog();
    let idle = Idle::new(1);
    let token = idle.enter(0);
    let (waker, calls) = counted();
    let token = idle.park_in_poll(0, token, &Items(1), waker);
    assert_eq!(state(&calls), (0, 0));
    assert!(!idle.any_parked());
    idle.leave(0, token.expect("an item is visible"), &NOTHING);
}

#[test]
fn a_park_that_its_worker_ends_calls_the_waker() {
    let _watchdog = watchdog();
    let idle = Idle::new(1);
    let token = idle.enter(0);
    let (waker, calls) = counted();
    assert!(idle.park_in_poll(0, token, &NOTHING, waker).is_none());
    let token = idle.end_park(0);
    assert_eq!(state(&calls), (1, 0));
    assert_eq!((idle.any_parked(), idle.searching()), (false, 1));
    idle.leave(0, token, &NOTHING);
}

#[test]
fn a_place_of_a_worker_that_parks_in_a_poll_is_not_taken() {
    let _watchdog = watchdog();
    let idle = Idle::new(3);
    let wakers = [0, 2].map(|worker| {
        let token = idle.enter(worker);
        let (waker, calls) = counted();
        assert!(idle.park_in_poll(worker, token, &NOTHING, waker).is_none());
        calls
    });
    assert!(idle.hold(&NOTHING).is_none());
    std::thread::scope(|threads| {
        idle.adopt_live(1);
        threads.spawn(|| {
            let token = idle.enter(1);
            let token = idle.park(1, token, &NOTHING);
            idle.leave(1, token, &NOTHING);
        });
        while idle.awake() > 0 {
            std::thread::yield_now();
        }
        // Worker 2, which is looked at first, keeps its place.
        let held = idle.hold(&NOTHING).expect("worker 1 is parked");
        assert_eq!(held.worker(), 1);
        assert!(idle.hold(&NOTHING).is_none());
        idle.unhold(held, &NOTHING);
        assert!(wakers.iter().all(|calls| state(calls) == (0, 1)));
        assert_eq!(idle.unpark_all(), 3);
    });
    assert!(wakers.iter().all(|calls| state(calls) == (1, 0)));
    for worker in [0, 2] {
        let token = idle.poll_park(worker, Waker::noop().clone());
        idle.leave(worker, token.expect("it was woken"), &NOTHING);
    }
}

#[test]
fn a_thread_is_unparked_whatever_it_sleeps_in() {
    let _watchdog = watchdog();
    let idle = Idle::new(1);
    let token = idle.enter(0);
    let (waker, calls) = counted();
    assert!(idle.park_in_poll(0, token, &NOTHING, waker).is_none());
    idle.unpark_thread(0);
    // The thread has its token: this sleep ends at once.
    terrace_sync::thread::park();
    assert_eq!(state(&calls), (0, 1), "the worker is parked as before");
    let token = idle.end_park(0);
    idle.leave(0, token, &NOTHING);
}
