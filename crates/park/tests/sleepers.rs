//! Real threads asleep: which of them a publish wakes, and what the publish returns.

mod pool;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};
use std::time::Duration;

use pool::{Pool, eventually};
use terrace_park::{Doing, GROUP_CAPACITY, Held, Idle, Restricted, Wake as Woke};
use terrace_testing::watchdog;

#[test]
fn a_publish_wakes_the_lowest_sleeper_and_then_is_covered() {
    let _watchdog = watchdog();
    let pool = Pool::new(4);
    pool.with(|p| {
        let sleepers = [1, 2].map(|w| p.sleeper(w));
        p.await_awake(0);
        assert_eq!(p.idle.publish(), Woke::Woke(1));
        assert_eq!(p.idle.searching(), 1);
        assert_eq!(p.idle.publish(), Woke::Covered);
        let [first, second] = sleepers;
        let token = first.token();
        p.idle.stop_search(token, p);
        assert_eq!(p.idle.publish(), Woke::Woke(2));
        p.idle.stop_search(second.token(), p);
        assert_eq!(p.idle.publish(), Woke::NoneParked);
    });
}

/// Where the processors are busy, the kernel wakes a thread where it slept. If that is the waker's own processor, the woken one waits.
#[cfg(target_os = "linux")]
#[test]
fn a_worker_that_slept_on_another_processor_is_woken_first() {
    let _watchdog = watchdog();
    let processors: Vec<_> =
        terrace_testing::on_own_thread(|| terrace_testing::processors().collect());
    let (here, there) = (processors[0], *processors.last().expect("one"));
    let pool = Pool::new(4);
    pool.with(|p| {
        // A thread begins on the processors of the one that starts it.
        let asleep_on = |processor, worker| {
            assert!(terrace_testing::stay_on(processor));
            p.sleeper(worker)
        };
        let (second, third) = (asleep_on(there, 1), asleep_on(there, 2));
        let first = asleep_on(here, 0);
        p.await_awake(0);
        let (nearest, next) = match here == there {
            true => (0, 1),
            false => (1, 2),
        };
        assert_eq!(p.idle.publish(), Woke::Woke(nearest));
        let mut sleepers = [Some(first), Some(second), Some(third)];
        let token = sleepers[nearest].take().expect("asleep").token();
        // One that hands work on chooses alike.
        assert_eq!(p.idle.wake_more(&token, 1), 1);
        p.idle.stop_search(token, p);
        let woken = sleepers[next].take().expect("asleep").token();
        p.idle.stop_search(woken, p);
        let last = sleepers.into_iter().flatten().next().expect("one is left");
        assert_eq!(p.idle.publish(), Woke::Woke(3 - nearest - next));
        p.idle.stop_search(last.token(), p);
    });
}

#[test]
fn a_batch_wakes_two_at_once_and_hands_on() {
    let _watchdog = watchdog();
    // Three in one group, two in another.
    let numbers = [0, 1, 2, GROUP_CAPACITY, GROUP_CAPACITY + 1];
    let pool = Pool::new(GROUP_CAPACITY + 2);
    pool.with(|p| {
        let sleepers = numbers.map(|w| p.sleeper(w));
        p.await_awake(0);
        assert_eq!(p.idle.publish_batch(0), 0, "there is no item");
        assert_eq!(p.idle.publish_batch(1), 1);
        assert_eq!(p.idle.publish_batch(100), 2);
        assert_eq!(p.idle.searching(), 3);
        let tokens: Vec<_> = sleepers
            .into_iter()
            .enumerate()
            .map(|(w, sleeper)| {
                let token = sleeper.token();
                if w == 0 {
                    assert_eq!(p.idle.wake_more(&token, 0), 0);
                    assert_eq!(p.idle.wake_more(&token, 1), 1);
                    assert_eq!(p.idle.wake_more(&token, 9), 1);
                    assert_eq!(p.idle.wake_more(&token, 9), 0);
                }
                token
            })
            .collect();
        assert_eq!(p.idle.searching(), 5);
        assert_eq!(p.idle.publish_batch(2), 0, "covered");
        tokens
            .into_iter()
            .for_each(|token| p.idle.stop_search(token, p));
    });
}

