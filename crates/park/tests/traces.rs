//! Exact traces on one thread: which call changes which field of the word, and what it returns.

use std::cell::Cell;
use std::time::Duration;

use terrace_park::{GroupConfig, Idle, Restricted, Token, Wake, Woken, Work};

/// Work that says what the test tells it to.
#[derive(Default)]
struct Script {
    takeable: Cell<u32>,
    inlet: Cell<Option<usize>>,
}

impl Work for Script {
    fn takeable(&self, lanes: u32) -> bool {
        self.takeable.get() & lanes != 0
    }

    fn inlet(&self, worker: usize) -> bool {
        self.inlet.get() == Some(worker)
    }
}

impl Script {
    fn nothing() -> Self {
        Self::default()
    }

    fn takeable(lanes: u32) -> Self {
        Self {
            takeable: Cell::new(lanes),
            ..Self::default()
        }
    }

    fn inlet(worker: usize) -> Self {
        Self {
            inlet: Cell::new(Some(worker)),
            ..Self::default()
        }
    }
}

/// Gives up a token although the script shows work.
fn quit(idle: &Idle, token: Token) {
    idle.stop_search(token, &Script::nothing());
}

#[test]
fn nobody_there() {
    let idle = Idle::with_workers(0);
    assert_eq!(idle.capacity(), 0);
    assert_eq!(idle.publish(1), Wake::NoneParked);
    assert_eq!(idle.publish_batch(1, 5), 0);
    assert_eq!(idle.unpark_all(), 0);
    let unused = Idle::with_workers(3);
    assert_eq!(unused.publish(1), Wake::NoneParked);
    assert!(!unused.targeted(2));
}

#[test]
fn a_token_covers_its_lanes_only() {
    let idle = Idle::new(&[
        GroupConfig {
            workers: 1,
            lanes: 0b01,
        },
        GroupConfig {
            workers: 1,
            lanes: 0b10,
        },
    ]);
    let token = idle.enter(0);
    assert_eq!(idle.searching(), 1);
    assert_eq!(idle.publish(0b01), Wake::Covered);
    assert_eq!(idle.publish(0b10), Wake::NoneParked);
    quit(&idle, token);
    assert_eq!(idle.searching(), 0);
    assert_eq!(idle.publish(0b01), Wake::NoneParked);
}

#[test]
fn park_takes_its_bit_back_for_work_and_for_an_inlet() {
    let idle = Idle::with_workers(2);
    let token = idle.enter(0);
    let token = idle.park(0, token, &Script::takeable(1));
    assert!(!idle.any_parked(1));
    let token = idle.park(0, token, &Script::inlet(0));
    assert_eq!(idle.searching(), 1);
    quit(&idle, token);
    // Without a token it comes back with one.
    let token = idle.park(0, None, &Script::inlet(0));
    assert_eq!(idle.searching(), 1);
    quit(&idle, token);
}

#[test]
fn half_of_the_live_search() {
    let idle = Idle::with_workers(24);
    let tokens: Vec<_> = (0..5).map(|w| idle.enter(w)).collect();
    assert!(idle.try_search(0).is_none(), "those that enter always may");
    tokens.into_iter().for_each(|token| quit(&idle, token));
    let tokens: Vec<_> = (0..5).map_while(|w| idle.try_search(w)).collect();
    assert_eq!(tokens.len(), 3);
    tokens.into_iter().for_each(|token| quit(&idle, token));
    let alone = Idle::with_workers(1);
    let first = alone.enter(0);
    quit(&alone, first);
    let token = alone.try_search(0).expect("one of one may search");
    alone.leave(0, token, &Script::nothing());
    assert_eq!(alone.live(1), 0);
}

#[test]
fn a_wait_that_is_ready_does_not_sleep() {
    let idle = Idle::with_workers(2);
    let token = idle.enter(0);
    quit(&idle, token);
    let nothing = Script::nothing();
    assert_eq!(
        idle.wait_restricted(0, &nothing, || true),
        Restricted::Ready
    );
    let inlet = Script::inlet(0);
    assert_eq!(idle.wait_restricted(0, &inlet, || false), Restricted::Ready);
    assert!(!idle.is_restricted(0));
    assert_eq!(idle.searching(), 0);
}

