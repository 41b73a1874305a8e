//! Scopes: results, nesting, panics, remote wakes; with 0, 1, 2 and 5 workers.

mod pools;
mod ticked;

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Poll, Waker};
use std::thread;

use pools::{WORKERS, with_each};
use terrace_executor::{Builder, Current, Executor, ThreadExecutor, block_on, current};
use terrace_fork::{Config, scope, scope_with};
use terrace_testing::{Yields, on_own_thread, watchdog};
use ticked::with_external;

#[test]
fn children_borrow_and_all_end() {
    let _watchdog = watchdog();
    with_each(|executor| {
        let mut numbers: Vec<usize> = (0..1_000).collect();
        scope(executor, |s| {
            for number in &mut numbers {
                s.spawn(async move { *number += 1 });
            }
        });
        assert!(
            numbers
                .iter()
                .enumerate()
                .all(|(i, &number)| number == i + 1)
        );
    });
}

#[test]
fn children_spawn_children() {
    let _watchdog = watchdog();
    with_each(|executor| {
        let count = AtomicUsize::new(0);
        scope(executor, |s| {
            for _ in 0..10 {
                s.spawn(async {
                    for _ in 0..10 {
                        s.spawn(async {
                            Yields(1).await;
                            count.fetch_add(1, Ordering::Relaxed);
                        });
                    }
                });
            }
        });
        assert_eq!(count.into_inner(), 100);
    });
}

#[test]
fn scopes_nest_on_one_thread() {
    let _watchdog = watchdog();
    fn nest(executor: &Executor<'static>, depth: u32, count: &AtomicUsize) {
        count.fetch_add(1, Ordering::Relaxed);
        if depth > 0 {
            scope(executor, |s| {
                for _ in 0..2 {
                    s.spawn(async { nest(executor, depth - 1, count) });
                }
            });
        }
    }
    with_each(|executor| {
        let count = AtomicUsize::new(0);
        nest(executor, 8, &count);
        assert_eq!(count.into_inner(), 511);
    });
}

/// Every child is dropped before the scope unwinds, wherever the panic came from.
#[test]
fn panics_wait_for_every_child() {
    let _watchdog = watchdog();
    struct Reads<'a>(&'a AtomicUsize, bool);
    impl Drop for Reads<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
            assert!(!self.1, "destructor");
        }
    }
    for place in ["body", "child", "destructor"] {
        with_each(|executor| {
            let dropped = AtomicUsize::new(0);
            let result = catch_unwind(AssertUnwindSafe(|| {
                scope(executor, |s| {
                    for i in 0..20 {
                        let reads = Reads(&dropped, place == "destructor" && i == 7);
                        s.spawn(async move {
                            let _reads = reads;
                            Yields(1).await;
                            assert!(place != "child" || i != 7, "child");
                        });
                    }
                    assert!(place != "body", "body");
                });
            }));
            let payload = result.expect_err("the panic comes through");
            assert_eq!(payload.downcast_ref::<&str>(), Some(&place));
            assert_eq!(dropped.load(Ordering::Relaxed), 20, "{place}");
        });
    }
}

#[test]
fn a_wake_from_another_thread_ends_the_scope() {
    let _watchdog = watchdog();
    with_each(|executor| {
        for _ in 0..50 {
            let slot: Mutex<Option<Waker>> = Mutex::new(None);
            let go = AtomicBool::new(false);
            thread::scope(|threads| {
                threads.spawn(|| {
                    loop {
                        if let Some(waker) = slot.lock().unwrap().take() {
                            go.store(true, Ordering::Release);
                            waker.wake();
                            break;
                        }
                        thread::yield_now();
                    }
                });
                scope(executor, |s| {
                    s.spawn(poll_fn(|context| {
                        if go.load(Ordering::Acquire) {
                            return Poll::Ready(());
                        }
                        *slot.lock().unwrap() = Some(context.waker().clone());
                        Poll::Pending
                    }));
                });
            });
        }
    });
}