#[test]
fn the_last_searcher_wakes_another_for_what_it_leaves() {
    let _watchdog = watchdog();
    let pool = Pool::new(4);
    pool.with(|p| {
        let sleeper = p.sleeper(1);
        p.await_awake(0);
        let token = p.idle.enter(0);
        p.items.store(1, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(p.idle.publish(), Woke::Covered);
        p.idle.stop_search(token, p);
        assert_eq!(p.idle.searching(), 1);
        p.items.store(0, std::sync::atomic::Ordering::Relaxed);
        p.idle.stop_search(sleeper.token(), p);
    });
}

#[test]
fn a_leaver_wakes_another_for_what_it_leaves() {
    let _watchdog = watchdog();
    let pool = Pool::new(4);
    pool.with(|p| {
        let sleeper = p.sleeper(1);
        p.await_awake(0);
        let token = p.idle.enter(0);
        p.items.store(1, std::sync::atomic::Ordering::Relaxed);
        p.idle.leave(0, token, p);
        assert_eq!(p.idle.searching(), 1);
        p.items.store(0, std::sync::atomic::Ordering::Relaxed);
        p.idle.stop_search(sleeper.token(), p);
    });
}

#[test]
fn a_worker_whose_thread_never_started_leaves_its_work_to_another() {
    let _watchdog = watchdog();
    let pool = Pool::new(4);
    pool.with(|p| {
        let sleeper = p.sleeper(1);
        p.await_awake(0);
        p.idle.adopt_live(0);
        p.items.store(1, Ordering::Relaxed);
        p.idle.abandon_live(0, p);
        assert_eq!(p.idle.searching(), 1);
        p.items.store(0, Ordering::Relaxed);
        p.idle.stop_search(sleeper.token(), p);
    });
}

#[test]
fn a_restricted_waiter_is_woken_for_its_own_work_or_as_the_last_resort() {
    let _watchdog = watchdog();
    let pool = Pool::new(4);
    pool.with(|p| {
        let token = p.idle.enter(0);
        let waiter = p.waiter(1);
        p.await_awake(1);
        assert!(p.idle.any_restricted() && !p.idle.any_parked());
        assert_eq!(p.idle.publish(), Woke::Covered);
        p.idle.stop_search(token, p);
        assert_eq!(
            p.idle.publish(),
            Woke::NoneParked,
            "worker 0 is live and runs"
        );
        assert!(p.idle.wake_worker(1));
        assert_eq!(p.idle.searching(), 0);
        assert_eq!(waiter.outcome(), Restricted::Woken);
        assert!(!p.idle.wake_worker(1));

        let waiter = p.waiter(1);
        p.await_awake(1);
        p.idle.leave(0, None, p);
        assert_eq!(p.idle.publish(), Woke::WokeRestricted(1));
        assert_eq!(p.idle.searching(), 0);
        assert_eq!(waiter.outcome(), Restricted::Woken);
    });
}

#[test]
fn every_sleeper_gets_up_at_the_end() {
    let _watchdog = watchdog();
    let pool = Pool::new(4);
    pool.with(|p| {
        let sleepers = [0, 2].map(|w| p.sleeper(w));
        let waiter = p.waiter(3);
        p.await_awake(0);
        assert_eq!(p.idle.unpark_all(), 3);
        for sleeper in sleepers {
            p.idle.stop_search(sleeper.token(), p);
        }
        assert_eq!(waiter.outcome(), Restricted::Woken);
        assert_eq!(p.idle.unpark_all(), 0);
        // The two that parked have not left.
        p.await_awake(2);
    });
}

#[test]
fn a_sentinel_is_woken_like_any_sleeper() {
    let _watchdog = watchdog();
    let pool = Pool::new(4);
    pool.with(|p| {
        let sentinel = p.sentinel(2, Duration::from_secs(3600));
        p.await_awake(0);
        assert!(p.idle.has_sentinel());
        assert_eq!(p.idle.publish_paced(), Woke::Watched);
        assert_eq!(p.idle.publish(), Woke::Woke(2));
        let token = sentinel.token();
        assert!(!p.idle.has_sentinel());
        assert_eq!(p.idle.publish_paced(), Woke::Covered);
        p.idle.stop_search(token, p);
        assert_eq!(p.idle.publish_paced(), Woke::NoneParked);
    });
}

#[test]
fn a_publish_wakes_the_sentinel_last() {
    let _watchdog = watchdog();
    let pool = Pool::new(4);
    pool.with(|p| {
        let sentinel = p.sentinel(0, Duration::from_secs(3600));
        p.await_awake(0);
        let sleeper = p.sleeper(1);
        p.await_awake(0);
        assert_eq!(p.idle.publish(), Woke::Woke(1));
        p.idle.stop_search(sleeper.token(), p);
        assert!(p.idle.has_sentinel());
        assert_eq!(p.idle.publish(), Woke::Woke(0));
        p.idle.stop_search(sentinel.token(), p);
    });
}

#[test]
fn a_turn_is_passed_on_in_the_order_of_workers_across_groups() {
    let _watchdog = watchdog();
    let second = GROUP_CAPACITY;
    let pool = Pool::new(second + 2);
    pool.with(|p| {
        p.idle.adopt_live(0);
        let waiters = [1, second, second + 1].map(|w| {
            let waiter = p.waiter(w);
            p.await_awake(1);
            waiter
        });
        for waiter in waiters {
            assert!(p.idle.any_restricted());
            assert!(p.idle.release_other(0));
            assert_eq!(waiter.outcome(), Restricted::Woken);
        }
        assert!(!p.idle.any_restricted());
        assert!(!p.idle.release_other(0));
        assert_eq!(p.idle.searching(), 0, "no token goes with an R bit");
        p.idle.leave(0, None, p);
    });
}

#[test]
fn workers_of_added_groups_are_woken_like_others() {
    let pool = Pool::new(1);
    let added = 3 * GROUP_CAPACITY;
    pool.idle.ensure(added);
    pool.with(|p| {
        let sleepers = [GROUP_CAPACITY, added].map(|w| p.sleeper(w));
        p.await_awake(0);
        for (sleeper, number) in sleepers.into_iter().zip([GROUP_CAPACITY, added]) {
            assert_eq!(p.idle.publish(), Woke::Woke(number));
            p.idle.stop_search(sleeper.token(), p);
        }
    });
}

#[test]
#[should_panic(expected = "call Idle::ensure")]
fn a_wake_of_a_worker_without_a_place() {
    Idle::new(1).wake_worker(GROUP_CAPACITY);
}

#[test]
#[should_panic(expected = "call Idle::ensure")]
fn a_worker_without_a_place_enters() {
    let _token = Idle::new(GROUP_CAPACITY).enter(10 * GROUP_CAPACITY);
}

#[test]
fn places_are_held_from_the_highest_on_and_a_sentinel_last() {
    let _watchdog = watchdog();
    let pool = Pool::new(4);
    pool.with(|p| {
        let sentinel = p.sentinel(2, Duration::from_secs(3600));
        p.await_awake(0);
        let sleepers = [0, 1].map(|w| p.sleeper(w));
        p.await_awake(0);
        let held = [1, 0, 2].map(|worker| {
            let held = p.idle.hold(p).expect("a worker is parked");
            assert_eq!(held.worker(), worker);
            held
        });
        assert_eq!(p.idle.awake(), 3);
        assert!(p.idle.hold(p).is_none());
        assert_eq!(p.idle.publish(), Woke::NoneParked);
        // A wish: that worker gets up, although nothing is visible.
        assert!(!p.idle.wake_worker(1));
        for held in held {
            p.idle.unhold(held, p);
        }
        let [low, high] = sleepers;
        p.idle.stop_search(high.token(), p);
        assert_eq!(p.idle.publish(), Woke::Woke(0));
        p.idle.stop_search(low.token(), p);
        assert_eq!(p.idle.publish(), Woke::Woke(2));
        p.idle.stop_search(sentinel.token(), p);
    });
}

/// A waker that counts its calls.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_turn_is_passed_on_to_every_holder() {
    let _watchdog = watchdog();
    // Two in one group, one in another.
    let numbers = [0, 1, GROUP_CAPACITY];
    let pool = Pool::new(GROUP_CAPACITY + 1);
    pool.with(|p| {
        let sleepers = numbers.map(|w| p.sleeper(w));
        p.await_awake(0);
        let mut held = numbers.map(|_| p.idle.hold(p).expect("a worker is parked"));
        held.sort_by_key(Held::worker);
        let wakes: [Arc<Wakes>; 3] = std::array::from_fn(|_| Arc::default());
        for (held, wakes) in held.iter().zip(&wakes) {
            assert!(!p.idle.begin_wait(held, p, Arc::clone(wakes).into()));
        }
        for (from, to) in [(0, 1), (1, 2), (2, 0)] {
            assert!(p.idle.release_other(numbers[from]));
            assert_eq!(wakes[to].0.load(Ordering::Relaxed), 1, "{from} to {to}");
        }
        assert!(!p.idle.release_other(0), "each is woken once");
        for held in held {
            p.idle.end_wait(&held);
            p.idle.unhold(held, p);
        }
        p.idle.unpark_all();
        for sleeper in sleepers {
            p.idle.stop_search(sleeper.token(), p);
        }
    });
}

