//! A panic of the first closure of a join: what runs before the join unwinds runs as on any other day, and not in a destructor.

mod pools;

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::panicking;

use rayon_core::{join, spawn};
use terrace_testing::{payload_of, watchdog};

use pools::{pool, until};

/// A panic with 7 as its payload, which writes no message.
fn unwind() {
    resume_unwind(Box::new(7));
}

/// The number that a call panics with.
fn number_of(call: impl FnOnce()) -> i32 {
    let payload = payload_of(call).downcast();
    *payload.expect("a number of this test")
}

#[test]
fn the_second_closure_runs_on_the_thread() {
    let _watchdog = watchdog();
    let mut seen = None;
    let joins = || {
        join(unwind, || seen = Some(panicking()));
    };
    assert_eq!(number_of(|| pool(1).install(joins)), 7);
    assert_eq!(seen, Some(false));
}

/// The first payload wins.
#[test]
fn the_second_closure_panics_too() {
    let _watchdog = watchdog();
    let joins = || {
        join(unwind, || resume_unwind(Box::new(8)));
    };
    assert_eq!(number_of(|| pool(1).install(joins)), 7);
}

/// Another thread has taken the second closure, which forks. The thread that waits takes what it has forked.
#[test]
fn the_thread_takes_a_job_while_it_waits_for_the_second_closure() {
    let _watchdog = watchdog();
    let (taken, ran) = (AtomicBool::new(false), AtomicBool::new(false));
    let mut seen = None;
    let fork = || {
        taken.store(true, Ordering::Release);
        let inner = || {
            seen = Some(panicking());
            ran.store(true, Ordering::Release);
        };
        join(|| until(&ran), inner);
    };
    let first = || {
        until(&taken);
        unwind();
    };
    let joins = || {
        join(first, fork);
    };
    assert_eq!(number_of(|| pool(2).install(joins)), 7);
    assert_eq!(seen, Some(false));
}

/// What the second closure has spawned sees no panic either.
#[test]
fn a_job_of_the_second_closure() {
    let _watchdog = watchdog();
    let (sender, seen) = std::sync::mpsc::channel();
    let joins = || {
        let second = || {
            spawn(move || sender.send(panicking()).expect("the test listens"));
            rayon_core::yield_local();
        };
        join(unwind, second);
    };
    assert_eq!(number_of(|| pool(1).install(joins)), 7);
    assert_eq!(seen.recv(), Ok(false));
}
