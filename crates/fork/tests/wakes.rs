//! Tiny work does not pay for wakes (need 9), counted on the threads that would make them.

#![cfg(terrace_count)]

use std::sync::atomic::{AtomicU64, Ordering};

use terrace_executor::{Builder, Executor};
use terrace_fork::{Scope, scope};
use terrace_sync::count::Counts;

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

/// The median over several attempts, since the machine may take a thread off its core in the middle of one, which
/// makes children look long.
fn median(mut attempt: impl FnMut() -> u64) -> u64 {
    let mut unparks: Vec<_> = (0..9).map(|_| attempt()).collect();
    unparks.sort_unstable();
    unparks[4]
}

#[test]
fn a_thousand_empty_children_cost_at_most_a_handful_of_wakes() {
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
    assert!(unparks <= 4, "{unparks}");
}

#[test]
fn a_chain_of_a_thousand_empty_children_costs_at_most_one_wake() {
    let executor = Builder::new().workers(2).build();
    let unparks = median(|| {
        warm(&executor);
        let unparks = AtomicU64::new(0);
        scope(&executor, |s| chain(s, 1_000, &unparks));
        unparks.into_inner()
    });
    assert!(unparks <= 1, "{unparks}");
}

#[test]
fn an_empty_child_costs_three_rmws_of_ours() {
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
    assert!(rmws <= 3 * children + 20, "{rmws}");
}
