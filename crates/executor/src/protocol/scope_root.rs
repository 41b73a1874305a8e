//! [`ScopeRoot`]: the innermost root of a seat's thread that is a child of a fork scope (`fork_scope.rs`).
//!
//! ```text
//! thread:  version + 1;  scope, root (Release);  version + 1 (Release)
//! waiter:  version is even (Acquire);  scope, root (Acquire);  version is the same -> they belong together
//! ```
//!
//! If the waiter reads a later scope or root than that of its version, it also sees that the version has moved on. While the thread writes, it
//! has no job. Not an API; public for its models.

use terrace_queue::fork::Root;
use terrace_sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use terrace_sync::ordering;

/// What a seat shows.
#[derive(Debug, Default)]
pub struct ScopeRoot {
    /// It wraps.
    version: AtomicUsize,
    scope: AtomicUsize,
    root: AtomicU64,
}

impl ScopeRoot {
    /// The thread of the seat is inside of `root` from now on, which is a child of the scope at this address. Returns what was
    /// here before.
    pub fn replace(&self, (scope, root): (usize, u64)) -> (usize, u64) {
        // Ordering: Relaxed, all loads: the thread's own stores.
        let version = self.version.load(Ordering::Relaxed);
        let before = (
            self.scope.load(Ordering::Relaxed),
            self.root.load(Ordering::Relaxed),
        );
        // Ordering: Relaxed, published with the two below.
        self.version
            .store(version.wrapping_add(1), Ordering::Relaxed);
        let release = ordering!("executor-scope-root-relaxed", Release);
        // Ordering: Release, both, pair with the Acquire loads in `of`: they bring the odd version along.
        self.scope.store(scope, release);
        self.root.store(root, release);
        // Ordering: Release pairs with the Acquire load in `of`: the version brings both along.
        self.version
            .store(version.wrapping_add(2), Ordering::Release);
        before
    }

    /// The root, if it is a child of the scope at this address.
    pub fn of(&self, scope: usize) -> Option<Root> {
        // Ordering: Acquire pairs with the last store in `replace`.
        let version = self.version.load(Ordering::Acquire);
        let acquire = ordering!("executor-scope-root-look-relaxed", Acquire);
        // Ordering: Acquire, both, pair with the Release stores in `replace`.
        let is_here = self.scope.load(acquire) == scope;
        let root = self.root.load(acquire);
        // Ordering: Relaxed, after the Acquire loads of what is checked.
        let is_same = self.version.load(Ordering::Relaxed) == version;
        Root::unpack(root).filter(|_| is_here && is_same && version % 2 == 0)
    }
}

#[cfg(all(test, not(terrace_loom)))]
mod tests {
    use std::thread;

    use terrace_queue::fork::{ForkDeque, Nest};

    use terrace_sync::atomic::AtomicBool;

    use super::*;

    /// The thread of a seat is inside of a child of scope 1, and again and again in the middle of it inside of one of scope 2.
    #[test]
    fn a_scope_finds_no_root_of_another_one() {
        let _watchdog = terrace_testing::watchdog();
        let rounds = if cfg!(miri) { 50 } else { 20_000 };
        let shown = &ScopeRoot::default();
        let deque = ForkDeque::<usize>::boxed();
        // SAFETY: one owner handle of this deque.
        let me = unsafe { deque.owner() };
        let nest = Nest::of_seat(0).expect("a small number");
        let outer = nest.begin(&me).expect("no job lies below");
        assert_eq!(shown.replace((1, outer.pack())), (0, 0));
        assert_eq!((shown.of(1), shown.of(2)), (Some(outer), None));
        let ended = AtomicBool::new(false);
        thread::scope(|threads| {
            threads.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    assert!(shown.of(1).is_none_or(|root| root == outer));
                    assert_ne!(shown.of(2), Some(outer));
                }
            });
            for _ in 0..rounds {
                let inner = nest.begin(&me).expect("no job lies below");
                let before = shown.replace((2, inner.pack()));
                assert_eq!(before, (1, outer.pack()));
                assert_eq!((shown.of(1), shown.of(2)), (None, Some(inner)));
                shown.replace(before);
                nest.end(&me, inner);
            }
            ended.store(true, Ordering::Relaxed);
        });
    }
}
