//! Scopes of pools with 0, 1 and more threads.
#![cfg(feature = "multi_threaded")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::Duration;

use terrace_tasks::{TaskPool, TaskPoolBuilder, block_on};
use terrace_testing::{Yields, on_own_thread, text};

/// Runs `body` for pools of several sizes, each with a time limit.
fn for_pools(body: impl Fn(&TaskPool) + Send + Sync + 'static) {
    let body = Arc::new(body);
    for threads in [0, 1, 2, 4] {
        let body = Arc::clone(&body);
        on_own_thread(move || body(&TaskPoolBuilder::new().num_threads(threads).build()));
    }
}

#[test]
fn results_come_in_spawn_order_on_any_thread() {
    for_pools(|pool| {
        let results = pool.scope(|scope| {
            for n in 0..300_u32 {
                let task = async move {
                    Yields(n % 4).await;
                    n
                };
                match n % 3 {
                    0 => scope.spawn(task),
                    1 => scope.spawn_on_scope(task),
                    _ => scope.spawn_on_external(task),
                }
            }
        });
        assert_eq!(results, (0..300).collect::<Vec<_>>());
        assert_eq!(pool.scope(|_: &terrace_tasks::Scope<'_, '_, u8>| {}), []);
        assert_eq!(
            pool.scope(|scope| (0..50).for_each(|_| scope.spawn(Yields(1))))
                .len(),
            50
        );
    });
}

#[test]
fn tasks_spawn_tasks_and_borrow_mutably() {
    for_pools(|pool| {
        let mut numbers = vec![0; 64];
        let results = pool.scope(|scope| {
            for half in numbers.chunks_mut(32) {
                scope.spawn(async move {
                    for number in half.iter_mut() {
                        scope.spawn(async move {
                            Yields(1).await;
                            *number += 1;
                            1
                        });
                    }
                    0
                });
            }
        });
        assert_eq!(results.len(), 66);
        assert_eq!(results.iter().sum::<i32>(), 64);
        assert_eq!(numbers, [1; 64]);
    });
}

#[test]
fn a_panic_leaves_only_after_every_task_has_ended() {
    for_pools(|pool| {
        struct Ends<'a>(&'a AtomicUsize);
        impl Drop for Ends<'_> {
            fn drop(&mut self) {
                self.0.fetch_add(1, SeqCst);
            }
        }
        let ended = AtomicUsize::new(0);
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.scope(|scope| {
                for n in 0..20 {
                    let ends = Ends(&ended);
                    scope.spawn(async move {
                        let _ends = ends;
                        Yields(n).await;
                        assert_ne!(n, 3, "number three");
                    });
                }
            });
        }));
        assert!(text(&*result.unwrap_err()).contains("number three"));
        assert_eq!(ended.load(SeqCst), 20);
        assert_eq!(
            pool.scope(|scope| scope.spawn(async { 7 })),
            [7],
            "the pool goes on"
        );
    });
}

#[test]
fn a_panic_of_the_body_waits_for_its_tasks() {
    for_pools(|pool| {
        let ran = AtomicBool::new(false);
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.scope(|scope| {
                scope.spawn(async {
                    Yields(3).await;
                    ran.store(true, SeqCst);
                });
                panic!("the body");
            });
        }));
        assert_eq!(text(&*result.unwrap_err()), "the body");
        // Finished or dropped: in both cases nothing writes to it any more.
        let seen = ran.load(SeqCst);
        thread::sleep(Duration::from_millis(5));
        assert_eq!(ran.load(SeqCst), seen);
    });
}

