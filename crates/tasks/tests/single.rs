//! The variant without threads.
#![cfg(not(feature = "multi_threaded"))]

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::mpsc;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use terrace_tasks::{Scope, TaskPool, TaskPoolBuilder, block_on};
use terrace_testing::{on_own_thread, text};

#[test]
fn eager_tasks_are_polled_alone() {
    on_own_thread(|| {
        let pool = TaskPool::new();
        let other = Rc::new(Cell::new(false));
        let set = Rc::clone(&other);
        let queued =
            pool.with_local_executor(|executor| executor.spawn(async move { set.set(true) }));
        let mut task = pool.spawn_eager(async { 1 });
        assert_eq!(task.try_take(), Some(1));
        assert!(!other.get(), "the other one waits for its turn");
        let mut task = pool.spawn_eager(async {
            futures_lite::future::yield_now().await;
            2
        });
        assert_eq!(task.try_take(), None);
        assert_eq!(block_on(task), 2);
        block_on(queued);
        assert!(other.get());
    });
}

#[test]
fn a_scope_takes_futures_that_are_not_send_and_keeps_their_order() {
    on_own_thread(|| {
        let pool = TaskPool::new();
        let log = RefCell::new(Vec::new());
        let shared = Rc::new(Cell::new(0));
        let log_ref = &log;
        let results = pool.scope(|scope| {
            let scope: &Scope<'_, '_, i32> = scope;
            for n in 0..5 {
                let shared = Rc::clone(&shared);
                scope.spawn(async move {
                    futures_lite::future::yield_now().await;
                    shared.set(shared.get() + n);
                    log_ref.borrow_mut().push(n);
                    scope.spawn_on_external(async move { n * 10 });
                    scope.spawn_on_scope(async move { n * 100 });
                    n
                });
            }
        });
        assert_eq!(results.len(), 15);
        assert_eq!(results[..5], [0, 1, 2, 3, 4]);
        assert_eq!(results.iter().sum::<i32>(), 1_110);
        assert_eq!(shared.get(), 10);
        assert_eq!(log.into_inner().len(), 5);
        assert_eq!(Rc::strong_count(&shared), 1);
    });
}

#[test]
fn a_scope_sleeps_until_another_thread_wakes_its_task() {
    on_own_thread(|| {
        let (sender, receiver) = mpsc::channel();
        let polls = Cell::new(0);
        let waker = thread::spawn(move || {
            let waker: std::task::Waker = receiver.recv().unwrap();
            thread::sleep(Duration::from_millis(50));
            waker.wake();
        });
        TaskPool::new().scope(|scope| {
            scope.spawn(std::future::poll_fn(|context| {
                polls.set(polls.get() + 1);
                if polls.get() == 1 {
                    sender.send(context.waker().clone()).unwrap();
                    return Poll::Pending;
                }
                Poll::Ready(())
            }));
        });
        waker.join().unwrap();
        assert_eq!(polls.get(), 2);
    });
}

/// Counts itself out when dropped.
struct Ends<'a>(&'a Cell<u32>);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

#[test]
fn a_panic_leaves_only_after_every_task_has_ended() {
    on_own_thread(|| {
        let ended = Cell::new(0);
        let result = catch_unwind(AssertUnwindSafe(|| {
            TaskPool::new().scope(|scope| {
                for n in 0..10 {
                    let ends = Ends(&ended);
                    scope.spawn(async move {
                        let _ends = ends;
                        for _ in 0..n {
                            futures_lite::future::yield_now().await;
                        }
                        assert!(n < 3, "number {n}");
                    });
                }
            })
        }));
        assert_eq!(text(&*result.unwrap_err()), "number 3");
        assert_eq!(ended.get(), 10);
    });
}