#[test]
fn a_turn_is_passed_on_to_lower_places_and_never_to_its_own() {
    let _watchdog = watchdog();
    let pool = Pool::new(3);
    pool.with(|p| {
        let sleepers = [0, 1, 2].map(|w| p.sleeper(w));
        p.await_awake(0);
        let held = [2, 1].map(|worker| {
            let held = p.idle.hold(p).expect("a worker is parked");
            assert_eq!(held.worker(), worker);
            held
        });
        let wakes: [Arc<Wakes>; 2] = std::array::from_fn(|_| Arc::default());
        let counts = || [0, 1].map(|of| wakes[of].0.load(Ordering::Relaxed));
        let begin = |of: usize| {
            let waker = Arc::clone(&wakes[of]).into();
            assert!(!p.idle.begin_wait(&held[of], p, waker));
        };
        begin(0);
        assert!(!p.idle.release_other(2), "no other thread waits");
        assert_eq!(counts(), [0, 0]);
        begin(1);
        // From worker 2, the highest, to worker 1.
        assert!(p.idle.release_other(2));
        assert_eq!(counts(), [0, 1]);
        for held in held {
            p.idle.end_wait(&held);
            p.idle.unhold(held, p);
        }
        p.idle.unpark_all();
        for sleeper in sleepers {
            p.idle.stop_search(sleeper.token(), p);
        }
    });
}

