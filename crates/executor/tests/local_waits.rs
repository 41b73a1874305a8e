//! Waits inside a thread's own tasks. They run no other task of the thread, but they run children that are pinned to
//! it, and tasks that they themselves await.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;

use terrace_executor::scope::{OpenScope, ScopeKind, To};
use terrace_executor::{Builder, Executor, ThreadExecutor, block_on};
use terrace_testing::{Yields, on_own_thread};
use terrace_thread::spawn_local;

/// Waits for a task of `executor`, in each way that a thread can.
fn wait(executor: &Executor<'static>, way: usize) {
    match way {
        0 => block_on(executor.spawn(Yields(3))),
        _ => {
            let scope = OpenScope::open(executor, ScopeKind::of::<()>());
            // SAFETY: the child borrows nothing.
            unsafe { scope.handle().spawn(Yields(3)) };
            assert!(scope.wait(&[]).is_none());
        }
    }
}

/// One task waits for the pool, and then for nothing; the other one for the first one's result.
#[test]
fn a_task_that_waits_is_not_buried_under_one_that_waits_for_it() {
    on_own_thread(|| {
        for way in 0..2 {
            let executor = Arc::new(Builder::new().workers(1).build());
            let (sender, receiver) = smol::channel::bounded(1);
            let first = {
                let executor = Arc::clone(&executor);
                spawn_local(async move {
                    for _ in 0..50 {
                        wait(&executor, way);
                    }
                    sender.send(1).await.unwrap();
                })
            };
            let second = spawn_local(async move { block_on(receiver.recv()).unwrap() });
            block_on(first);
            assert_eq!(block_on(second), 1);
        }
    });
}

#[test]
fn thousands_of_tasks_that_wait_need_no_stack() {
    on_own_thread(|| {
        for way in 0..2 {
            let small = thread::Builder::new().stack_size(256 << 10);
            let thread = small.spawn(move || {
                let executor = Arc::new(Builder::new().workers(1).build());
                let tasks: Vec<_> = (0..4_000)
                    .map(|_| {
                        let executor = Arc::clone(&executor);
                        spawn_local(async move { wait(&executor, way) })
                    })
                    .collect();
                tasks.into_iter().for_each(block_on);
            });
            thread.unwrap().join().unwrap();
        }
    });
}

#[test]
fn what_is_borrowed_across_a_wait_is_borrowed_once() {
    on_own_thread(|| {
        for way in 0..2 {
            let executor = Arc::new(Builder::new().workers(1).build());
            let sum = Rc::new(RefCell::new(0));
            let tasks: Vec<_> = (0..100)
                .map(|number| {
                    let (executor, sum) = (Arc::clone(&executor), Rc::clone(&sum));
                    spawn_local(async move {
                        let mut sum = sum.borrow_mut();
                        wait(&executor, way);
                        *sum += number;
                    })
                })
                .collect();
            tasks.into_iter().for_each(block_on);
            assert_eq!(*sum.borrow(), 4950);
        }
    });
}

/// No other thread can run the awaited task, so the wait runs it, and all tasks that it needs.
#[test]
fn a_task_blocks_on_another_one_of_its_thread() {
    on_own_thread(|| {
        let outer = spawn_local(async {
            let deeper = spawn_local(async {
                Yields(2).await;
                20
            });
            let inner = spawn_local(async move {
                Yields(2).await;
                deeper.await + 1
            });
            block_on(inner) + 1
        });
        assert_eq!(block_on(outer), 22);
    });
}

/// The same on a worker.
#[test]
fn a_pinned_task_of_a_worker_blocks_on_another_one() {
    on_own_thread(|| {
        let executor = Builder::new().workers(1).build();
        let task = executor.spawn(async {
            spawn_local(async {
                let inner = spawn_local(async {
                    Yields(2).await;
                    1
                });
                block_on(inner) + 1
            })
            .await
        });
        assert_eq!(block_on(task), 2);
    });
}

/// A scope that a task of the thread opens runs its pinned children and those of an outer scope. It also runs the tasks
/// of the thread's executor.
#[test]
fn pinned_children_run_in_waits_inside_of_tasks() {
    on_own_thread(|| {
        let executor = Arc::new(Builder::new().workers(1).build());
        let inner = Arc::clone(&executor);
        let task = spawn_local(async move {
            let here = thread::current().id();
            let ticked = ThreadExecutor::new();
            let count = Arc::new(std::sync::atomic::AtomicUsize::new(0));
            let on_thread = || {
                let count = Arc::clone(&count);
                async move {
                    Yields(2).await;
                    assert_eq!(thread::current().id(), here);
                    count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                }
            };
            let outer = OpenScope::open(&inner, ScopeKind::of::<()>());
            // SAFETY: the scope is waited for below; the children borrow nothing.
            unsafe { outer.handle().send(To::Owner, on_thread()) };
            let nested = OpenScope::open(&inner, ScopeKind::of::<()>());
            // SAFETY: the scope is waited for below; the child borrows nothing.
            unsafe { nested.handle().send(To::Owner, on_thread()) };
            // SAFETY: the scope is waited for below; the child borrows nothing.
            unsafe { nested.handle().spawn_on(ticked.queue(), on_thread()) };
            assert!(nested.wait(&[ticked.queue()]).is_none());
            assert!(outer.wait(&[]).is_none());
            count.load(std::sync::atomic::Ordering::Relaxed)
        });
        assert_eq!(block_on(task), 3);
    });
}

/// A wait that is not inside a task of the thread runs these tasks. So does a wait in a pinned
/// child, which is no such task.
#[test]
fn tasks_run_in_waits_outside_of_tasks() {
    on_own_thread(|| {
        let executor = Builder::new().workers(1).build();
        let done = Rc::new(Cell::new(0));
        for _ in 0..3 {
            let done = Rc::clone(&done);
            spawn_local(async move {
                Yields(1).await;
                done.set(done.get() + 1);
            })
            .detach();
        }
        let (sender, receiver) = channel();
        let scope = OpenScope::open(&executor, ScopeKind::of::<()>());
        // SAFETY: the scope is waited for below; the child borrows nothing.
        unsafe {
            scope.handle().send(To::Owner, async move {
                let task = spawn_local(async { 1 });
                sender.send(block_on(task)).unwrap();
            });
        }
        assert!(scope.wait(&[]).is_none());
        assert_eq!(receiver.recv(), Ok(1));
        block_on(Yields(20));
        assert_eq!(done.get(), 3);
    });
}

/// The scope's wait also runs a task that a pinned child awaits.
#[test]
fn a_pinned_child_awaits_a_task_of_its_thread() {
    on_own_thread(|| {
        let executor = Arc::new(Builder::new().workers(1).build());
        let task = spawn_local(async move {
            let (sender, receiver) = channel();
            let scope = OpenScope::open(&executor, ScopeKind::of::<()>());
            // SAFETY: the scope is waited for below; the child borrows nothing.
            unsafe {
                scope.handle().send(To::Owner, async move {
                    let inner = spawn_local(async {
                        Yields(2).await;
                        1
                    });
                    sender.send(inner.await).unwrap();
                });
            }
            assert!(scope.wait(&[]).is_none());
            receiver.recv().unwrap()
        });
        assert_eq!(block_on(task), 1);
    });
}