#[test]
fn a_panic_cancels_what_would_not_end() {
    on_own_thread(|| {
        let ended = Cell::new(0);
        let polled = Cell::new(0);
        let result = catch_unwind(AssertUnwindSafe(|| {
            TaskPool::new().scope(|scope| {
                let siblings = || {
                    let (waits, yields) = (Ends(&ended), Ends(&ended));
                    let polled = &polled;
                    scope.spawn(async move {
                        let _waits = waits;
                        std::future::pending::<()>().await;
                    });
                    scope.spawn(async move {
                        let _yields = yields;
                        loop {
                            polled.set(polled.get() + 1);
                            futures_lite::future::yield_now().await;
                        }
                    });
                };
                siblings();
                scope.spawn(async { panic!("a task") });
                siblings();
            })
        }));
        assert_eq!(text(&*result.unwrap_err()), "a task");
        assert_eq!((ended.get(), polled.get()), (4, 1));
    });
}

#[test]
fn a_panic_of_the_body_drops_its_tasks_while_their_borrows_live() {
    on_own_thread(|| {
        let ended = Cell::new(0);
        let result = catch_unwind(AssertUnwindSafe(|| {
            TaskPool::new().scope(|scope| {
                let scope: &Scope<'_, '_, ()> = scope;
                struct Spawns<'a, 'scope, 'env>(&'a Scope<'scope, 'env, ()>, Ends<'scope>);
                impl Drop for Spawns<'_, '_, '_> {
                    fn drop(&mut self) {
                        self.0.spawn(async {});
                        assert_eq!(self.1.0.get(), 0);
                    }
                }
                let spawns = Spawns(scope, Ends(&ended));
                scope.spawn(async move {
                    let _spawns = spawns;
                    std::future::pending::<()>().await;
                });
                panic!("the body");
            })
        }));
        assert_eq!(text(&*result.unwrap_err()), "the body");
        assert_eq!(ended.get(), 1);
    });
}

#[test]
fn scopes_nest_and_local_tasks_go_on_during_them() {
    on_own_thread(|| {
        let pool = TaskPool::new();
        let receiver = Rc::new(Cell::new(None));
        let sender = Rc::clone(&receiver);
        pool.spawn_local(async move {
            futures_lite::future::yield_now().await;
            sender.set(Some(5));
        })
        .detach();
        let results = pool.scope(|outer| {
            let (pool, receiver) = (&pool, &receiver);
            outer.spawn(async move {
                let inner = pool.scope(|inner| {
                    inner.spawn(async { 1 });
                    inner.spawn(async move {
                        while receiver.get().is_none() {
                            futures_lite::future::yield_now().await;
                        }
                        receiver.get().unwrap()
                    });
                });
                inner.into_iter().sum::<i32>()
            });
        });
        assert_eq!(results, [6]);
    });
}

#[test]
fn a_spawned_task_runs_at_once_as_far_as_it_can() {
    on_own_thread(|| {
        let pool = TaskPoolBuilder::new().num_threads(8).build();
        assert_eq!(pool.thread_num(), 1);
        let not_send = Rc::new(3);
        let task = pool.spawn(async move {
            futures_lite::future::yield_now().await;
            *not_send
        });
        assert!(task.is_finished());
        assert_eq!(block_on(task), 3);
    });
}

#[test]
fn an_endless_task_does_not_keep_spawn_from_returning() {
    on_own_thread(|| {
        let pool = TaskPool::new();
        let endless = pool.spawn(async {
            loop {
                futures_lite::future::yield_now().await;
            }
        });
        assert_eq!(block_on(pool.spawn(async { 4 })), 4);
        assert!(!endless.is_finished());
    });
}

#[test]
fn a_chain_of_spawning_tasks_does_not_grow_the_stack() {
    fn chain(pool: TaskPool, left: u32, done: Rc<Cell<bool>>) {
        if left == 0 {
            done.set(true);
            return;
        }
        let next = pool.clone();
        pool.spawn(async move { chain(next, left - 1, done) })
            .detach();
    }
    on_own_thread(|| {
        let done = Rc::new(Cell::new(false));
        let pool = TaskPool::new();
        chain(pool.clone(), 20_000, Rc::clone(&done));
        while !done.get() {
            assert!(pool.with_local_executor(|executor| executor.try_tick()));
        }
    });
}
