//! Exact traces on one thread: which call changes which field of the word, and what it returns.

use std::cell::Cell;
use std::time::Duration;

use terrace_park::{GROUP_CAPACITY, Idle, Restricted, Token, Wake, Woken, Work};
use terrace_testing::watchdog;

/// Work whose answers the test sets.
#[derive(Default)]
struct Script {
    takeable: Cell<bool>,
    private: Cell<Option<usize>>,
}

impl Work for Script {
    fn takeable(&self) -> bool {
        self.takeable.get()
    }

    fn has_private_work(&self, worker: usize) -> bool {
        self.private.get() == Some(worker)
    }
}

impl Script {
    fn nothing() -> Self {
        Self::default()
    }

    fn takeable() -> Self {
        Self {
            takeable: Cell::new(true),
            ..Self::default()
        }
    }

    fn private(worker: usize) -> Self {
        Self {
            private: Cell::new(Some(worker)),
            ..Self::default()
        }
    }
}

/// Gives up a token although the script shows work.
fn quit(idle: &Idle, token: Token) {
    idle.stop_search(token, &Script::nothing());
}

#[test]
fn an_idle_without_sleepers() {
    let _watchdog = watchdog();
    let idle = Idle::new(0);
    assert_eq!(idle.publish(), Wake::NoneParked);
    assert_eq!(idle.publish_batch(5), 0);
    assert_eq!(idle.unpark_all(), 0);
    let unused = Idle::new(3);
    assert_eq!(unused.publish(), Wake::NoneParked);
    assert!(!unused.wake_worker(2));
}

#[test]
fn a_token_covers_the_workers_of_all_groups() {
    let _watchdog = watchdog();
    let idle = Idle::new(GROUP_CAPACITY + 1);
    idle.adopt_live(0);
    let token = idle.enter(GROUP_CAPACITY);
    assert_eq!(idle.searching(), 1);
    assert_eq!(idle.publish(), Wake::Covered);
    quit(&idle, token);
    assert_eq!(idle.searching(), 0);
    assert_eq!(idle.publish(), Wake::NoneParked);
}

#[test]
fn a_place_is_added_for_any_number() {
    let _watchdog = watchdog();
    let idle = Idle::new(0);
    for worker in [0, GROUP_CAPACITY - 1, 5 * GROUP_CAPACITY, GROUP_CAPACITY] {
        idle.ensure(worker);
        let token = idle.enter(worker);
        assert_eq!(idle.publish(), Wake::Covered, "worker {worker} searches");
        idle.leave(worker, token, &Script::nothing());
        assert_eq!((idle.awake(), idle.searching()), (0, 0));
    }
}

#[test]
fn park_takes_its_bit_back_for_work_and_for_private_work() {
    let idle = Idle::new(2);
    let token = idle.enter(0);
    let token = idle.park(0, token, &Script::takeable());
    assert!(!idle.any_parked());
    let token = idle.park(0, token, &Script::private(0));
    assert_eq!(idle.searching(), 1);
    quit(&idle, token);
    // Without a token it comes back with one.
    let token = idle.park(0, None, &Script::private(0));
    assert_eq!(idle.searching(), 1);
    quit(&idle, token);
}

#[test]
fn half_of_the_live_search() {
    let _watchdog = watchdog();
    let idle = Idle::new(24);
    let tokens: Vec<_> = (0..5).map(|w| idle.enter(w)).collect();
    assert!(idle.try_search(0).is_none(), "those that enter always may");
    tokens.into_iter().for_each(|token| quit(&idle, token));
    let tokens: Vec<_> = (0..5).map_while(|w| idle.try_search(w)).collect();
    assert_eq!(tokens.len(), 3);
    tokens.into_iter().for_each(|token| quit(&idle, token));
    let alone = Idle::new(1);
    let first = alone.enter(0);
    quit(&alone, first);
    let token = alone.try_search(0).expect("one of one may search");
    alone.leave(0, token, &Script::nothing());
    assert_eq!(alone.awake(), 0);
}

#[test]
fn a_wait_that_is_ready_does_not_sleep() {
    let _watchdog = watchdog();
    let idle = Idle::new(2);
    let token = idle.enter(0);
    quit(&idle, token);
    let nothing = Script::nothing();
    assert_eq!(
        idle.wait_restricted(0, &nothing, || true),
        Restricted::Ready
    );
    let private = Script::private(0);
    assert_eq!(
        idle.wait_restricted(0, &private, || false),
        Restricted::Ready
    );
    assert!(!idle.any_restricted());
    assert_eq!(idle.searching(), 0);
}

