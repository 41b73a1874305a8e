//! Long children among tiny ones: a child never waits for a long one beside it while another thread is free.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use terrace_executor::{Builder, Executor};
use terrace_fork::scope;
use terrace_testing::watchdog;

/// Scopes of four empty children: enough to make the pool believe that all children are tiny.
fn tiny_scopes(pool: &Executor<'static>) {
    for _ in 0..200 {
        scope(pool, |scope| {
            for _ in 0..4 {
                scope.spawn(async {});
            }
        });
    }
}

/// The first child of each scope computes until its sibling runs. So the sibling has to run on another thread, which nothing
/// but the sentinel can find out.
#[test]
fn a_sibling_of_a_child_that_computes_runs_beside_it() {
    let _watchdog = watchdog();
    for workers in [1, 2, 4] {
        let pool = &Builder::new().workers(workers).build();
        for _ in 0..50 {
            tiny_scopes(pool);
            let runs = AtomicBool::new(false);
            scope(pool, |scope| {
                scope.spawn(async {
                    while !runs.load(Ordering::Acquire) {
                        std::hint::spin_loop();
                    }
                });
                scope.spawn(async { runs.store(true, Ordering::Release) });
            });
        }
    }
}

/// The body computes until a child runs that it has spawned.
#[test]
fn a_child_runs_beside_a_body_that_computes() {
    let _watchdog = watchdog();
    let pool = &Builder::new().workers(2).build();
    for _ in 0..50 {
        tiny_scopes(pool);
        let runs = AtomicBool::new(false);
        scope(pool, |scope| {
            scope.spawn(async { runs.store(true, Ordering::Release) });
            while !runs.load(Ordering::Acquire) {
                std::hint::spin_loop();
            }
        });
    }
}

/// More children wait for each other than there are workers, after tiny scopes. Each is found although all threads that
/// are awake compute.
#[test]
fn as_many_children_compute_at_once_as_there_are_threads() {
    let _watchdog = watchdog();
    let pool = &Builder::new().workers(3).build();
    for _ in 0..10 {
        tiny_scopes(pool);
        let running = AtomicUsize::new(0);
        scope(pool, |scope| {
            for _ in 0..4 {
                scope.spawn(async {
                    running.fetch_add(1, Ordering::AcqRel);
                    while running.load(Ordering::Acquire) < 4 {
                        std::hint::spin_loop();
                    }
                });
            }
        });
    }
}