/// Siblings that wait for a channel, or yield until they are told to stop, do not keep a panic from leaving the scope.
#[test]
fn a_panic_cancels_what_would_not_end() {
    for_pools(|pool| {
        for place in ["the body", "a task"] {
            let ended = AtomicUsize::new(0);
            struct Ends<'a>(&'a AtomicUsize);
            impl Drop for Ends<'_> {
                fn drop(&mut self) {
                    self.0.fetch_add(1, SeqCst);
                }
            }
            let result = catch_unwind(AssertUnwindSafe(|| {
                pool.scope(|scope| {
                    let siblings = || {
                        let (waits, yields, pinned) = (Ends(&ended), Ends(&ended), Ends(&ended));
                        scope.spawn(async move {
                            let _waits = waits;
                            std::future::pending::<()>().await;
                        });
                        scope.spawn(async move {
                            let _yields = yields;
                            Yields(u32::MAX).await;
                        });
                        scope.spawn_on_external(async move {
                            let _pinned = pinned;
                            Yields(u32::MAX).await;
                        });
                    };
                    siblings();
                    if place == "a task" {
                        scope.spawn(async { panic!("a task") });
                    }
                    siblings();
                    assert!(place != "the body", "the body");
                });
            }));
            assert_eq!(text(&*result.unwrap_err()), place);
            assert_eq!(ended.load(SeqCst), 6);
        }
    });
}

/// A result's destructor that panics does not meet the panic of the scope.
#[test]
fn results_of_a_scope_that_panicked() {
    struct Bomb(bool);
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(!self.0, "a result");
        }
    }
    for_pools(|pool| {
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.scope(|scope| {
                // More than one segment of results. In the first one, no task stores any.
                for n in 0..100 {
                    scope.spawn(async move {
                        if n % 64 <= 40 {
                            // The others have their results by then.
                            Yields(9).await;
                            panic!("a task");
                        }
                        Bomb(true)
                    });
                }
            })
        }));
        assert_eq!(text(&*result.map(std::mem::forget).unwrap_err()), "a task");
    });
}

#[test]
fn tasks_on_the_scope_run_on_its_thread() {
    for_pools(|pool| {
        let here = thread::current().id();
        let ids = pool.scope(|scope| {
            for _ in 0..20 {
                // The thread that runs the outer task spawns the task itself.
                scope.spawn(async move {
                    scope.spawn_on_scope(async {
                        Yields(2).await;
                        Some(thread::current().id())
                    });
                    None
                });
            }
        });
        assert_eq!(ids.iter().flatten().count(), 20);
        assert!(ids.into_iter().flatten().all(|id| id == here));
    });
}

#[test]
fn external_tasks_run_where_their_executor_is_ticked() {
    for_pools(|pool| {
        let executor = TaskPool::get_thread_executor();
        let owner = thread::current().id();
        let done = AtomicBool::new(false);
        let ids = thread::scope(|s| {
            let waiting = s.spawn(|| {
                let ids = pool.scope_with_executor(false, Some(&executor), |scope| {
                    scope.spawn_on_external(async { ("external", thread::current().id()) });
                    scope.spawn_on_scope(async { ("scope", thread::current().id()) });
                });
                done.store(true, SeqCst);
                ids
            });
            let ticker = executor.ticker().expect("this thread's own");
            while !done.load(SeqCst) {
                ticker.try_tick();
                thread::yield_now();
            }
            let other = waiting.thread().id();
            (other, waiting.join().unwrap())
        });
        assert_eq!(ids.1, [("external", owner), ("scope", ids.0)]);
    });
}

#[test]
fn the_owner_of_the_external_executor_ticks_it_in_its_own_scope() {
    for_pools(|pool| {
        let here = thread::current().id();
        // Another executor of this thread than `get_thread_executor`.
        let executor = terrace_tasks::ThreadExecutor::new();
        let ids = pool.scope_with_executor(true, Some(&executor), |scope| {
            scope.spawn_on_external(async { thread::current().id() });
        });
        assert_eq!(ids, [here]);
    });
}

