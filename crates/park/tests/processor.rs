//! A thread learns whether its waker shares its processor. Each test has a thread of its own, whose processors it chooses.

#![cfg(all(target_os = "linux", not(miri)))]

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use terrace_park::{Idle, Parker, Work};
use terrace_testing::{on_own_thread, processors, stay_on};

struct Nothing;

impl Work for Nothing {
    fn takeable(&self) -> bool {
        false
    }

    fn has_private_work(&self, _worker: usize) -> bool {
        false
    }
}

/// Two processors; the same one twice if there is only one.
fn two() -> (usize, usize) {
    let all: Vec<usize> = processors().take(2).collect();
    (all[0], *all.last().expect("a thread runs somewhere"))
}

#[test]
fn a_parked_thread() {
    on_own_thread(|| {
        let (here, there) = two();
        let parker = Parker::new();
        assert!(!parker.shares_processor(), "no waker yet");
        for waker in [here, there] {
            assert!(stay_on(here));
            let (unparker, sleeps) = (parker.unparker(), AtomicBool::new(false));
            thread::scope(|threads| {
                threads.spawn(|| {
                    assert!(stay_on(waker));
                    while !sleeps.load(Ordering::Relaxed) {
                        thread::yield_now();
                    }
                    // The token may come before the sleep, which notes nothing: hence more than one.
                    for _ in 0..50 {
                        thread::sleep(std::time::Duration::from_millis(1));
                        unparker.unpark();
                    }
                });
                sleeps.store(true, Ordering::Relaxed);
                for _ in 0..50 {
                    parker.park_timeout(std::time::Duration::from_millis(100));
                }
            });
            assert_eq!(parker.shares_processor(), waker == here);
        }
    });
}

#[test]
fn a_worker() {
    on_own_thread(|| {
        let (here, there) = two();
        for waker in [here, there] {
            let idle = Idle::new(1);
            thread::scope(|threads| {
                let worker = threads.spawn(|| {
                    assert!(stay_on(here));
                    let token = idle.enter(0);
                    assert!(!idle.shares_processor(0), "no waker yet");
                    let token = idle.park(0, token, &Nothing);
                    let shares = idle.shares_processor(0);
                    idle.leave(0, token, &Nothing);
                    shares
                });
                assert!(stay_on(waker));
                while !idle.any_parked() {
                    thread::yield_now();
                }
                let _woke = idle.publish();
                let shares = worker.join().expect("the worker does not panic");
                assert_eq!(shares, waker == here);
            });
        }
    });
}
