//! A panic cancels the siblings: none hangs its scope, and no thread polls one again. Each is dropped on the thread
//! that would have run it.

mod pools;
mod ticked;

use std::future::{Future, pending, poll_fn};
use std::pin::Pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::thread::{self, ThreadId};

use pools::with_each;
use terrace_executor::Builder;
use terrace_fork::{Scope, scope, scope_with};
use terrace_testing::{on_own_thread, text_of, watchdog};
use ticked::with_external;

/// Counts its polls and drops.
#[derive(Default)]
struct Seen {
    polled: AtomicUsize,
    dropped: Mutex<Vec<ThreadId>>,
}

/// Pending without end; says so.
struct Endless<'a> {
    seen: &'a Seen,
    /// Wakes itself at each poll.
    yields: bool,
}

impl Future for Endless<'_> {
    type Output = ();
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.seen.polled.fetch_add(1, Ordering::Relaxed);
        if self.yields {
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

impl Drop for Endless<'_> {
    fn drop(&mut self) {
        self.seen
            .dropped
            .lock()
            .unwrap()
            .push(thread::current().id());
    }
}

fn endless(scope: &Scope<'_, '_>, seen: &'static Seen) {
    for yields in [false, true] {
        scope.spawn(Endless { seen, yields });
        scope.spawn_on_scope(Endless { seen, yields });
    }
}

fn leaked() -> &'static Seen {
    Box::leak(Box::default())
}

#[test]
fn endless_siblings_end() {
    let _watchdog = watchdog();
    for place in ["body", "child", "pinned child", "destructor"] {
        with_each(move |executor| {
            for _ in 0..20 {
                let seen = leaked();
                let message = text_of(|| {
                    scope(executor, |s| {
                        struct Bomb;
                        impl Drop for Bomb {
                            fn drop(&mut self) {
                                panic!("destructor");
                            }
                        }
                        endless(s, seen);
                        match place {
                            "child" => s.spawn(async { panic!("child") }),
                            "pinned child" => s.spawn_on_scope(async { panic!("pinned child") }),
                            "destructor" => {
                                let bomb = Bomb;
                                s.spawn(async move { drop(bomb) });
                            }
                            _ => {}
                        }
                        endless(s, seen);
                        assert!(place != "body", "body");
                    });
                });
                assert_eq!(message, place);
                assert_eq!(seen.dropped.lock().unwrap().len(), 8);
                let polled = seen.polled.load(Ordering::Relaxed);
                thread::yield_now();
                assert_eq!(seen.polled.load(Ordering::Relaxed), polled);
            }
        });
    }
}

/// The scope's thread runs all children, in spawn order. It never polls a child behind the panic, and polls no earlier
/// child again.
#[test]
fn nothing_is_polled_behind_a_panic() {
    on_own_thread(|| {
        let executor = Builder::new().workers(0).build();
        for place in ["body", "child"] {
            let (before, behind) = (leaked(), leaked());
            let message = text_of(|| {
                scope(&executor, |s| {
                    let sibling = |seen| Endless { seen, yields: true };
                    s.spawn(sibling(before));
                    if place == "child" {
                        s.spawn(async { panic!("child") });
                    }
                    s.spawn(sibling(behind));
                    assert!(place != "body", "body");
                })
            });
            assert_eq!(message, place);
            let polls = |seen: &Seen| seen.polled.load(Ordering::Relaxed);
            assert_eq!(polls(before), usize::from(place == "child"));
            assert_eq!(polls(behind), 0);
            for seen in [before, behind] {
                assert_eq!(*seen.dropped.lock().unwrap(), [thread::current().id()]);
            }
        }
    });
}

#[test]
fn pinned_and_external_siblings_are_dropped_on_their_threads() {
    let _watchdog = watchdog();
    for place in ["body", "child"] {
        with_each(move |executor| {
            let (pinned, outside) = (leaked(), leaked());
            let owner = with_external(|config| {
                let message = text_of(|| {
                    scope_with(executor, config, |s| {
                        for yields in [false, true] {
                            s.spawn_on_scope(Endless {
                                seen: pinned,
                                yields,
                            });
                            s.spawn_on_external(Endless {
                                seen: outside,
                                yields,
                            });
                        }
                        if place == "child" {
                            // When the siblings wait already.
                            while outside.polled.load(Ordering::Relaxed) < 2 {
                                thread::yield_now();
                            }
                            s.spawn(async { panic!("child") });
                        }
                        assert!(place != "body", "body");
                    });
                });
                assert_eq!(message, place);
            });
            assert_eq!(*pinned.dropped.lock().unwrap(), [thread::current().id(); 2]);
            assert_eq!(*outside.dropped.lock().unwrap(), [owner; 2]);
        });
    }
}

/// Destructors of cancelled futures may panic, spawn, and be many: the panic that cancelled them comes through.
#[test]
fn destructors_of_cancelled_siblings() {
    let _watchdog = watchdog();
    struct Unruly<'scope, 'env> {
        scope: &'scope Scope<'scope, 'env>,
        again: &'scope AtomicUsize,
    }
    impl Drop for Unruly<'_, '_> {
        fn drop(&mut self) {
            let (scope, again) = (self.scope, self.again);
            if again.fetch_add(1, Ordering::Relaxed) < 100 {
                let next = Unruly { scope, again };
                scope.spawn(async move {
                    let _next = next;
                    panic!("polled after the panic");
                });
            }
            panic!("destructor");
        }
    }
    with_each(|executor| {
        let again = AtomicUsize::new(0);
        let message = text_of(|| {
            scope(executor, |s| {
                for _ in 0..4 {
                    let unruly = Unruly {
                        scope: s,
                        again: &again,
                    };
                    s.spawn(async move {
                        let _unruly = unruly;
                        pending::<()>().await;
                    });
                }
                panic!("body");
            })
        });
        assert_eq!(message, "body");
        assert_eq!(again.into_inner(), 104);
    });
}

/// No thread has a waker of such a child any more: the panic of its sibling still reaches it.
#[test]
fn a_sibling_without_wakers_ends() {
    let _watchdog = watchdog();
    with_each(|executor| {
        let waits = AtomicBool::new(false);
        let message = text_of(|| {
            scope(executor, |s| {
                s.spawn(poll_fn(|context| {
                    drop(context.waker().clone());
                    waits.store(true, Ordering::Release);
                    Poll::Pending
                }));
                s.spawn(poll_fn(|context| {
                    assert!(!waits.load(Ordering::Acquire), "child");
                    context.waker().wake_by_ref();
                    Poll::Pending
                }));
            });
        });
        assert_eq!(message, "child");
    });
}

/// It is pending for the first time when the mark is up already, and no wake follows. On one thread: of a pinned child and another one, it runs
/// the same one first each time.
#[test]
fn an_older_sibling_that_is_pending_behind_the_panic_ends() {
    for older_is_pinned in [false, true] {
        on_own_thread(move || {
            let builder = Builder::new().workers(1).spares(false);
            let (executor, _unused) = builder.build_hosted();
            let polled = AtomicUsize::new(0);
            let message = text_of(|| {
                scope(&executor, |s| {
                    let waits = poll_fn(|_| {
                        polled.fetch_add(1, Ordering::Relaxed);
                        Poll::Pending
                    });
                    let panics = async { panic!("child") };
                    if older_is_pinned {
                        s.spawn_on_scope(waits);
                        s.spawn(panics);
                    } else {
                        s.spawn(waits);
                        s.spawn_on_scope(panics);
                    }
                });
            });
            assert_eq!(message, "child");
            assert_eq!(polled.into_inner(), 1);
        });
    }
}
