//! Machines with one core: everything works with 0, 1 and 2 workers. With 0, the caller runs the
//! tasks.
//!
//! The behaviour suite of `terrace-conformance` runs at these sizes, too.

mod alone;

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::thread;

use alone::alone;
use terrace_executor::{Builder, Executor, Lane, Shutdown, block_on};
use terrace_testing::{Yields, watchdog};
use terrace_thread::ThreadSpawner;

/// Runs `test` with each number of workers.
fn with_few(test: impl Fn(&Arc<Executor<'static>>) + Send + 'static) {
    alone(move || {
        for workers in [0, 1, 2] {
            test(&Arc::new(Builder::new().workers(workers).build()));
        }
    });
}

#[test]
fn tasks_spawned_one_by_one_and_in_batches() {
    let _watchdog = watchdog();
    with_few(|executor| {
        let one: Vec<_> = (0..200).map(|i| executor.spawn(async move { i })).collect();
        let mut many = Vec::new();
        executor.spawn_many((0..1000).map(|i| async move { i }), &mut many);
        let sum: u64 = one.into_iter().chain(many).map(block_on).sum();
        assert_eq!(sum, 200 * 199 / 2 + 1000 * 999 / 2);
    });
}

/// Every task waits, on the thread it is polled on, for the next one.
#[test]
fn tasks_that_block_on_each_other() {
    let _watchdog = watchdog();
    fn chain(executor: &Arc<Executor<'static>>, depth: u32) -> u32 {
        let own = Arc::clone(executor);
        match depth {
            0 => 0,
            _ => 1 + block_on(executor.spawn(async move { chain(&own, depth - 1) })),
        }
    }
    with_few(|executor| assert_eq!(chain(executor, 20), 20));
}

/// A flag that a task of `executor` raises.
fn raised_by_a_task(executor: &Executor<'static>) -> Arc<AtomicBool> {
    let ran = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&ran);
    executor
        .spawn(async move { flag.store(true, Ordering::Relaxed) })
        .detach();
    ran
}

/// The future in `block_on` wakes itself until a task has run: with no worker only its own thread can run that task.
#[test]
fn a_waiting_future_that_wakes_itself_starves_no_task() {
    let _watchdog = watchdog();
    with_few(|executor| {
        let ran = raised_by_a_task(executor);
        block_on(poll_fn(|context| {
            if ran.load(Ordering::Relaxed) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        }));
    });
}

/// The same with a scope's child.
#[test]
fn a_child_that_wakes_itself_starves_no_task() {
    let _watchdog = watchdog();
    use terrace_executor::scope::{OpenScope, ScopeKind};

    with_few(|executor| {
        let ran = raised_by_a_task(executor);
        let scope = OpenScope::open(executor, ScopeKind::of::<()>());
        let child = async {
            while !ran.load(Ordering::Relaxed) {
                Yields(1).await;
            }
        };
        // SAFETY: the scope is open, and waited for in the next statement, before what the child borrows ends.
        unsafe { scope.handle().spawn(child) };
        assert!(scope.wait(&[]).is_none());
    });
}

/// Tasks that wake themselves without end, one more than there are threads for.
#[test]
fn tasks_that_wake_themselves_starve_no_task() {
    let _watchdog = watchdog();
    with_few(|executor| {
        for _ in 0..=executor.workers() {
            executor.spawn(Yields(u32::MAX)).detach();
        }
        for i in 0..100 {
            assert_eq!(block_on(executor.spawn(async move { i })), i);
        }
    });
}

#[test]
fn every_lane_runs() {
    let _watchdog = watchdog();
    with_few(|executor| {
        for lane in [Lane::Background, Lane::Normal, Lane::High] {
            let tasks: Vec<_> = (0..50)
                .map(|i| executor.spawn_on(lane, Yields(i % 3)))
                .collect();
            tasks.into_iter().for_each(block_on);
        }
    });
}

/// Tasks that a thread outside the pool wakes.
#[test]
fn wakes_come_from_remote_threads() {
    let _watchdog = watchdog();
    with_few(|executor| {
        let (wakers, woken) = channel();
        let waker = thread::spawn(move || {
            for waker in woken {
                let waker: std::task::Waker = waker;
                waker.wake();
            }
        });
        let tasks: Vec<_> = (0..100)
            .map(|_| {
                let wakers = wakers.clone();
                let mut first = true;
                executor.spawn(poll_fn(move |context| {
                    if std::mem::take(&mut first) {
                        wakers.send(context.waker().clone()).unwrap();
                        return Poll::Pending;
                    }
                    Poll::Ready(())
                }))
            })
            .collect();
        drop(wakers);
        tasks.into_iter().for_each(block_on);
        waker.join().unwrap();
    });
}

/// Work for the thread that waits, spawned by tasks.
#[test]
fn pinned_tasks_run_where_the_caller_waits() {
    let _watchdog = watchdog();
    with_few(|executor| {
        let (here, spawner) = (thread::current().id(), ThreadSpawner::current());
        let task =
            executor.spawn(async move { spawner.spawn(async { thread::current().id() }).await });
        assert_eq!(block_on(task), here);
    });
}

/// Several threads spawn and wait at once, and panic now and then.
#[test]
fn callers_on_many_threads() {
    let _watchdog = watchdog();
    with_few(|executor| {
        let ran = AtomicUsize::new(0);
        thread::scope(|s| {
            for _ in 0..8 {
                s.spawn(|| {
                    for i in 0..100 {
                        let task = executor.spawn(async move {
                            Yields(i % 3).await;
                            assert!(i % 10 != 9, "in a task");
                        });
                        let waits = std::panic::AssertUnwindSafe(|| block_on(task));
                        assert_eq!(std::panic::catch_unwind(waits).is_err(), i % 10 == 9);
                        ran.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(ran.into_inner(), 800);
        assert!(executor.is_empty());
    });
}

/// Runs and ticks beside the workers, if any.
#[test]
fn drivers_beside_them() {
    let _watchdog = watchdog();
    with_few(|executor| {
        for round in 0..50 {
            let task = executor.spawn(Yields(round % 4));
            block_on(executor.run(task));
            let task = executor.spawn(Yields(round % 4));
            while !task.is_finished() {
                if !executor.try_tick() {
                    thread::yield_now();
                }
            }
        }
    });
}

/// Down and up again; the shutdown keeps or drops the queued tasks.
#[test]
fn shutdowns_and_new_workers() {
    let _watchdog = watchdog();
    with_few(|executor| {
        let workers = executor.workers();
        let log = Arc::new(Mutex::new(Vec::new()));
        for round in 0..3 {
            let own = Arc::clone(&log);
            let task = executor.spawn(async move {
                Yields(round).await;
                own.lock().unwrap().push(round);
            });
            executor.shutdown(Shutdown::RunQueued, None).unwrap();
            block_on(task);
            executor.set_workers(workers).unwrap();
        }
        assert_eq!(*log.lock().unwrap(), [0, 1, 2]);
    });
}