#[test]
fn the_last_resort_needs_work_of_a_lane_whose_live_workers_all_wait() {
    let idle = Idle::new(&[
        GroupConfig {
            workers: 1,
            lanes: 0b01,
        },
        GroupConfig {
            workers: 1,
            lanes: 0b11,
        },
    ]);
    let tokens = [0, 1].map(|w| idle.enter(w));
    tokens.into_iter().for_each(|token| quit(&idle, token));
    // Worker 1 serves lane 1 alone; for lane 0 there is worker 0, who runs.
    let lane_1 = Script::takeable(0b10);
    assert_eq!(
        idle.wait_restricted(1, &lane_1, || false),
        Restricted::LastResort
    );
    assert!(!idle.is_restricted(1));
    // With worker 0 gone, lane 0 is worker 1's too.
    idle.leave(0, None, &Script::nothing());
    let lane_0 = Script::takeable(0b01);
    assert_eq!(
        idle.wait_restricted(1, &lane_0, || false),
        Restricted::LastResort
    );
}

#[test]
fn spares_are_reserved_and_abandoned() {
    let idle = Idle::new(&[
        GroupConfig {
            workers: 2,
            lanes: 1,
        },
        GroupConfig {
            workers: 1,
            lanes: 2,
        },
        GroupConfig {
            workers: 25,
            lanes: 1,
        },
    ]);
    assert!(idle.adopt_live(0));
    assert!(!idle.adopt_live(0));
    assert_eq!(idle.reserve_spare(0), Some(1));
    assert_eq!(idle.reserve_spare(0), Some(3));
    assert_eq!(idle.live(1), 3);
    idle.abandon_live(1, &Script::nothing());
    assert_eq!(idle.reserve_spare(3), Some(1));
    assert_eq!(idle.reserve_spare(2), Some(2));
    assert_eq!(idle.reserve_spare(2), None);
    let token = idle.enter(1);
    assert_eq!(idle.live(1), 3, "entering does not count twice");
    idle.leave(1, token, &Script::nothing());
}

#[test]
fn one_guard_and_its_lanes() {
    let idle = Idle::new(&[
        GroupConfig {
            workers: 2,
            lanes: 0b01,
        },
        GroupConfig {
            workers: 1,
            lanes: 0b10,
        },
    ]);
    let token = idle.enter(0);
    let timeout = Duration::from_millis(1);
    assert_eq!(idle.publish_paced(0b01, false), Wake::Covered);
    let seen = Cell::new(None);
    /// Looks at the flag while the guard is about to sleep.
    struct Spy<'a>(&'a Idle, &'a Cell<Option<(bool, bool, Wake, Wake)>>);
    impl Work for Spy<'_> {
        fn takeable(&self, _lanes: u32) -> bool {
            let second = self.0.park_as_guard(1, None, self, Duration::ZERO);
            assert!(matches!(second, Err(None)), "one guard at a time");
            self.1.set(Some((
                self.0.guards(0b01),
                self.0.guards(0b11),
                self.0.publish_paced(0b01, false),
                self.0.publish_paced(0b10, false),
            )));
            false
        }

        fn inlet(&self, _worker: usize) -> bool {
            false
        }
    }
    let woken = idle.park_as_guard(0, token, &Spy(&idle, &seen), timeout);
    let Ok(Woken::TimedOut(token)) = woken else {
        panic!("nobody woke the guard");
    };
    assert_eq!(
        seen.get(),
        Some((true, false, Wake::Guarded, Wake::NoneParked))
    );
    assert!(!idle.has_guard());
    let woken = idle.park_as_guard(0, token, &Script::takeable(1), timeout);
    let Ok(Woken::Unparked(token)) = woken else {
        panic!("work was visible");
    };
    assert!(!idle.has_guard());
    quit(&idle, token);
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "a search token was dropped")]
fn a_dropped_token_panics() {
    let idle = Idle::with_workers(1);
    drop(idle.enter(0));
}

#[test]
fn debug_shows_every_group() {
    let idle = Idle::with_workers(2);
    let token = idle.enter(1);
    let text = format!("{idle:?}");
    assert!(text.contains("live 000000000000000000000010"), "{text}");
    assert!(text.contains("S 1"), "{text}");
    quit(&idle, token);
}
