//! The thread of scopes that are nested in each other, as the pool counts it.

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
    let drivers = || executor.shared().scopes.drivers();
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
