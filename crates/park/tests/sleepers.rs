//! Real threads asleep: whom a publish wakes, and what came of it.

mod pool;

use std::time::Duration;

use pool::{Pool, eventually};
use terrace_park::{GroupConfig, Restricted, Wake};

const ONE: [GroupConfig; 1] = [GroupConfig {
    workers: 4,
    lanes: 1,
}];

#[test]
fn a_publish_wakes_the_lowest_sleeper_and_then_is_covered() {
    let pool = Pool::new(&ONE);
    pool.with(|p| {
        let sleepers = [1, 2].map(|w| p.sleeper(w));
        p.await_parked(2);
        assert_eq!(p.idle.publish(1), Wake::Woke(1));
        assert_eq!(p.idle.searching(), 1);
        assert_eq!(p.idle.publish(1), Wake::Covered);
        let [first, second] = sleepers;
        let token = first.token();
        p.idle.stop_search(token, p);
        assert_eq!(p.idle.publish(1), Wake::Woke(2));
        p.idle.stop_search(second.token(), p);
        assert_eq!(p.idle.publish(1), Wake::NoneParked);
    });
}

#[test]
fn a_batch_wakes_two_at_once_and_hands_on() {
    let pool = Pool::new(&[
        GroupConfig {
            workers: 3,
            lanes: 1,
        },
        GroupConfig {
            workers: 2,
            lanes: 1,
        },
    ]);
    pool.with(|p| {
        let sleepers: Vec<_> = (0..5).map(|w| p.sleeper(w)).collect();
        p.await_parked(5);
        assert_eq!(p.idle.publish_batch(1, 1), 1);
        assert_eq!(p.idle.publish_batch(1, 100), 2);
        assert_eq!(p.idle.searching(), 3);
        let tokens: Vec<_> = sleepers
            .into_iter()
            .enumerate()
            .map(|(w, sleeper)| {
                let token = sleeper.token();
                if w == 0 {
                    assert_eq!(p.idle.hand_on(&token, 1, 0), 0);
                    assert_eq!(p.idle.hand_on(&token, 1, 1), 1);
                    assert_eq!(p.idle.hand_on(&token, 1, 9), 1);
                    assert_eq!(p.idle.hand_on(&token, 1, 9), 0);
                }
                token
            })
            .collect();
        assert_eq!(p.idle.searching(), 5);
        assert_eq!(p.idle.publish_batch(1, 2), 0, "covered");
        tokens
            .into_iter()
            .for_each(|token| p.idle.stop_search(token, p));
    });
}

#[test]
fn the_last_searcher_wakes_another_for_what_it_leaves() {
    let pool = Pool::new(&ONE);
    pool.with(|p| {
        let sleeper = p.sleeper(1);
        p.await_parked(1);
        let token = p.idle.enter(0);
        p.items.store(1, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(p.idle.publish(1), Wake::Covered);
        p.idle.stop_search(token, p);
        assert_eq!(p.idle.searching(), 1);
        p.items.store(0, std::sync::atomic::Ordering::Relaxed);
        p.idle.stop_search(sleeper.token(), p);
    });
}

#[test]
fn who_leaves_wakes_another_for_what_it_leaves() {
    let pool = Pool::new(&ONE);
    pool.with(|p| {
        let sleeper = p.sleeper(1);
        p.await_parked(1);
        let token = p.idle.enter(0);
        p.items.store(1, std::sync::atomic::Ordering::Relaxed);
        p.idle.leave(0, token, p);
        assert_eq!(p.idle.searching(), 1);
        p.items.store(0, std::sync::atomic::Ordering::Relaxed);
        p.idle.stop_search(sleeper.token(), p);
    });
}

#[test]
fn a_restricted_waiter_is_woken_for_its_own_work_or_as_the_last_resort() {
    let pool = Pool::new(&ONE);
    pool.with(|p| {
        let token = p.idle.enter(0);
        let waiter = p.waiter(1);
        eventually(|| p.idle.is_restricted(1));
        assert_eq!(p.idle.publish(1), Wake::Covered);
        p.idle.stop_search(token, p);
        assert_eq!(
            p.idle.publish(1),
            Wake::NoneParked,
            "worker 0 is live and runs"
        );
        assert!(p.idle.targeted(1));
        assert_eq!(p.idle.searching(), 0);
        assert_eq!(waiter.outcome(), Restricted::Woken);
        assert!(!p.idle.targeted(1));

        let waiter = p.waiter(1);
        eventually(|| p.idle.is_restricted(1));
        p.idle.leave(0, None, p);
        assert_eq!(p.idle.publish(1), Wake::WokeRestricted(1));
        assert_eq!(p.idle.searching(), 0);
        assert_eq!(waiter.outcome(), Restricted::Woken);
    });
}

#[test]
fn everybody_gets_up_at_the_end() {
    let pool = Pool::new(&ONE);
    pool.with(|p| {
        let sleepers = [0, 2].map(|w| p.sleeper(w));
        let waiter = p.waiter(3);
        p.await_parked(2);
        eventually(|| p.idle.is_restricted(3));
        assert_eq!((p.idle.live(1), p.idle.awake()), (3, 0));
        assert_eq!(p.idle.unpark_all(), 3);
        for sleeper in sleepers {
            p.idle.stop_search(sleeper.token(), p);
        }
        assert_eq!(waiter.outcome(), Restricted::Woken);
        assert_eq!(p.idle.unpark_all(), 0);
        eventually(|| p.idle.awake() == 2);
    });
}

#[test]
fn a_guard_is_woken_like_anybody_else() {
    let pool = Pool::new(&ONE);
    pool.with(|p| {
        let guard = p.guard(2, Duration::from_secs(3600));
        p.await_parked(1);
        assert!(p.idle.has_guard());
        assert_eq!(p.idle.publish_paced(1, false), Wake::Guarded);
        assert_eq!(p.idle.publish_paced(1, true), Wake::Woke(2));
        let token = guard.token();
        assert!(!p.idle.has_guard());
        assert_eq!(p.idle.publish_paced(1, false), Wake::Covered);
        p.idle.stop_search(token, p);
    });
}

#[test]
fn a_publish_wakes_the_guard_last() {
    let pool = Pool::new(&ONE);
    pool.with(|p| {
        let guard = p.guard(0, Duration::from_secs(3600));
        eventually(|| p.idle.has_guard());
        let sleeper = p.sleeper(1);
        p.await_parked(2);
        assert_eq!(p.idle.publish(1), Wake::Woke(1));
        p.idle.stop_search(sleeper.token(), p);
        assert!(p.idle.has_guard());
        assert_eq!(p.idle.publish(1), Wake::Woke(0));
        p.idle.stop_search(guard.token(), p);
    });
}

#[test]
fn a_turn_is_passed_on_in_the_order_of_workers_across_groups() {
    let group = GroupConfig {
        workers: 2,
        lanes: 1,
    };
    let pool = Pool::new(&[group, group]);
    pool.with(|p| {
        let _busy = p.idle.adopt_live(0);
        let waiters = [1, 2, 3].map(|w| {
            let waiter = p.waiter(w);
            eventually(|| p.idle.is_restricted(w));
            waiter
        });
        for (left, waiter) in (0..3).rev().zip(waiters) {
            assert!(p.idle.release_other(0));
            assert_eq!(waiter.outcome(), Restricted::Woken);
            eventually(|| (1..4).filter(|&w| p.idle.is_restricted(w)).count() == left);
        }
        assert!(!p.idle.release_other(0));
        assert_eq!(p.idle.searching(), 0, "no token goes with an R bit");
        p.idle.leave(0, None, p);
    });
}
