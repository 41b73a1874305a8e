//! Closures as children of scopes, beside futures, on any thread.

mod pools;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use pools::{WORKERS, with_each};
use terrace_executor::{Builder, Executor, Worker};
use terrace_fork::{MemberScope, Scope, ThreadPool, scope};
use terrace_testing::{
    CountingAllocator, Drops, OnDrop, Random, Yields, completed_elsewhere, text_of, watchdog,
};
use terrace_thread::ThreadId;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

#[test]
fn closures_borrow_and_all_end() {
    let _watchdog = watchdog();
    with_each(|executor| {
        let mut numbers: Vec<usize> = (0..1_000).collect();
        scope(executor, |s| {
            for number in &mut numbers {
                s.spawn(move |_: &Worker| *number += 1);
            }
        });
        assert!(numbers.iter().copied().eq(1..=1_000));
    });
}

/// Each gets the place of its thread in the scope's pool, also on a thread that is in the middle of another pool's work.
#[test]
fn a_closure_gets_a_place_in_the_pool_of_its_scope() {
    fn check(executor: &Executor<'static>) {
        let (id, calls) = (executor.id(), &AtomicUsize::new(0));
        scope(executor, |s| {
            for _ in 0..50 {
                s.spawn(move |worker: &Worker| {
                    assert_eq!(worker.executor(), Some(id));
                    let (a, b) = worker.join(|_| 1, |_| 2);
                    calls.fetch_add(a + b, Ordering::Relaxed);
                });
            }
        });
        assert_eq!(calls.load(Ordering::Relaxed), 150);
    }
    let _watchdog = watchdog();
    let other = Builder::new().workers(1).build();
    with_each(|executor| {
        check(executor);
        executor.with_worker(|_| check(executor));
        other.with_worker(|_| check(executor));
        scope(&other, |s| s.spawn(|_: &Worker| check(executor)));
    });
}

#[test]
fn closures_and_futures_spawn_each_other() {
    let _watchdog = watchdog();
    with_each(|executor| {
        let count = &AtomicUsize::new(0);
        scope(executor, |s| {
            for _ in 0..10 {
                s.spawn(move |_: &Worker| {
                    for _ in 0..10 {
                        s.spawn(async move {
                            completed_elsewhere().await;
                            s.spawn(move |worker: &Worker| {
                                worker.scope(|inner| {
                                    inner.spawn(|_: &Worker| {
                                        count.fetch_add(1, Ordering::Relaxed);
                                    });
                                });
                            });
                        });
                    }
                });
            }
        });
        assert_eq!(count.load(Ordering::Relaxed), 100);
    });
}

/// The payload of the child that was spawned first comes out. Those behind it are not called. What closures own is dropped once, called
/// or not.
#[test]
fn a_panic_cancels_the_closures_behind_it() {
    let _watchdog = watchdog();
    with_each(|executor| {
        for round in 0..100_usize {
            let drops = Drops::new();
            let message = text_of(|| {
                scope(executor, |s| {
                    for n in 0..8 {
                        let owned = drops.value();
                        let check = move || {
                            let _owned = owned;
                            assert!(n < round % 8, "number {n}");
                        };
                        if (n + round / 8) % 2 == 0 {
                            s.spawn(move |_: &Worker| check());
                        } else {
                            s.spawn(async move { check() });
                        }
                    }
                });
            });
            assert_eq!(message, format!("number {}", round % 8));
            assert_eq!(drops.count(), 8);
        }
    });
}

