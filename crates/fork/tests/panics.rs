//! Which panic comes out of a scope: the body's first, then those of children in spawn order. And the state that it
//! leaves.

mod pools;

use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use pools::with_each;
use terrace_executor::Builder;
use terrace_fork::scope;
use terrace_testing::{Drops, Yields, on_own_thread, text_of, watchdog};

#[test]
fn of_several_panics_the_first_in_spawn_order_comes_through() {
    let _watchdog = watchdog();
    with_each(|executor| {
        for round in 0..100 {
            let message = text_of(|| {
                scope(executor, |s| {
                    for n in 0..8 {
                        s.spawn(async move { assert!(n < round % 8, "number {n}") });
                    }
                });
            });
            assert_eq!(message, format!("number {}", round % 8));
        }
    });
}

/// Both panic in the same moment, on two threads.
#[test]
fn panics_at_the_same_time() {
    for workers in [1, 2, 5] {
        on_own_thread(move || {
            let executor = Builder::new().workers(workers).build();
            for _ in 0..100 {
                let barrier = Barrier::new(2);
                let message = text_of(|| {
                    scope(&executor, |s| {
                        for n in 0..2 {
                            let barrier = &barrier;
                            s.spawn(async move {
                                barrier.wait();
                                panic!("number {n}");
                            });
                        }
                    });
                });
                assert_eq!(message, "number 0");
            }
        });
    }
}

#[test]
fn the_panic_of_the_body_comes_first() {
    let _watchdog = watchdog();
    with_each(|executor| {
        let message = text_of(|| {
            scope(executor, |s| {
                let ran = AtomicBool::new(executor.workers() == 0);
                let ran: &'static AtomicBool = Box::leak(Box::new(ran));
                s.spawn(async move {
                    ran.store(true, Ordering::Release);
                    panic!("child");
                });
                while !ran.load(Ordering::Acquire) {
                    thread::yield_now();
                }
                panic!("body");
            })
        });
        assert_eq!(message, "body");
    });
}

/// The inner scope's panic is caught inside a child of the outer one, which goes on.
#[test]
fn a_panic_stays_in_its_scope() {
    let _watchdog = watchdog();
    with_each(|executor| {
        let ended = AtomicUsize::new(0);
        scope(executor, |outer| {
            for _ in 0..4 {
                outer.spawn(async {
                    let message = text_of(|| {
                        scope(executor, |inner| {
                            inner.spawn(pending());
                            inner.spawn(async { panic!("inner") });
                        });
                    });
                    assert_eq!(message, "inner");
                    Yields(1).await;
                    ended.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        assert_eq!(ended.into_inner(), 4);
    });
}

/// Both children panic in any case, and so does the body in one.
#[test]
fn payloads_that_do_not_come_through_are_dropped() {
    for body_panics in [false, true] {
        on_own_thread(move || {
            let executor = Builder::new().workers(2).build();
            let (drops, barrier) = (Drops::new(), Barrier::new(3));
            let ended = catch_unwind(AssertUnwindSafe(|| {
                scope(&executor, |s| {
                    for _ in 0..2 {
                        s.spawn(async {
                            barrier.wait();
                            panic_any(drops.value());
                        });
                    }
                    barrier.wait();
                    assert!(!body_panics, "body");
                });
            }));
            let payload = ended.unwrap_err();
            assert_eq!(payload.is::<&str>(), body_panics);
            drop(payload);
            assert_eq!(drops.count(), 2);
        });
    }
}

/// The destructors of values that a failed scope drops must not meet its panic: that would end the
/// process.
#[test]
fn payloads_and_results_with_panicking_destructors() {
    let _watchdog = watchdog();
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("bomb");
        }
    }
    with_each(|executor| {
        let message = text_of(|| {
            scope(executor, |s| {
                s.spawn(async { panic!("child") });
                Bomb
            })
        });
        assert_eq!(message, "child");
        let message = text_of(|| {
            scope(executor, |s| {
                s.spawn(async { panic!("first") });
                s.spawn(async { panic_any(Bomb) });
            });
        });
        assert_eq!(message, "first");
        let message = text_of(|| {
            scope(executor, |s| {
                s.spawn(async { panic_any(Bomb) });
                if executor.workers() > 0 {
                    thread::yield_now();
                }
                panic!("body");
            })
        });
        assert_eq!(message, "body");
    });
}

/// A scope after one that failed, in the same slot.
#[test]
fn the_next_scope_is_whole() {
    let _watchdog = watchdog();
    with_each(|executor| {
        for _ in 0..50 {
            let message = text_of(|| {
                scope(executor, |s| {
                    s.spawn(pending());
                    s.spawn(async { panic!("child") });
                });
            });
            assert_eq!(message, "child");
            let ran = AtomicUsize::new(0);
            scope(executor, |s| {
                for _ in 0..4 {
                    s.spawn(async {
                        ran.fetch_add(1, Ordering::Relaxed);
                    });
                }
            });
            assert_eq!(ran.into_inner(), 4);
        }
    });
}