#[test]
fn a_wait_is_no_last_resort_while_another_worker_runs() {
    let _watchdog = watchdog();
    let pool = Pool::new(2);
    pool.with(|p| {
        p.idle.adopt_live(0);
        p.items.store(1, Ordering::Relaxed);
        let waiter = p.waiter(1);
        p.await_awake(1);
        eventually(|| p.idle.wake_worker(1));
        assert_eq!(waiter.outcome(), Restricted::Woken);
        p.items.store(0, Ordering::Relaxed);
        p.idle.leave(0, None, p);
    });
}

#[test]
fn a_holder_that_waits_counts_for_the_last_resort() {
    let _watchdog = watchdog();
    let pool = Pool::new(2);
    pool.with(|p| {
        let sleeper = p.sleeper(1);
        p.await_awake(0);
        let held = p.idle.hold(p).expect("a worker is parked");
        let waiter = p.waiter(0);
        p.await_awake(1);
        let waker = Waker::noop();
        assert!(!p.idle.begin_wait(&held, p, waker.clone()));
        // The worker in `R` goes first, then the holder, which is woken once. The item comes later: the worker may be about to look.
        assert_eq!(p.idle.publish(), Woke::WokeRestricted(0));
        assert_eq!(waiter.outcome(), Restricted::Woken);
        p.items.store(1, Ordering::Relaxed);
        eventually(|| p.idle.publish() == Woke::WokeRestricted(1));
        p.idle.end_wait(&held);
        assert!(p.idle.begin_wait(&held, p, waker.clone()), "the last one");
        p.idle.end_wait(&held);
        p.items.store(0, Ordering::Relaxed);
        p.idle.unhold(held, p);
        assert_eq!(p.idle.publish(), Woke::Woke(1));
        p.idle.stop_search(sleeper.token(), p);
    });
}

