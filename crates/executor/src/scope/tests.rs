//! The thread of scopes that are nested in each other, as the pool counts it.

use std::future::{Future, poll_fn};
use std::pin::Pin;

use terrace_sync::atomic::{AtomicBool, Ordering};
use terrace_testing::{OnDrop, Yields};

use super::{OpenScope, ScopeKind};
use crate::Builder;

/// Where the outer scope's first child is spawned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum First {
    Nowhere,
    BeforeTheInnerScope,
    InTheInnerBody,
    WhileTheInnerWaitSleeps,
    AfterTheInnerScope,
}

/// The thread of nested scopes is counted once while it is awake and not at all while it sleeps, in whatever order the
/// scopes open; afterwards nothing is left.
#[test]
fn a_thread_is_counted_once_however_its_scopes_open() {
    let _watchdog = terrace_testing::watchdog();
    let executor = &Builder::new().workers(1).build();
    let drivers = || executor.shared().scopes.drivers.get();
    for first in [
        First::Nowhere,
        First::BeforeTheInnerScope,
        First::InTheInnerBody,
        First::WhileTheInnerWaitSleeps,
        First::AfterTheInnerScope,
    ] {
        let outer = OpenScope::open(executor, ScopeKind::of::<()>());
        let handle = outer.handle();
        let outer_spawns = move |when| {
            if when == first {
                // SAFETY: the outer scope is open, and is waited for below.
                unsafe { handle.spawn(async {}) };
            }
        };
        outer_spawns(First::BeforeTheInnerScope);
        let inner = OpenScope::open(executor, ScopeKind::of::<()>());
        let (future, signal) = terrace_testing::signal();
        // SAFETY: the inner scope is open, and is waited for below.
        unsafe { inner.handle().spawn(future) };
        assert_eq!(drivers(), 1, "{first:?}");
        outer_spawns(First::InTheInnerBody);
        std::thread::scope(|threads| {
            threads.spawn(move || {
                // The thread of both scopes sleeps before long: it has nothing else to do.
                while drivers() != 0 {
                    std::thread::yield_now();
                }
                outer_spawns(First::WhileTheInnerWaitSleeps);
                signal.set();
            });
            assert!(inner.wait(&[]).is_none());
        });
        assert!(drivers() <= 1, "{first:?}");
        outer_spawns(First::AfterTheInnerScope);
        assert!(outer.wait(&[]).is_none());
        assert_eq!(drivers(), 0, "{first:?}");
    }
}

/// The place of a scope that has ended is another scope's by then: a cancel that came late would reach its children.
#[test]
fn a_scope_that_was_waited_for_cannot_be_cancelled() {
    let _watchdog = terrace_testing::watchdog();
    let executor = &Builder::new().workers(1).build();
    let first = OpenScope::open(executor, ScopeKind::of::<()>());
    // SAFETY: the scope is open, and is waited for below.
    unsafe { first.handle().spawn(async {}) };
    assert!(first.wait(&[]).is_none());
    let second = OpenScope::open(executor, ScopeKind::of::<()>());
    let (future, signal) = terrace_testing::signal();
    let ran = AtomicBool::new(false);
    let child = async {
        future.await;
        ran.store(true, Ordering::Relaxed);
    };
    // SAFETY: the scope is open, and is waited for below, before the flag goes.
    unsafe { second.handle().spawn(child) };
    let late = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| first.cancel()));
    assert!(late.is_err(), "the first scope has ended");
    signal.set();
    assert!(second.wait(&[]).is_none());
    assert!(
        ran.load(Ordering::Relaxed),
        "a child of the second scope was cancelled"
    );
}

/// Else the slot, which is the next scope's, would keep their memory.
#[test]
fn no_child_that_has_ended_stays_registered() {
    let _watchdog = terrace_testing::watchdog();
    let (executor, _unused) = Builder::new().workers(1).build_hosted();
    for case in ["ends", "panics", "its destructor panics", "is cancelled"] {
        let scope = OpenScope::open(&executor, ScopeKind::of::<()>());
        let mut bomb = OnDrop(move || assert_ne!(case, "its destructor panics"));
        let mut yields = Yields(if case == "is cancelled" { u32::MAX } else { 1 });
        let child = poll_fn(move |context| {
            let _alive = &mut bomb;
            let polled = Pin::new(&mut yields).poll(context);
            assert!(polled.is_pending() || case != "panics");
            polled
        });
        // SAFETY: the scope is open, and is waited for below.
        unsafe { scope.handle().spawn(child) };
        let sibling = async move {
            Yields(2).await;
            assert_ne!(case, "is cancelled");
        };
        // SAFETY: as above.
        unsafe { scope.handle().spawn(sibling) };
        let panic = scope.wait(&[]);
        assert_eq!(panic.is_none(), case == "ends", "{case}");
        let slots = &executor.shared().scopes.table;
        let left: usize = slots.all().map(|slot| slot.core.cancel().waiting()).sum();
        assert_eq!(left, 0, "{case}");
    }
}
