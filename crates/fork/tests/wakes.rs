//! Tiny work does not pay for wakes, counted on the threads that would make them.

#![cfg(terrace_count)]

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use terrace_executor::{Builder, Executor};
use terrace_fork::{Scope, scope};
use terrace_sync::count::Counts;
use terrace_testing::watchdog;

/// A chain of children, each spawned by the one before.
fn chain<'scope>(scope: &'scope Scope<'scope, '_>, left: u32, unparks: &'scope AtomicU64) {
    if left > 0 {
        let before = Counts::now();
        scope.spawn(async move { chain(scope, left - 1, unparks) });
        unparks.fetch_add((Counts::now() - before).unparks, Ordering::Relaxed);
    }
}

fn warm(executor: &Executor<'static>) {
    for _ in 0..100 {
        scope(executor, |s| {
            for _ in 0..100 {
                s.spawn(async {});
            }
        });
    }
}

/// One test at a time: others on the same cores make children look long.
static ALONE: Mutex<()> = Mutex::new(());

/// Wakes that are allowed: those of optimised code, where an empty child takes less than what makes it worth another
/// thread's while. Without optimisation, or with other processes on the same cores, that is not always so. Then the
/// bound only shows that a pool does not wake a thread for every child.
fn allowed(optimised: u64) -> u64 {
    if cfg!(debug_assertions) {
        40
    } else {
        optimised
    }
}

/// The median over several attempts, since the machine may take a thread off its core in the middle of one, which
/// makes children look long.
fn median(mut attempt: impl FnMut() -> u64) -> u64 {
    let mut unparks: Vec<_> = (0..9).map(|_| attempt()).collect();
    unparks.sort_unstable();
    unparks[4]
}

#[test]
fn a_thousand_empty_children_cost_at_most_a_handful_of_wakes() {
    let _watchdog = watchdog();
    let _alone = ALONE.lock().unwrap_or_else(|error| error.into_inner());
    let executor = Builder::new().workers(2).build();
    let unparks = median(|| {
        warm(&executor);
        let cost = Counts::of(|| {
            scope(&executor, |s| {
                for _ in 0..1_000 {
                    s.spawn(async {});
                }
            });
        });
        cost.unparks
    });
    assert!(unparks <= allowed(4), "{unparks}");
}

#[test]
fn a_chain_of_a_thousand_empty_children_costs_at_most_one_wake() {
    let _watchdog = watchdog();
    let _alone = ALONE.lock().unwrap_or_else(|error| error.into_inner());
    let executor = Builder::new().workers(2).build();
    let unparks = median(|| {
        warm(&executor);
        let unparks = AtomicU64::new(0);
        scope(&executor, |s| chain(s, 1_000, &unparks));
        unparks.into_inner()
    });
    assert!(unparks <= allowed(1), "{unparks}");
}

#[test]
fn an_empty_child_costs_three_rmws_of_ours() {
    let _watchdog = watchdog();
    let _alone = ALONE.lock().unwrap_or_else(|error| error.into_inner());
    let executor = Builder::new().workers(2).build();
    let children = 100;
    let rmws = median(|| {
        warm(&executor);
        let cost = Counts::of(|| {
            scope(&executor, |s| {
                for _ in 0..children {
                    s.spawn(async {});
                }
            });
        });
        cost.rmws
    });
    // The count in, the count out and the pop; a few for the scope itself.
    // Each wake that is allowed costs three more.
    assert!(rmws <= 3 * children + 20 + 3 * allowed(0), "{rmws}");
}
