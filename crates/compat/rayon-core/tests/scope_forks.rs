//! The thread that waits for a scope takes halves that the scope's children have forked.

mod pools;

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rayon_core::{ThreadPoolBuilder, current_thread_index, join, scope, yield_local};
use terrace_testing::watchdog;

use pools::{pool, until};

const ROUNDS: usize = 50;

/// Two halves, each of which ends after the other one has begun.
fn halves_that_meet() {
    let both = Barrier::new(2);
    join(|| both.wait(), || both.wait());
}

/// A child of `scope` on the other thread. The halves come when the waiter looks, or when it sleeps.
fn a_child_with_two_halves(asleep: bool) {
    let begun = AtomicBool::new(false);
    scope(|scope| {
        scope.spawn(|_| {
            begun.store(true, Ordering::Release);
            if asleep {
                thread::sleep(Duration::from_millis(5));
            }
            halves_that_meet();
        });
        until(&begun);
    });
}

#[test]
fn the_halves_of_a_child_meet() {
    let _watchdog = watchdog();
    let pool = pool(2);
    for round in 0..ROUNDS {
        pool.install(|| a_child_with_two_halves(round % 2 == 0));
    }
}

/// The waiter is no thread of the pool, mostly: it stands in for one that sleeps.
#[test]
fn the_halves_of_a_child_of_a_scope_from_outside_meet() {
    let _watchdog = watchdog();
    let global = ThreadPoolBuilder::new().num_threads(2).build_global();
    global.expect("no other test has made it");
    for round in 0..ROUNDS {
        a_child_with_two_halves(round % 2 == 0);
    }
}

#[test]
fn the_halves_of_a_child_in_a_fifo_meet() {
    let _watchdog = watchdog();
    let begun = AtomicBool::new(false);
    pool(2).scope_fifo(|scope| {
        scope.spawn_fifo(|_| {
            begun.store(true, Ordering::Release);
            halves_that_meet();
        });
        until(&begun);
    });
}

/// The child of a child: the inner scope's thread helps it, on top of its own child of the outer one.
#[test]
fn the_halves_of_a_child_in_a_child_meet() {
    let _watchdog = watchdog();
    let pool = pool(2);
    for round in 0..ROUNDS {
        let begun = AtomicBool::new(false);
        pool.scope(|scope| {
            scope.spawn(|_| {
                begun.store(true, Ordering::Release);
                a_child_with_two_halves(round % 2 == 0);
            });
            until(&begun);
        });
    }
}

/// A half of a half: the waiter finds it by way of the first half's thief.
#[test]
fn the_halves_of_a_stolen_half_meet() {
    let _watchdog = watchdog();
    let (begun, stolen) = (AtomicBool::new(false), AtomicBool::new(false));
    pool(3).scope(|scope| {
        scope.spawn(|_| {
            begun.store(true, Ordering::Release);
            let second = || {
                stolen.store(true, Ordering::Release);
                halves_that_meet();
            };
            join(|| until(&stolen), second);
        });
        until(&begun);
    });
}

/// The child runs in the middle of a half whose other one lies open: its thread pushes on, without a look for sleeping waiters.
#[test]
fn the_halves_of_a_child_inside_of_a_half_meet() {
    let _watchdog = watchdog();
    let pool = pool(2);
    for _ in 0..ROUNDS {
        let begun = AtomicBool::new(false);
        pool.scope(|scope| {
            scope.spawn(|scope| {
                begun.store(true, Ordering::Release);
                let first = || {
                    scope.spawn(|_| {
                        thread::sleep(Duration::from_millis(2));
                        halves_that_meet();
                    });
                    yield_local();
                };
                join(first, || ());
            });
            until(&begun);
        });
    }
}

/// The waiter takes a half in the middle of a half of its own. The thread that joins the first one takes what that forks.
#[test]
fn the_halves_of_a_half_that_the_waiter_takes_meet() {
    let _watchdog = watchdog();
    let pool = pool(2);
    for _ in 0..ROUNDS {
        let [forked, taken] = &[const { AtomicBool::new(false) }; 2];
        let scoped = || {
            scope(|scope| {
                scope.spawn(move |_| {
                    let first = || {
                        forked.store(true, Ordering::Release);
                        until(taken);
                    };
                    let second = || {
                        taken.store(true, Ordering::Release);
                        thread::sleep(Duration::from_millis(2));
                        halves_that_meet();
                    };
                    join(first, second);
                });
                until(forked);
            });
        };
        pool.install(|| join(scoped, || ()));
    }
}

/// The waiter of a scope takes no half of a job that is outside of it.
#[test]
fn a_half_outside_of_the_scope_stays() {
    let _watchdog = watchdog();
    let [begun, child_begun, joined] = &[const { AtomicBool::new(false) }; 3];
    pool(3).scope(|outer| {
        outer.spawn(move |_| {
            begun.store(true, Ordering::Release);
            until(child_begun);
            let here = current_thread_index();
            let first = || thread::sleep(Duration::from_millis(30));
            let (_, there) = join(first, current_thread_index);
            assert_eq!(here, there);
            joined.store(true, Ordering::Release);
        });
        until(begun);
        // The third thread is busy, and this one waits.
        scope(|inner| {
            inner.spawn(move |_| {
                child_begun.store(true, Ordering::Release);
                until(joined);
            });
            until(child_begun);
        });
    });
}
