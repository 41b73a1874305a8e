//! Pools that lose their workers while a thread waits.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use terrace_executor::{Builder, Executor, Task, block_on};
use terrace_fork::scope;
use terrace_shuttle_tests::{Gate, explore, pause};
use terrace_sync::atomic::{AtomicBool, Ordering};
use terrace_sync::thread::{self, Thread};
use terrace_sync::{Arc, Mutex};

fn pool(workers: usize) -> Arc<Executor<'static>> {
    Arc::new(Builder::new().workers(workers).build())
}

/// Blocks threads until it is set; a blocked thread runs nothing.
#[derive(Default)]
struct Latch {
    set: AtomicBool,
    waiting: Mutex<Vec<Thread>>,
}

impl Latch {
    fn set(&self) {
        self.set.store(true, Ordering::Release);
        let waiting = std::mem::take(&mut *self.waiting.lock());
        waiting.iter().for_each(Thread::unpark);
    }

    fn block(&self) {
        self.waiting.lock().push(thread::current());
        while !self.set.load(Ordering::Acquire) {
            thread::park();
        }
    }
}

/// Spawns a task that sets `ran`, and blocks until it has. This thread does not drive the pool.
fn task_runs(pool: &Executor<'static>, ran: &Arc<Latch>) -> Task<()> {
    let sets = Arc::clone(ran);
    let task = pool.spawn(async move { sets.set() });
    ran.block();
    task
}

/// The last worker of a pool goes while a thread waits. A task spawned then runs on the worker, which is still there,
/// or on the waiter.
///
/// Fails under `executor-broadcast-late`: a thread that goes to sleep misses the pool.
#[test]
fn the_last_worker_goes_while_a_thread_waits() {
    explore(|| {
        let (lost, ran) = (pool(1), Arc::new(Latch::default()));
        let done = Gate::new();
        let waiter = {
            let pass = done.pass();
            thread::spawn(move || block_on(pass))
        };
        pause();
        lost.set_workers(0).expect("ending needs nothing");
        let task = task_runs(&lost, &ran);
        done.open();
        waiter.join().expect("ends");
        block_on(task);
    });
}

/// The same where the thread waits in a scope of that pool.
#[test]
fn the_last_worker_goes_while_a_scope_waits() {
    explore(|| {
        let (lost, ran) = (pool(1), Arc::new(Latch::default()));
        let done = Gate::new();
        let waiter = {
            let (lost, pass) = (Arc::clone(&lost), done.pass());
            thread::spawn(move || scope(&lost, |scope| scope.spawn(pass)))
        };
        pause();
        lost.set_workers(0).expect("ending needs nothing");
        let task = task_runs(&lost, &ran);
        done.open();
        waiter.join().expect("ends");
        block_on(task);
    });
}

/// Children of a scope await tasks of their pool. The tasks lie in its queues, or in the ring of its last worker, when that
/// worker goes.
#[test]
fn children_await_tasks_of_a_pool_that_loses_its_workers() {
    explore(|| {
        let lost = pool(2);
        let resizer = {
            let lost = Arc::clone(&lost);
            thread::spawn(move || {
                pause();
                lost.set_workers(0).expect("ending needs nothing");
            })
        };
        let mut numbers = [0; 3];
        scope(&lost, |scope| {
            for (i, number) in numbers.iter_mut().enumerate() {
                let lost = &lost;
                scope.spawn(async move {
                    *number = lost.spawn(async move { i }).await;
                    *number += lost.spawn(async { 1 }).await;
                });
            }
        });
        assert_eq!(numbers, [1, 2, 3]);
        resizer.join().expect("ends");
    });
}