#[test]
fn wakers_may_outlive_the_scope_and_the_executor() {
    let _watchdog = watchdog();
    let kept = Mutex::new(Vec::new());
    with_each(|executor| {
        scope(executor, |s| {
            s.spawn(async {
                poll_fn(|context| {
                    kept.lock().unwrap().push(context.waker().clone());
                    Poll::Ready(())
                })
                .await;
            });
        });
    });
    let kept = kept.into_inner().unwrap();
    assert_eq!(kept.len(), WORKERS.len());
    for waker in kept {
        waker.wake_by_ref();
        thread::spawn(move || waker.wake()).join().unwrap();
    }
}

#[test]
fn pinned_children_run_on_the_scopes_thread() {
    let _watchdog = watchdog();
    with_each(|executor| {
        let here = thread::current().id();
        let ran = AtomicUsize::new(0);
        scope(executor, |s| {
            for _ in 0..20 {
                s.spawn(async {
                    s.spawn_on_scope(async {
                        for _ in 0..3 {
                            assert_eq!(thread::current().id(), here);
                            Yields(1).await;
                        }
                        ran.fetch_add(1, Ordering::Relaxed);
                    });
                });
            }
        });
        assert_eq!(ran.into_inner(), 20);
    });
}

/// Two waits live on one thread. A child of the inner one spawns back to the outer one's thread and
/// waits for that child.
#[test]
fn an_inner_wait_runs_what_the_outer_scope_pinned() {
    let _watchdog = watchdog();
    #[derive(Default)]
    struct Signal {
        done: AtomicBool,
        waker: Mutex<Option<Waker>>,
    }
    with_each(|executor| {
        let here = thread::current().id();
        for _ in 0..20 {
            scope(executor, |outer| {
                outer.spawn_on_scope(async move {
                    scope(executor, |inner| {
                        inner.spawn(async move {
                            let signal = Arc::new(Signal::default());
                            let pinned = Arc::clone(&signal);
                            outer.spawn_on_scope(async move {
                                assert_eq!(thread::current().id(), here);
                                pinned.done.store(true, Ordering::Release);
                                let waker = pinned.waker.lock().unwrap().take();
                                waker.into_iter().for_each(Waker::wake);
                            });
                            poll_fn(|context| {
                                *signal.waker.lock().unwrap() = Some(context.waker().clone());
                                match signal.done.load(Ordering::Acquire) {
                                    true => Poll::Ready(()),
                                    false => Poll::Pending,
                                }
                            })
                            .await;
                        });
                    });
                });
            });
        }
    });
}

#[test]
fn external_children_run_where_the_executor_is_ticked() {
    let _watchdog = watchdog();
    for workers in WORKERS {
        let executor = Builder::new().workers(workers).build();
        let ran_on = Mutex::new(Vec::new());
        let owner = with_external(|config| {
            scope_with(&executor, config, |s| {
                for _ in 0..10 {
                    s.spawn_on_external(async {
                        Yields(1).await;
                        ran_on.lock().unwrap().push(thread::current().id());
                    });
                }
            });
        });
        assert_eq!(ran_on.into_inner().unwrap(), vec![owner; 10]);
    }
}

/// Of children and the tasks of two executors that the wait ticks, one side goes on until another one has run. If the wait always began with the
/// former, it would not end.
#[test]
fn children_and_the_tasks_of_ticked_executors_take_turns() {
    for (goes_on, stops) in [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)] {
        on_own_thread(move || {
            let builder = Builder::new().workers(1).spares(false);
            let (executor, _unused) = builder.build_hosted();
            let ticked = [ThreadExecutor::new(), ThreadExecutor::new()];
            let config = Config {
                external: Some(ticked[0].queue()),
                local: Some(ticked[1].queue()),
            };
            let stop = Arc::new(AtomicBool::new(false));
            scope_with(&executor, config, |s| {
                let spawn = |side: usize, task: Pin<Box<dyn Future<Output = ()> + Send>>| match side
                {
                    0 => s.spawn(task),
                    _ => ticked[side - 1].spawn(task).detach(),
                };
                let (stopped, more) = (Arc::clone(&stop), Arc::clone(&stop));
                let until = async move {
                    while !stopped.load(Ordering::Relaxed) {
                        Yields(1).await;
                    }
                };
                spawn(goes_on, Box::pin(until));
                spawn(
                    stops,
                    Box::pin(async move { more.store(true, Ordering::Relaxed) }),
                );
                // The scope does not end before: tasks of the executors are none of its children.
                s.spawn(async move {
                    while !stop.load(Ordering::Relaxed) {
                        Yields(1).await;
                    }
                });
            });
        });
    }
}