#[test]
fn the_last_resort_needs_work_while_all_live_workers_wait() {
    let _watchdog = watchdog();
    let idle = Idle::new(GROUP_CAPACITY + 1);
    let other = GROUP_CAPACITY;
    let tokens = [0, other].map(|w| idle.enter(w));
    tokens.into_iter().for_each(|token| quit(&idle, token));
    idle.leave(0, None, &Script::nothing());
    let work = Script::takeable();
    assert_eq!(
        idle.wait_restricted(other, &work, || false),
        Restricted::LastResort
    );
    assert!(!idle.any_restricted());
    // Ready comes first.
    assert_eq!(
        idle.wait_restricted(other, &work, || true),
        Restricted::Ready
    );
}

#[test]
fn workers_are_counted_live_once_and_abandoned() {
    let _watchdog = watchdog();
    let idle = Idle::new(GROUP_CAPACITY + 2);
    for worker in [0, 0, 1, GROUP_CAPACITY] {
        idle.adopt_live(worker);
    }
    assert_eq!(idle.awake(), 3, "adopting twice does not count twice");
    idle.abandon_live(1, &Script::nothing());
    assert_eq!(idle.awake(), 2);
    let token = idle.enter(GROUP_CAPACITY);
    assert_eq!(idle.awake(), 2, "entering does not count twice");
    idle.leave(GROUP_CAPACITY, token, &Script::nothing());
    assert_eq!(idle.awake(), 1);
}

#[test]
fn two_sentinels_at_a_time() {
    let _watchdog = watchdog();
    let idle = Idle::new(GROUP_CAPACITY + 2);
    let token = idle.enter(0);
    let timeout = Duration::from_millis(1);
    assert_eq!(idle.publish_paced(), Wake::Covered);
    let seen = Cell::new(None);
    /// Parks the workers of the second group while the first sentinel is about to sleep.
    struct Spy<'a>(&'a Idle, &'a Cell<Option<(bool, Wake)>>);
    impl Work for Spy<'_> {
        fn takeable(&self) -> bool {
            let third = Third(self.0);
            let second = self.0.park_as_sentinel(GROUP_CAPACITY, None, &third, []);
            let Ok(Woken::TimedOut(token)) = second else {
                panic!("two sentinels at a time");
            };
            self.1
                .set(Some((self.0.has_sentinel(), self.0.publish_paced())));
            self.0.stop_search(token, &Script::nothing());
            false
        }

        fn has_private_work(&self, _worker: usize) -> bool {
            false
        }
    }
    /// Parks one more worker while the second sentinel is about to sleep.
    struct Third<'a>(&'a Idle);
    impl Work for Third<'_> {
        fn takeable(&self) -> bool {
            let nothing = Script::nothing();
            let third = self
                .0
                .park_as_sentinel(GROUP_CAPACITY + 1, None, &nothing, []);
            assert!(matches!(third, Err(None)), "two sentinels at a time");
            false
        }

        fn has_private_work(&self, _worker: usize) -> bool {
            false
        }
    }
    let mut sleeps = 0;
    let woken = idle.park_as_sentinel(
        0,
        token,
        &Spy(&idle, &seen),
        std::iter::repeat_n(timeout, 3).inspect(|_| sleeps += 1),
    );
    let Ok(Woken::TimedOut(token)) = woken else {
        panic!("no publisher woke the sentinel");
    };
    assert_eq!(sleeps, 3, "it sleeps once for each item");
    assert_eq!(seen.get(), Some((true, Wake::Watched)));
    assert!(!idle.has_sentinel());
    let woken = idle.park_as_sentinel(0, token, &Script::takeable(), [timeout]);
    let Ok(Woken::Unparked(token)) = woken else {
        panic!("work was visible");
    };
    assert!(!idle.has_sentinel());
    quit(&idle, token);
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "a search token was dropped")]
fn a_dropped_token_panics() {
    let _watchdog = watchdog();
    let idle = Idle::new(1);
    drop(idle.enter(0));
}

#[test]
fn debug_shows_every_group() {
    let _watchdog = watchdog();
    let idle = Idle::new(2);
    let token = idle.enter(1);
    let text = format!("{idle:?}");
    assert!(text.contains("live 000000000000000000000010"), "{text}");
    assert!(text.contains("S 1"), "{text}");
    quit(&idle, token);
}
