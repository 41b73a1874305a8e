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

/// Several rounds: a worker that has not fallen asleep yet may see its wake before the waker notes where it is.
#[test]
fn a_worker() {
    on_own_thread(|| {
        let (here, there) = two();
        for waker in [here, there] {
            let shared: Vec<bool> = (0..20).map(|_| woken(here, waker)).collect();
            // Two processors are never the same; one is, mostly.
            assert_eq!(shared.contains(&true), waker == here, "{shared:?}");
        }
    });
}

/// Whether a worker on the first processor, woken once from the second, takes them for the same.
fn woken(worker: usize, waker: usize) -> bool {
    let idle = Idle::new(1);
    thread::scope(|threads| {
        let worker = threads.spawn(|| {
            assert!(stay_on(worker));
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
        worker.join().expect("the worker does not panic")
    })
}