/// A task that keeps waking itself, on the thread's own executor, starves neither another executor nor the scope's children.
#[test]
fn the_executors_of_a_scope_take_turns() {
    for_pools(|pool| {
        let executor = terrace_tasks::ThreadExecutor::new();
        let is_set = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let until = is_set.clone();
        let spins = std::future::poll_fn(move |context| {
            context.waker().wake_by_ref();
            match until.iter().all(|set| set.load(SeqCst)) {
                true => std::task::Poll::Ready(()),
                false => std::task::Poll::Pending,
            }
        });
        TaskPool::get_thread_executor().spawn(spins).detach();
        pool.scope_with_executor(false, Some(&executor), |scope| {
            scope.spawn_on_external(async { is_set[0].store(true, SeqCst) });
            scope.spawn(async { is_set[1].store(true, SeqCst) });
        });
    });
}

#[test]
fn a_thread_executor_runs_nothing_until_it_is_ticked() {
    on_own_thread(|| {
        let executor = TaskPool::get_thread_executor();
        assert!(executor.is_same(&TaskPool::get_thread_executor()));
        let task = executor.spawn(async { thread::current().id() });
        let foreign = Arc::clone(&executor);
        thread::spawn(move || {
            assert!(foreign.ticker().is_none());
            assert!(!foreign.is_same(&TaskPool::get_thread_executor()));
        })
        .join()
        .unwrap();
        assert!(!task.is_finished());
        assert!(executor.ticker().unwrap().try_tick());
        assert_eq!(block_on(task), thread::current().id());
        block_on(async {
            executor.spawn(async {}).detach();
            executor.ticker().unwrap().tick().await;
        });
    });
}

#[test]
fn a_waiting_scope_runs_what_only_its_thread_can_run() {
    for_pools(|pool| {
        let here = thread::current().id();
        let local = pool.spawn_local(async { thread::current().id() });
        let spawner = terrace_tasks::ThreadSpawner::current();
        let own = TaskPool::get_thread_executor();
        let (sender, receiver) = mpsc::channel();
        // The scope ends only when tasks have run that are no tasks of the scope.
        pool.scope(|scope| {
            scope.spawn(async move {
                assert_eq!(local.await, here);
                let (second, third) = thread::spawn(move || {
                    let second = spawner.spawn(async { thread::current().id() });
                    (second, own.spawn(async { thread::current().id() }))
                })
                .join()
                .unwrap();
                assert_eq!(second.await, here);
                assert_eq!(third.await, here);
                sender.send(()).unwrap();
            });
        });
        receiver.try_recv().expect("the task ran to its end");
    });
}

#[test]
fn nested_scopes_and_many_waiters() {
    for_pools(|pool| {
        fn depth(pool: &TaskPool, n: usize) -> usize {
            if n == 0 {
                return 1;
            }
            let below = pool.scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(async move { depth(pool, n - 1) });
                }
            });
            below.into_iter().sum()
        }
        assert_eq!(depth(pool, 6), 64);
        thread::scope(|s| {
            for _ in 0..8 {
                s.spawn(|| assert_eq!(depth(pool, 4), 16));
            }
        });
    });
}

#[test]
fn a_task_may_wait_for_another_of_its_pool() {
    for_pools(|pool| {
        let results = pool.scope(|scope| {
            scope.spawn(async { block_on(pool.spawn(async { 1 })) });
            scope.spawn(async { pool.spawn(async { 2 }).await });
        });
        assert_eq!(results, [1, 2]);
    });
}

#[test]
fn two_threads_waiting_do_not_run_each_others_pinned_tasks() {
    on_own_thread(|| {
        let pool = TaskPoolBuilder::new().num_threads(2).build();
        let together = Barrier::new(2);
        thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    let here = thread::current().id();
                    for _ in 0..200 {
                        together.wait();
                        let ids = pool.scope(|scope| {
                            for _ in 0..4 {
                                scope.spawn_on_scope(async { thread::current().id() });
                            }
                        });
                        assert!(ids.into_iter().all(|id| id == here));
                    }
                });
            }
        });
    });
}