/// On one thread, so that the order is known.
#[test]
fn a_cancelled_closure_is_dropped_uncalled_and_its_destructor_may_panic() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(0).build();
    let called = &AtomicUsize::new(0);
    let bomb = || OnDrop(|| panic!("in a destructor"));
    let message = text_of(|| {
        scope(&executor, |s| {
            s.spawn(|_: &Worker| panic!("the first"));
            for _ in 0..3 {
                let bomb = bomb();
                s.spawn(move |_: &Worker| {
                    std::mem::forget(bomb);
                    called.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
    });
    assert_eq!(message, "the first");
    assert_eq!(called.load(Ordering::Relaxed), 0);

    // That of a closure which is called counts as the child's.
    let message = text_of(|| {
        scope(&executor, |s| {
            let bomb = bomb();
            s.spawn(move |_: &Worker| {
                let _bomb = &bomb;
                called.fetch_add(1, Ordering::Relaxed);
            });
        });
    });
    assert_eq!(message, "in a destructor");
    assert_eq!(called.load(Ordering::Relaxed), 1);
}

/// Without a thread that runs more than one of them at once, a closure takes one allocation, whatever it owns. With `inspect` it has a
/// record besides.
#[cfg(not(feature = "inspect"))]
#[test]
fn a_closure_takes_one_allocation() {
    use terrace_testing::{allocations, in_own_process};

    // Alone: a waiting thread of another test would run some of the children, and a wait that sleeps for them allocates.
    in_own_process("a_closure_takes_one_allocation", || {
        let executor = Builder::new().workers(0).build();
        let run = |children: usize| {
            scope(&executor, |s| {
                for n in 0..children {
                    let large = [n; 512];
                    match n % 2 {
                        0 => s.spawn(|_: &Worker| ()),
                        _ => s.spawn(move |_: &Worker| assert_eq!(large[511], n)),
                    }
                }
            });
        };
        // Fewer than the ring of the scope's list has room for.
        let allocations_of = |children| {
            let before = allocations();
            run(children);
            allocations() - before
        };
        allocations_of(30);
        assert_eq!(allocations_of(30) - allocations_of(10), 20);
    });
}

/// Workers come and go while scopes send children to them: each child is called or dropped, and every scope ends.
#[test]
fn workers_that_end_leave_no_scope_waiting() {
    let _watchdog = watchdog();
    static POOL: ThreadPool = ThreadPool::new();
    POOL.resize_to(2);
    let drops = &Drops::new();
    let sent = &AtomicUsize::new(0);
    thread::scope(|threads| {
        let scopes = threads.spawn(|| {
            for _ in 0..300 {
                let result = catch_unwind(AssertUnwindSafe(|| {
                    POOL.scope(|s| {
                        for worker in 0..2 {
                            let owned = drops.value();
                            sent.fetch_add(1, Ordering::Relaxed);
                            s.spawn_on(worker, move |_: &Worker| drop(owned));
                        }
                        let owned = drops.value();
                        sent.fetch_add(1, Ordering::Relaxed);
                        s.spawn_broadcast(move |_| _ = &owned);
                        s.spawn_local(Yields(2));
                    });
                }));
                drop(result);
            }
        });
        threads.spawn(move || {
            let mut random = Random::new(7);
            while !scopes.is_finished() {
                POOL.resize_to(random.below(4));
            }
        });
    });
    POOL.depopulate();
    assert_eq!(drops.count(), sent.load(Ordering::Relaxed));
}

/// Spawns so many random children into the scope of the thread `owner`, which spawn fewer into it, or into one of their own.
fn grow<'s>(s: &'s Scope<'s, '_>, owner: ThreadId, mut random: Random, most: usize, ran: &'s Ran) {
    for _ in 0..random.below(most + 1) {
        ran.spawned.fetch_add(1, Ordering::Relaxed);
        let own = random.split();
        let further = move || {
            grow(s, owner, own.clone(), most / 2, ran);
            ran.ended.fetch_add(1, Ordering::Relaxed);
        };
        let (yields, nested) = (random.below(3) as u32, random.split());
        let after = further.clone();
        let future = async move {
            Yields(yields).await;
            after();
        };
        let worker = random.below(ran.executor.workers() + 1);
        match random.below(7) {
            0 => s.spawn(move |_: &Worker| further()),
            1 => s.spawn(future),
            2 if worker > 0 => s.spawn_on(worker - 1, move |_: &Worker| further()),
            2 => s.spawn_on_scope(future),
            3 if worker > 0 => s.spawn_on(worker - 1, future),
            3 | 4 if terrace_thread::id() != owner => s.spawn(future),
            3 => s.spawn_local(move |_: &Worker| further()),
            4 => s.spawn_local(future),
            5 => s.spawn(move |worker: &Worker| {
                worker.join(|_| (), |_| ());
                let inner = nested.clone();
                worker.scope(|s| grow(s, terrace_thread::id(), inner, most / 2, ran));
                further();
            }),
            _ => {
                further();
                let parts = ran.executor.workers().max(1);
                ran.spawned.fetch_add(parts, Ordering::Relaxed);
                s.spawn_broadcast(|_| _ = ran.ended.fetch_add(1, Ordering::Relaxed));
            }
        }
    }
}

/// What a random program has done.
struct Ran {
    executor: Executor<'static>,
    spawned: AtomicUsize,
    ended: AtomicUsize,
}

/// Children of every kind, in nested scopes, of two threads at once.
#[test]
fn random_trees_lose_nothing() {
    let _watchdog = watchdog();
    for workers in WORKERS {
        let ran = &Ran {
            executor: Builder::new().workers(workers).build(),
            spawned: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
        };
        thread::scope(|threads| {
            for thread in 0..2 {
                threads.spawn(move || {
                    for seed in 0..100 {
                        let random = Random::new(seed * 2 + thread);
                        scope(&ran.executor, |s| {
                            grow(s, terrace_thread::id(), random, 8, ran)
                        });
                    }
                });
            }
        });
        let (spawned, ended) = (&ran.spawned, &ran.ended);
        assert!(spawned.load(Ordering::Relaxed) > 1_000);
        assert_eq!(
            spawned.load(Ordering::Relaxed),
            ended.load(Ordering::Relaxed)
        );
    }
}
