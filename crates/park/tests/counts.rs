//! The cost of each path, in read-modify-writes and fences. Built with `--cfg terrace_count`.
#![cfg(terrace_count)]

use std::sync::mpsc::channel;
use std::task::Waker;
use std::time::Duration;

use terrace_park::{GROUP_CAPACITY, Idle, Parker, Wake, Woken, Work};
use terrace_sync::count::Counts;
use terrace_testing::watchdog;

/// Nothing is visible, or private work of worker 0 is.
struct Scripted {
    private: bool,
}

impl Work for Scripted {
    fn takeable(&self) -> bool {
        false
    }

    fn has_private_work(&self, worker: usize) -> bool {
        self.private && worker == 0
    }
}

const NOTHING: Scripted = Scripted { private: false };
const PRIVATE: Scripted = Scripted { private: true };

/// (read-modify-writes, light fences, heavy fences); nothing here may take a lock.
fn cost(f: impl FnOnce()) -> (u64, u64, u64) {
    let counts = Counts::of(f);
    assert_eq!(counts.locks, 0);
    let heavy = counts.heavy_fences;
    (counts.rmws, counts.fences - heavy, heavy)
}

fn three_groups() -> Idle {
    Idle::new(2 * GROUP_CAPACITY + 2)
}

#[test]
fn a_publish_that_wakes_no_thread_is_one_fence() {
    let _watchdog = watchdog();
    for idle in [Idle::new(4), three_groups()] {
        let nobody_parked = cost(|| assert_eq!(idle.publish(), Wake::NoneParked));
        assert_eq!(nobody_parked, (0, 1, 0));
        let token = idle.enter(0);
        assert_eq!(
            cost(|| assert_eq!(idle.publish(), Wake::Covered)),
            (0, 1, 0)
        );
        assert_eq!(cost(|| assert_eq!(idle.publish_batch(9), 0)), (0, 1, 0));
        assert_eq!(cost(|| assert!(!idle.wake_worker(3))), (0, 1, 0));
        assert_eq!(cost(|| assert_eq!(idle.wake_more(&token, 9), 0)), (0, 0, 0));
        idle.stop_search(token, &NOTHING);
    }
}

#[test]
fn a_publish_that_wakes_is_three_rmws_and_one_unpark() {
    let _watchdog = watchdog();
    let idle = Idle::new(4);
    std::thread::scope(|scope| {
        let (send, receive) = channel();
        let there = &idle;
        scope.spawn(move || {
            let token = there.park(2, there.enter(2), &NOTHING);
            there.leave(2, token, &NOTHING);
            send.send(()).expect("the test waits");
        });
        while !idle.any_parked() {
            std::thread::yield_now();
        }
        let counts = Counts::of(|| assert_eq!(idle.publish(), Wake::Woke(2)));
        assert_eq!((counts.rmws, counts.fences, counts.unparks), (3, 1, 1));
        assert_eq!(counts.locks, 0);
        receive.recv().expect("the worker is woken");
    });
}

/// The first two publishes notify a driver each; the third counts on their looks. A search costs two.
#[test]
fn a_publish_that_counts_on_a_driver_is_one_rmw() {
    let _watchdog = watchdog();
    let idle = Idle::new(0);
    let mut drivers = [(); 3].map(|()| idle.driver());
    for driver in &mut drivers {
        driver.sleep(Waker::noop());
    }
    for _ in 0..2 {
        let counts = Counts::of(|| assert_eq!(idle.publish(), Wake::Driver));
        assert_eq!((counts.rmws, counts.fences, counts.locks), (1, 1, 1));
    }
    assert_eq!(
        cost(|| assert_eq!(idle.publish(), Wake::Covered)),
        (1, 1, 0)
    );
    assert_eq!(cost(|| assert!(drivers[2].search(|| ()))), (2, 0, 0));
}

#[test]
fn searching_is_one_rmw_each_way() {
    let _watchdog = watchdog();
    let idle = Idle::new(4);
    let token = idle.enter(0);
    assert_eq!(cost(|| idle.stop_search(token, &NOTHING)), (1, 0, 0));
    let mut token = None;
    assert_eq!(cost(|| token = idle.try_search(0)), (1, 0, 0));
    assert_eq!(cost(|| assert!(idle.try_search(0).is_none())), (0, 0, 0));
    idle.stop_search(token.expect("the first to search"), &NOTHING);

    let groups = three_groups();
    let token = groups.enter(0);
    assert_eq!(cost(|| groups.stop_search(token, &NOTHING)), (1, 0, 1));
}

#[test]
fn a_sleep_is_one_rmw_and_one_heavy_fence() {
    let _watchdog = watchdog();
    let idle = Idle::new(4);
    let token = idle.enter(0);
    let mut back = None;
    // One read-modify-write to announce the sleep, one to take it back.
    assert_eq!(
        cost(|| back = Some(idle.park(0, token, &PRIVATE))),
        (2, 0, 1)
    );
    let token = back.take().expect("it returned");
    // The sentinel's flag costs one more, and its end one more fence; it really sleeps here.
    let sentinel = cost(|| {
        let woken = idle.park_as_sentinel(0, token, &NOTHING, [Duration::from_micros(100)]);
        back = woken.ok().map(|woken| match woken {
            Woken::Unparked(token) | Woken::TimedOut(token) => token,
        });
    });
    assert_eq!(sentinel, (3, 0, 2));
    idle.stop_search(back.expect("no other sentinel"), &NOTHING);
    let wait = cost(|| {
        let _ready = idle.wait_restricted(0, &PRIVATE, || false);
    });
    assert_eq!(wait, (2, 0, 1));
    assert_eq!(cost(|| idle.leave(0, None, &NOTHING)), (1, 0, 1));
}

#[test]
fn a_place_is_held_for_one_rmw_and_given_back_for_one_and_a_heavy_fence() {
    let _watchdog = watchdog();
    let idle = Idle::new(1);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let token = idle.enter(0);
            let token = idle.park(0, token, &NOTHING);
            idle.leave(0, token, &NOTHING);
        });
        while !idle.any_parked() {
            std::thread::yield_now();
        }
        let mut held = None;
        assert_eq!(cost(|| held = idle.hold(&NOTHING)), (1, 0, 0));
        let held = held.expect("the worker is parked");
        assert_eq!(held.worker(), 0);
        assert_eq!(
            cost(|| assert_eq!(idle.publish(), Wake::NoneParked)),
            (0, 1, 0)
        );
        assert_eq!(cost(|| idle.unhold(held, &NOTHING)), (1, 0, 1));
        assert!(idle.wake_worker(0));
    });
}

#[test]
fn an_unpark_wakes_only_a_sleeping_thread() {
    let _watchdog = watchdog();
    let parker = Parker::new();
    let unparker = parker.unparker();
    let counts = Counts::of(|| unparker.unpark());
    assert_eq!((counts.rmws, counts.fences, counts.unparks), (1, 0, 0));
    let counts = Counts::of(|| unparker.unpark());
    assert_eq!((counts.rmws, counts.unparks), (1, 0));
    let counts = Counts::of(|| parker.park());
    assert_eq!((counts.rmws, counts.parks), (2, 0));
}