/// Two children that wait for each other on their threads: both must get one. The counter-case of
/// helping (rayon 1311). If children have always been tiny before, the sentinel takes the child.
#[test]
fn children_that_wait_for_each_other_both_run() {
    let _watchdog = watchdog();
    for workers in [1, 2, 5] {
        let executor = Builder::new().workers(workers).build();
        for _ in 0..200 {
            scope(&executor, |s| {
                for _ in 0..50 {
                    s.spawn(async {});
                }
            });
            let barrier = Barrier::new(2);
            scope(&executor, |s| {
                for _ in 0..2 {
                    s.spawn(async {
                        barrier.wait();
                    });
                }
            });
        }
    }
}

/// A lock that is held across a nested scope: the waiter must not adopt another child that wants
/// it.
#[test]
fn a_lock_held_across_a_nested_scope() {
    let _watchdog = watchdog();
    with_each(|executor| {
        let lock = Mutex::new(0);
        for _ in 0..100 {
            scope(executor, |outer| {
                for _ in 0..4 {
                    outer.spawn(async {
                        let mut held = lock.lock().unwrap();
                        scope(executor, |inner| {
                            for _ in 0..4 {
                                inner.spawn(async {});
                            }
                        });
                        *held += 1;
                    });
                }
            });
        }
        assert_eq!(lock.into_inner().unwrap(), 400);
    });
}

#[test]
fn many_threads_share_one_pool() {
    let _watchdog = watchdog();
    with_each(|executor| {
        let barrier = Barrier::new(100);
        thread::scope(|threads| {
            for _ in 0..100 {
                threads.spawn(|| {
                    barrier.wait();
                    let mut local = [0; 20];
                    scope(executor, |s| {
                        for number in &mut local {
                            s.spawn(async { *number += 1 });
                        }
                    });
                    assert_eq!(local, [1; 20]);
                });
            }
        });
    });
}

/// A child's `current` names the pool of its scope, whatever thread polls it: a worker of the pool, the plain thread that waits, or a
/// waiting thread that is a worker or `run` future of another pool.
#[test]
fn current_names_the_scopes_pool() {
    let _watchdog = watchdog();
    let other = Builder::new().workers(1).build();
    for workers in [0, 1] {
        let own = Arc::new(Builder::new().workers(workers).build());
        let scope_in_it = {
            let own = Arc::clone(&own);
            move || {
                let at_home = AtomicUsize::new(0);
                scope(&own, |scope| {
                    for _ in 0..20 {
                        scope.spawn(async {
                            let home = Some(own.id());
                            let here = current().map(|current| current.executor()) == home;
                            let spawner = Current::spawner().map(|spawner| spawner.executor());
                            let next =
                                Current::spawn(async { current().map(|own| own.executor()) });
                            let all = here && spawner == home && next.await == home;
                            at_home.fetch_add(usize::from(all), Ordering::Relaxed);
                        });
                    }
                });
                at_home.into_inner()
            }
        };
        assert_eq!(scope_in_it(), 20);
        let again = scope_in_it.clone();
        assert_eq!(block_on(other.run(async { again() })), 20);
        assert_eq!(block_on(other.spawn(async move { scope_in_it() })), 20);
    }
    assert!(current().is_none());
}