/// Two threads wait beside a pool without workers. One of them is notified of a task while its own future is woken,
/// too, and `acts` there. The task sets the latch that `acts` gets.
fn one_acts_the_other_runs(acts: impl FnOnce(&Latch) + Send + 'static) {
    let (workerless, ran) = (pool(0), Arc::new(Latch::default()));
    let (first, second) = (Gate::new(), Gate::new());
    let one = {
        let (pass, ran) = (first.pass(), Arc::clone(&ran));
        thread::spawn(move || {
            let future = async move {
                pass.await;
                acts(&ran);
            };
            // It panics in one of the models.
            let _ended = catch_unwind(AssertUnwindSafe(|| block_on(future)));
        })
    };
    let other = {
        let pass = second.pass();
        thread::spawn(move || block_on(pass))
    };
    pause();
    first.open();
    let task = task_runs(&workerless, &ran);
    second.open();
    one.join().expect("ends");
    other.join().expect("ends");
    block_on(task);
}

/// A thread that was notified of a task blocks in its own future until the task has run. The other thread runs it.
///
/// Fails under `executor-notification-kept`: the notification stays with the thread that blocks.
#[test]
fn a_notified_waiter_blocks() {
    explore(|| one_acts_the_other_runs(Latch::block));
}

/// The same where the future panics.
///
/// Fails under `executor-notification-kept`: the notification ends with the wait.
#[test]
fn a_notified_waiter_panics() {
    // Not by `panic!`: its hook takes any panic for the end of the model.
    explore(|| one_acts_the_other_runs(|_| resume_unwind(Box::new("on purpose"))));
}

/// Two threads wait in scopes of a pool that loses its worker. One thread of the three blocks in a child until a task of the
/// pool has run. Another one runs the task.
///
/// Fails under `executor-notification-kept`: a waiter is notified of the task, and blocks in the child.
#[test]
fn a_notified_waiter_of_a_scope_blocks() {
    explore(|| {
        let (lost, ran) = (pool(1), Arc::new(Latch::default()));
        let (first, second) = (Gate::new(), Gate::new());
        let one = {
            let (lost, pass, ran) = (Arc::clone(&lost), first.pass(), Arc::clone(&ran));
            thread::spawn(move || {
                scope(&lost, |scope| {
                    scope.spawn(async move {
                        pass.await;
                        ran.block();
                    });
                });
            })
        };
        let other = {
            let (lost, pass) = (Arc::clone(&lost), second.pass());
            thread::spawn(move || scope(&lost, |scope| scope.spawn(pass)))
        };
        lost.set_workers(0).expect("ending needs nothing");
        pause();
        first.open();
        let task = task_runs(&lost, &ran);
        second.open();
        one.join().expect("ends");
        other.join().expect("ends");
        block_on(task);
    });
}

/// A worker of another pool waits beside a pool without workers. It is told of a task before it sleeps, a thread takes that task away, and
/// another task comes.
///
/// Fails under `executor-told-sleeps`: the worker's waker had no effect while it was awake, and it listens no more.
#[test]
fn a_worker_is_told_before_it_sleeps() {
    explore(|| {
        let (other, workerless, ran) = (pool(1), pool(0), Arc::new(Latch::default()));
        let done = Gate::new();
        let pass = done.pass();
        let waits = other.spawn(async move { block_on(pass) });
        let ticks = {
            let workerless = Arc::clone(&workerless);
            thread::spawn(move || {
                pause();
                workerless.try_tick()
            })
        };
        pause();
        let first = workerless.spawn(async {});
        pause();
        let second = task_runs(&workerless, &ran);
        done.open();
        let _ran = ticks.join().expect("ends");
        block_on(waits);
        block_on(first);
        block_on(second);
    });
}

/// Two threads wait beside a pool without workers, and tasks come one by one. A thread is notified before it sleeps, and the other thread
/// takes the task.
#[test]
fn tasks_come_one_by_one() {
    explore(|| {
        let (workerless, done) = (pool(0), Gate::new());
        let waiters = [done.pass(), done.pass()].map(|pass| thread::spawn(move || block_on(pass)));
        for _ in 0..10 {
            pause();
            task_runs(&workerless, &Arc::default()).detach();
        }
        done.open();
        for waiter in waiters {
            waiter.join().expect("ends");
        }
    });
}
