//! The thread that waits for a scope finds each child of it, wherever the child lies.

mod pools;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use rayon_core::{join, scope, spawn};
use terrace_testing::watchdog;

use pools::{pool, until};

fn set(flag: &AtomicBool) {
    flag.store(true, Ordering::Release);
}

/// More jobs than a waiter looks at, unless it is about to sleep.
const MANY: usize = 200;

fn spawn_many() {
    (0..MANY).for_each(|_| spawn(|| ()));
}

#[test]
fn a_child_in_the_middle_of_a_long_queue() {
    let _watchdog = watchdog();
    let queued = AtomicBool::new(false);
    let queued = &queued;
    let (sender, ran) = channel();
    pool(2).scope(|scope| {
        scope.spawn(move |scope| {
            spawn_many();
            scope.spawn(move |_| sender.send(()).expect("the parent listens"));
            spawn_many();
            set(queued);
            ran.recv().expect("the child has run");
        });
        until(queued);
    });
}

/// Each child queues another one and blocks until that has run. Only the thread that waits for the scope can run it, and it is mostly
/// asleep by then: both kinds of scopes have to wake it.
#[test]
fn a_child_in_the_queue_of_a_thread_that_blocks() {
    let _watchdog = watchdog();
    let pool = pool(2);
    let doze = || thread::sleep(Duration::from_millis(1));
    for round in 0..20 {
        let begun = AtomicBool::new(false);
        let begun = &begun;
        let (sender, ran) = channel();
        let inner = move || sender.send(()).expect("the parent listens");
        let wait = move || ran.recv().expect("the child has run");
        if round % 2 == 0 {
            pool.scope(|scope| {
                scope.spawn(move |scope| {
                    set(begun);
                    doze();
                    scope.spawn(move |_| inner());
                    wait();
                });
                until(begun);
            });
        } else {
            pool.scope_fifo(|scope| {
                scope.spawn_fifo(move |scope| {
                    set(begun);
                    doze();
                    scope.spawn_fifo(move |_| inner());
                    wait();
                });
                until(begun);
            });
        }
    }
}

#[test]
fn a_child_from_outside_behind_many_jobs() {
    let _watchdog = watchdog();
    let (sender, ran) = channel();
    let (pool, queued) = (&pool(2), AtomicBool::new(false));
    let queued = &queued;
    pool.scope(|scope| {
        scope.spawn(move |scope| {
            thread::scope(|threads| {
                threads.spawn(move || {
                    (0..MANY).for_each(|_| pool.spawn(|| ()));
                    scope.spawn(move |_| sender.send(()).expect("the parent listens"));
                });
            });
            set(queued);
            ran.recv().expect("the child has run");
        });
        until(queued);
    });
}

/// A child joins, another thread takes the half, and opens a scope in it. It then blocks until a child of that scope has run, which only
/// the thread can run that waits for the outer scope.
#[test]
fn a_child_of_a_scope_in_a_half_of_a_child() {
    let _watchdog = watchdog();
    let (begun, taken) = (AtomicBool::new(false), AtomicBool::new(false));
    let (begun, taken) = (&begun, &taken);
    let half = || {
        set(taken);
        let (sender, ran) = channel();
        scope(|scope| {
            scope.spawn(move |_| sender.send(()).expect("the sibling listens"));
            scope.spawn(move |_| ran.recv().expect("the sibling has run"));
        });
    };
    pool(3).scope(|scope| {
        scope.spawn(move |_| {
            set(begun);
            join(|| until(taken), half);
        });
        until(begun);
    });
}

/// The queue of the thread that waits loses a job out of its middle, which lay there before the scope began. The thread still runs the job
/// that it has queued in the scope.
#[test]
fn a_job_of_the_waiter_after_another_one_has_gone() {
    let _watchdog = watchdog();
    let flags = [const { AtomicBool::new(false) }; 4];
    let [begun, opened, gone, waits] = &flags;
    let (sender, ran) = channel();
    pool(2).scope(|outer| {
        outer.spawn(move |outer| {
            set(begun);
            spawn(|| ());
            outer.spawn(move |_| set(gone));
            spawn(|| ());
            scope(|inner| {
                set(opened);
                until(gone);
                // For the other thread, which waits for the outer scope.
                inner.spawn(move |_| {
                    set(waits);
                    ran.recv().expect("the job has run");
                });
                until(waits);
                spawn(move || sender.send(()).expect("the child listens"));
            });
        });
        until(begun);
        until(opened);
    });
}
