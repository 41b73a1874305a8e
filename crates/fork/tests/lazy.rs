//! A scope opens in its pool at its first child, whichever thread spawns it.

mod pools;

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use pools::with_each;
use terrace_executor::{Builder, Worker};
use terrace_fork::{Scope, scope};
use terrace_sync::count::Counts;
use terrace_testing::{CountingAllocator, Yields, allocations, completed_elsewhere, watchdog};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// With `--cfg terrace_count`, else the allocations alone.
#[test]
fn a_scope_without_a_child_costs_no_rmw_no_lock_and_no_allocation() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(2).build();
    scope(&executor, |_| ());
    let before = allocations();
    let cost = Counts::of(|| {
        for _ in 0..100 {
            scope(&executor, |_| ());
        }
    });
    assert_eq!(allocations() - before, 0);
    assert_eq!((cost.rmws, cost.locks, cost.fences), (0, 0, 0));
}

/// Where the scope's thread spawns and runs it, with `--cfg terrace_count`. A future has those of its task cell beside them, which are not
/// counted.
#[test]
fn a_child_costs_three_rmws_and_no_lock() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(0).build();
    // Of twenty children: fewer than the ring of the scope's list has room for.
    let twenty = |run: &dyn Fn(usize)| {
        run(30);
        let (more, less) = (Counts::of(|| run(30)), Counts::of(|| run(10)));
        (more.rmws - less.rmws, more.locks - less.locks)
    };
    let expected = if cfg!(terrace_count) { 20 * 3 } else { 0 };
    let closures = |children| {
        scope(&executor, |s| {
            (0..children).for_each(|_| s.spawn(|_: &Worker| ()));
        });
    };
    assert_eq!(twenty(&closures), (expected, 0));
    let futures = |children| {
        scope(&executor, |s| (0..children).for_each(|_| s.spawn(async {})));
    };
    assert_eq!(twenty(&futures), (expected, 0));
}

/// Several threads spawn at the same moment, the scope's own among them.
#[test]
fn any_thread_spawns_the_first_child() {
    let _watchdog = watchdog();
    with_each(|executor| {
        for round in 0..24_u32 {
            let count = &AtomicUsize::new(0);
            let (others, own) = (round as usize % 4 + 1, usize::from(round % 3 == 0));
            let start = &Barrier::new(others + own);
            scope(executor, |s| {
                thread::scope(|threads| {
                    let spawns = move || {
                        start.wait();
                        s.spawn(async move {
                            Yields(round % 3).await;
                            count.fetch_add(1, Ordering::Relaxed);
                        });
                        s.spawn_on_scope(async move {
                            completed_elsewhere().await;
                            count.fetch_add(1, Ordering::Relaxed);
                        });
                    };
                    for _ in 0..others {
                        threads.spawn(spawns);
                    }
                    if own > 0 {
                        spawns();
                    }
                });
            });
            assert_eq!(count.load(Ordering::Relaxed), 2 * (others + own));
        }
    });
}

/// A child of the inner scope opens the outer one, on any thread, while the outer one's thread waits in the inner one.
#[test]
fn a_child_of_an_inner_scope_opens_the_outer_one() {
    let _watchdog = watchdog();
    with_each(|executor| {
        let other = Builder::new().workers(1).build();
        for inner in [executor, &other] {
            for _ in 0..100 {
                let count = &AtomicUsize::new(0);
                scope(executor, |outer: &Scope<'_, '_>| {
                    scope(inner, |inner| {
                        inner.spawn(async {
                            outer.spawn(async {
                                count.fetch_add(1, Ordering::Relaxed);
                            });
                            outer.spawn_on_scope(async {
                                count.fetch_add(1, Ordering::Relaxed);
                            });
                        });
                    });
                    scope(inner, |_| ());
                });
                assert_eq!(count.load(Ordering::Relaxed), 2);
            }
        }
    });
}

/// Without a child there is nothing to wait for or to cancel.
#[test]
fn a_body_without_a_child_panics() {
    let _watchdog = watchdog();
    with_each(|executor| {
        let body = |s: &Scope<'_, '_>| {
            let _ = s.spawner();
            std::panic::resume_unwind(Box::new(7));
        };
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            scope(executor, body);
        }));
        assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&7));
        let ran = AtomicBool::new(false);
        scope(executor, |s| {
            s.spawn(async { ran.store(true, Ordering::Relaxed) });
        });
        assert!(ran.into_inner());
    });
}
