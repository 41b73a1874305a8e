//! Places that another thread has while their workers see reasons to get up.

#![cfg(not(any(terrace_loom, terrace_shuttle)))]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;
use std::time::Duration;

use terrace_park::{Held, Idle, Wake, Woken, Work};
use terrace_testing::watchdog;

/// The work of a pool of two, and what is asked about it.
#[derive(Default)]
struct Counted {
    items: AtomicUsize,
    /// Looks that found no item.
    in_vain: AtomicUsize,
    /// Whether worker 0 has work that only it can run: 1 if so.
    private: AtomicUsize,
    questions: AtomicUsize,
    unattended: AtomicUsize,
}

impl Work for Counted {
    fn takeable(&self) -> bool {
        let finds = self.items.load(Ordering::SeqCst) > 0;
        if !finds {
            self.in_vain.fetch_add(1, Ordering::SeqCst);
        }
        finds
    }

    fn has_private_work(&self, worker: usize) -> bool {
        self.questions.fetch_add(1, Ordering::SeqCst);
        worker == 0 && self.private.load(Ordering::SeqCst) > 0
    }

    fn unattended(&self) {
        self.unattended.fetch_add(1, Ordering::SeqCst);
    }
}

/// Waits until `what` holds; the watchdog ends a wait in vain.
fn eventually(what: impl Fn() -> bool) {
    while !what() {
        std::thread::yield_now();
    }
}

/// A sentinel, worker 0, that the calling thread holds.
struct Sentinel {
    held: Held,
    /// Ends its sleep.
    time_is_up: Sender<()>,
    /// Says that it got up.
    up: Receiver<()>,
}

/// Starts it. It looks only when the test says so.
fn sentinel<'scope>(
    threads: &'scope Scope<'scope, '_>,
    idle: &'scope Idle,
    work: &'scope Counted,
) -> Sentinel {
    let (time_is_up, told) = channel();
    let (got_up, up) = channel();
    let (asleep, is_asleep) = channel();
    threads.spawn(move || {
        let token = idle.enter(0);
        let sleeps = std::iter::from_fn(|| {
            asleep.send(()).expect("the test waits");
            told.recv().expect("the test ends the sleep");
            None::<Duration>
        });
        let woken = idle.park_as_sentinel(0, token, work, sleeps);
        got_up.send(()).expect("the test waits");
        let (Woken::Unparked(token) | Woken::TimedOut(token)) = woken.expect("the only sentinel");
        idle.leave(0, token, work);
    });
    // From now on it looks at nothing before its time is up.
    is_asleep.recv().expect("it sees no work");
    let held = idle.hold(work).expect("it is parked");
    assert_eq!(held.worker(), 0);
    Sentinel {
        held,
        time_is_up,
        up,
    }
}

#[test]
fn a_held_sentinel_hands_the_work_that_it_sees_to_a_parked_worker() {
    let _watchdog = watchdog();
    let (idle, work) = (Idle::new(2), Counted::default());
    std::thread::scope(|threads| {
        let sentinel = sentinel(threads, &idle, &work);
        let before = work.in_vain.load(Ordering::SeqCst);
        let sleeper = threads.spawn(|| idle.park(1, idle.enter(1), &work));
        // It has looked for the last time.
        eventually(|| idle.any_parked() && work.in_vain.load(Ordering::SeqCst) > before);
        work.items.store(1, Ordering::SeqCst);
        assert_eq!(idle.publish_paced(), Wake::Watched);
        sentinel.time_is_up.send(()).expect("it sleeps");
        let token = sleeper.join().expect("woken by the sentinel");
        // It cannot get up, so it lets publishers leave no more work to it.
        eventually(|| !idle.has_sentinel());
        assert!(sentinel.up.try_recv().is_err(), "its place is held");
        assert_eq!(work.unattended.load(Ordering::SeqCst), 0);
        work.items.store(0, Ordering::SeqCst);
        idle.leave(1, token, &work);
        idle.unhold(sentinel.held, &work);
        idle.unpark_all();
        sentinel.up.recv().expect("it gets up");
    });
}

#[test]
fn a_held_sentinel_says_that_no_worker_takes_what_it_sees() {
    let _watchdog = watchdog();
    let (idle, work) = (Idle::new(1), Counted::default());
    std::thread::scope(|threads| {
        let sentinel = sentinel(threads, &idle, &work);
        work.items.store(1, Ordering::SeqCst);
        sentinel.time_is_up.send(()).expect("it sleeps");
        eventually(|| work.unattended.load(Ordering::SeqCst) == 1);
        assert!(!idle.has_sentinel());
        // The thread that gives the place back leaves the item to the worker.
        idle.unhold(sentinel.held, &work);
        sentinel.up.recv().expect("it gets up");
        work.items.store(0, Ordering::SeqCst);
    });
    assert_eq!(work.unattended.load(Ordering::SeqCst), 1);
}

#[test]
fn a_held_worker_gets_up_for_its_own_work_when_its_place_is_given_back() {
    let _watchdog = watchdog();
    let (idle, work) = (Idle::new(1), Counted::default());
    std::thread::scope(|threads| {
        let sentinel = sentinel(threads, &idle, &work);
        let before = work.questions.load(Ordering::SeqCst);
        work.private.store(1, Ordering::SeqCst);
        sentinel.time_is_up.send(()).expect("it sleeps");
        eventually(|| work.questions.load(Ordering::SeqCst) > before);
        assert!(sentinel.up.try_recv().is_err(), "its place is held");
        idle.unhold(sentinel.held, &work);
        sentinel.up.recv().expect("it gets up");
    });
    assert_eq!(
        work.unattended.load(Ordering::SeqCst),
        0,
        "nothing is takeable"
    );
}

#[test]
fn a_held_worker_without_a_reason_sleeps_on() {
    let _watchdog = watchdog();
    let (idle, work) = (Idle::new(1), Counted::default());
    std::thread::scope(|threads| {
        let sentinel = sentinel(threads, &idle, &work);
        sentinel.time_is_up.send(()).expect("it sleeps");
        eventually(|| !idle.has_sentinel());
        idle.unhold(sentinel.held, &work);
        // The worker is parked: one that was up, or owed to be, would not be woken by this.
        eventually(|| idle.publish() == Wake::Woke(0));
        sentinel.up.recv().expect("it gets up");
    });
    assert_eq!(work.unattended.load(Ordering::SeqCst), 0);
}

#[test]
fn a_call_to_all_reaches_a_held_worker_when_its_place_is_given_back() {
    let _watchdog = watchdog();
    let (idle, work) = (Idle::new(1), Counted::default());
    std::thread::scope(|threads| {
        let sentinel = sentinel(threads, &idle, &work);
        assert_eq!(idle.unpark_all(), 0, "its place is held");
        assert_eq!(idle.searching(), 0);
        idle.unhold(sentinel.held, &work);
        // It has a token, before it looks.
        assert_eq!((idle.any_parked(), idle.searching()), (false, 1));
        sentinel.time_is_up.send(()).expect("it has not looked");
        sentinel.up.recv().expect("it gets up");
    });
}