#[test]
fn a_holder_that_is_awake_again_is_woken_by_no_thread() {
    let _watchdog = watchdog();
    let pool = Pool::new(1);
    pool.with(|p| {
        let sleeper = p.sleeper(0);
        p.await_awake(0);
        let held = p.idle.hold(p).expect("a worker is parked");
        let wakes = Arc::<Wakes>::default();
        let begin = || assert!(!p.idle.begin_wait(&held, p, Arc::clone(&wakes).into()));
        let calls = || wakes.0.load(Ordering::Relaxed);
        begin();
        assert_eq!(p.idle.publish(), Woke::WokeRestricted(0));
        assert_eq!(calls(), 1);
        begin();
        p.idle.end_wait(&held);
        assert_eq!(Arc::strong_count(&wakes), 1, "no thread has its waker");
        assert!(!p.idle.any_restricted());
        assert_eq!(p.idle.publish(), Woke::NoneParked);
        assert!(!p.idle.release_other(0));
        assert_eq!(calls(), 1);
        p.idle.unhold(held, p);
        p.idle.unpark_all();
        p.idle.stop_search(sleeper.token(), p);
    });
}

#[test]
fn a_place_that_is_given_back_while_work_is_visible_wakes_a_worker() {
    let _watchdog = watchdog();
    let pool = Pool::new(1);
    pool.with(|p| {
        let sleeper = p.sleeper(0);
        p.await_awake(0);
        let held = p.idle.hold(p).expect("a worker is parked");
        // The holder runs, and was to look at this item.
        p.items.store(1, Ordering::Relaxed);
        assert_eq!(p.idle.publish(), Woke::NoneParked);
        p.idle.unhold(held, p);
        assert_eq!((p.idle.any_parked(), p.idle.searching()), (false, 1));
        p.items.store(0, Ordering::Relaxed);
        p.idle.stop_search(sleeper.token(), p);
    });
}

#[test]
fn a_report_says_what_each_worker_does() {
    let _watchdog = watchdog();
    let pool = Pool::new(GROUP_CAPACITY + 2);
    pool.with(|p| {
        let sleepers = [0, 3, 4].map(|w| p.sleeper(w));
        let sentinel = p.sentinel(1, Duration::from_secs(3600));
        let waiter = p.waiter(GROUP_CAPACITY + 1);
        p.await_awake(0);
        let token = p.idle.enter(5);
        let [waits, awake] = [4, 3].map(|worker| {
            let held = p.idle.hold(p).expect("a worker is parked");
            assert_eq!(held.worker(), worker);
            held
        });
        assert!(!p.idle.begin_wait(&waits, p, Waker::noop().clone()));
        let all = [
            (0, Doing::Parked),
            (1, Doing::Watching),
            (2, Doing::Absent),
            (3, Doing::Held),
            (4, Doing::HeldWaiting),
            (5, Doing::Awake),
            (GROUP_CAPACITY, Doing::Absent),
            (GROUP_CAPACITY + 1, Doing::Waiting),
            (10 * GROUP_CAPACITY, Doing::Absent),
        ];
        for (worker, doing) in all {
            assert_eq!(p.idle.doing(worker), doing, "worker {worker}");
        }
        p.idle.end_wait(&waits);
        for held in [waits, awake] {
            p.idle.unhold(held, p);
        }
        p.idle.unpark_all();
        for sleeper in sleepers.into_iter().chain([sentinel]) {
            p.idle.stop_search(sleeper.token(), p);
        }
        p.idle.stop_search(token, p);
        assert_eq!(waiter.outcome(), Restricted::Woken);
    });
}
