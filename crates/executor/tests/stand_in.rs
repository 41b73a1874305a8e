//! `Executor::stand_in`: a thread of the program works in the place of a sleeping worker.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use terrace_executor::scope::{OpenScope, ScopeKind, To};
use terrace_executor::{Builder, Executor, Shutdown, Worker, block_on};
use terrace_testing::{signal, watchdog};

fn pool(workers: usize) -> Executor<'static> {
    Builder::new().workers(workers).build()
}

/// Calls `f` in the place of a worker, as soon as one sleeps.
fn in_place<T>(pool: &Executor<'static>, f: impl FnOnce(usize) -> T) -> T {
    let mut f = f;
    loop {
        match pool.stand_in(&|| false, f) {
            Ok(result) => return result,
            Err(back) => f = back,
        }
        thread::yield_now();
    }
}

#[test]
fn a_place_has_one_thread_at_a_time() {
    let _watchdog = watchdog();
    let pool = pool(3);
    let busy: [AtomicBool; 3] = Default::default();
    let seen = Mutex::new(HashSet::new());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..200 {
                    in_place(&pool, |worker| {
                        assert!(
                            !busy[worker].swap(true, Ordering::Relaxed),
                            "two in one place"
                        );
                        seen.lock().unwrap().insert(worker);
                        thread::yield_now();
                        busy[worker].store(false, Ordering::Relaxed);
                    });
                }
            });
        }
        // Tasks find their workers beside the stand-ins.
        for round in 0..200 {
            assert_eq!(block_on(pool.spawn(async move { round })), round);
        }
    });
    assert!(seen.lock().unwrap().iter().all(|worker| *worker < 3));
}

#[test]
fn no_place_is_given_where_none_is_free() {
    let _watchdog = watchdog();
    let pool = pool(1);
    in_place(&pool, |_| {
        assert!(pool.stand_in(&|| false, |_| ()).is_err(), "nested");
        thread::scope(|scope| {
            let other = scope.spawn(|| pool.stand_in(&|| false, |_| ()).is_err());
            assert!(other.join().unwrap(), "the only place is taken");
        });
    });
    let inside = {
        let other = Arc::new(self::pool(1));
        let inner = Arc::clone(&other);
        block_on(pool.spawn(async move { inner.stand_in(&|| false, |_| ()).is_err() }))
    };
    assert!(inside, "a worker has a place of its own");
    for _ in 0..100 {
        // The worker sleeps at some time, so that its place is free.
        let inside = async { pool.stand_in(&|| false, |_| ()).is_err() };
        let inside = block_on(Executor::new().run(inside));
        assert!(inside, "a `run` future has a place of its own");
        thread::sleep(Duration::from_micros(100));
    }
    assert!(
        Executor::new().stand_in(&|| false, |_| ()).is_err(),
        "no workers"
    );
}

/// It does not sleep while the answer is yes.
#[test]
fn a_wait_asks_before_it_sleeps() {
    let _watchdog = watchdog();
    let pool = pool(1);
    let (asked, (future, signal)) = (AtomicUsize::new(0), signal());
    let asks = || {
        let before = asked.fetch_add(1, Ordering::Relaxed);
        if before == 2 {
            signal.set();
        }
        before <= 2
    };
    let mut wait = |_| block_on(future);
    while let Err(back) = pool.stand_in(&asks, wait) {
        wait = back;
        thread::yield_now();
    }
    assert_eq!(asked.load(Ordering::Relaxed), 3);
}

#[test]
fn work_that_came_in_between_runs_after_the_stand_in() {
    let _watchdog = watchdog();
    let pool = pool(1);
    let task = in_place(&pool, |_| {
        let task = pool.spawn(async { 7 });
        thread::sleep(Duration::from_millis(5));
        assert!(!task.is_finished(), "its worker sleeps");
        task
    });
    assert_eq!(block_on(task), 7);
}

#[test]
fn pinned_work_that_came_in_between_runs_after_the_stand_in() {
    let _watchdog = watchdog();
    let pool = pool(1);
    let spawner = pool.worker_spawners().pop().expect("one worker");
    for _ in 0..100 {
        let task = in_place(&pool, |_| spawner.spawn(async { thread::current().id() }));
        assert_eq!(block_on(task), thread_of(&pool));
    }
}

fn thread_of(pool: &Executor<'static>) -> thread::ThreadId {
    block_on(pool.spawn(async { thread::current().id() }))
}

#[test]
fn a_panic_gives_the_place_back() {
    let _watchdog = watchdog();
    let pool = pool(1);
    for _ in 0..20 {
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            in_place(&pool, |_| std::panic::resume_unwind(Box::new(())));
        }));
        assert!(caught.is_err());
        assert_eq!(block_on(pool.spawn(async { 1 })), 1);
    }
}

/// The stand-in waits for a task that only it can run: it is the last resort. With spares the executor starts one.
#[test]
fn a_waiting_stand_in_is_the_last_resort() {
    let _watchdog = watchdog();
    for spares in [false, true] {
        let pool = Builder::new().workers(1).spares(spares).build();
        for _ in 0..50 {
            let ran_on = in_place(&pool, |_| {
                block_on(pool.spawn(async { thread::current().id() }))
            });
            assert!(spares || ran_on == thread::current().id());
        }
    }
}

/// A worker waits in the middle of a task for a task that is queued, and the stand-in for the other worker waits, too: one of them runs it.
#[test]
fn all_wait_and_one_of_them_helps() {
    let _watchdog = watchdog();
    let pool = Arc::new(Builder::new().workers(2).spares(false).build());
    for round in 0..100 {
        let barrier = Arc::new(Barrier::new(2));
        let (sender, receiver) = mpsc::channel();
        let in_task = (Arc::clone(&pool), Arc::clone(&barrier));
        let outer = pool.spawn(async move {
            let (pool, barrier) = in_task;
            barrier.wait();
            let inner = pool.spawn(async move { sender.send(round).is_ok() });
            block_on(inner)
        });
        in_place(&pool, |_| {
            barrier.wait();
            assert!(block_on(outer));
        });
        assert_eq!(receiver.recv(), Ok(round));
    }
}

/// Joins of a stand-in are stolen by the other worker, and their waits end.
#[test]
fn joins_of_a_stand_in_are_shared() {
    let _watchdog = watchdog();
    fn count(worker: &Worker, depth: u32) -> usize {
        if depth == 0 {
            return 1;
        }
        let (left, right) = worker.join(
            |worker| count(worker, depth - 1),
            |worker| count(worker, depth - 1),
        );
        left + right
    }
    let pool = pool(2);
    for _ in 0..50 {
        let leaves = in_place(&pool, |_| pool.with_worker(|worker| count(worker, 10)));
        assert_eq!(leaves, 1024);
    }
    // A half that blocks until another thread has come to the other one.
    let met = Barrier::new(2);
    in_place(&pool, |_| {
        pool.join(
            |_| {
                met.wait();
            },
            |_| {
                met.wait();
            },
        );
    });
}

/// Workers that are asked to end do so although their places are taken now and then; also when the executor is dropped.
#[test]
fn workers_come_and_go_beside_stand_ins() {
    let _watchdog = watchdog();
    let pool = pool(3);
    let done = AtomicBool::new(false);
    let calls = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    if pool
                        .stand_in(&|| false, |_| calls.fetch_add(1, Ordering::Relaxed))
                        .is_err()
                    {
                        thread::yield_now();
                    }
                }
            });
        }
        for round in 0..200 {
            pool.set_workers(round % 4).expect("threads start");
            let task = pool.spawn(async move { round });
            assert_eq!(block_on(task), round);
        }
        while calls.load(Ordering::Relaxed) == 0 {
            thread::yield_now();
        }
        done.store(true, Ordering::Relaxed);
    });
    drop(pool);
}

/// A sentinel is held while its time runs out: it sleeps on, and gets up afterwards.
#[test]
fn a_held_sentinel_hands_its_watch_on() {
    let _watchdog = watchdog();
    let pool = pool(1);
    let until = Instant::now() + Duration::from_millis(100);
    let mut rounds = 0u32;
    while Instant::now() < until || rounds < 10 {
        rounds += 1;
        // Guests that come and go keep a sentinel up.
        pool.join(|_| (), |_| ());
        in_place(&pool, |_| thread::sleep(Duration::from_millis(3)));
        assert_eq!(block_on(pool.spawn(async { 1 })), 1);
    }
}

/// A stand-in that shuts the executor down does not wait for the worker whose place it has.
#[test]
fn a_stand_in_shuts_the_executor_down() {
    let _watchdog = watchdog();
    for how in [
        Shutdown::FinishAll,
        Shutdown::RunQueued,
        Shutdown::DropQueued,
    ] {
        let pool = pool(1);
        let task = in_place(&pool, |_| {
            let task = pool.spawn(async { 1 });
            pool.shutdown(how, None).expect("there is no limit");
            assert_eq!(block_on(async { 2 }), 2, "waits go on without a place");
            task
        });
        assert!(how == Shutdown::DropQueued || task.is_finished());
    }
}

/// A broadcast reaches the worker whose place its caller had.
#[test]
fn a_stand_in_broadcasts() {
    let _watchdog = watchdog();
    for workers in [1, 2] {
        let pool = pool(workers);
        for _ in 0..20 {
            let parts = in_place(&pool, |_| pool.broadcast(|_| thread::current().id()));
            assert_eq!(parts.len(), workers);
        }
    }
}

/// So does a scope's child for that worker, and a broadcast of a scope.
#[test]
fn a_stand_in_spawns_children_for_each_worker() {
    let _watchdog = watchdog();
    for workers in [1, 2] {
        let pool = pool(workers);
        let calls = AtomicUsize::new(0);
        for broadcasts in [true, false].repeat(10) {
            in_place(&pool, |_| {
                let scope = OpenScope::open(&pool, ScopeKind::of::<()>());
                let handle = scope.handle();
                if broadcasts {
                    // SAFETY: the scope is open, and waited for below. `calls` outlives it.
                    unsafe { handle.broadcast(|_| _ = calls.fetch_add(1, Ordering::Relaxed)) };
                }
                for worker in 0..workers {
                    if !broadcasts {
                        let call = |_: &Worker| _ = calls.fetch_add(1, Ordering::Relaxed);
                        // SAFETY: as above.
                        unsafe { handle.send_call(To::Worker(worker), call) };
                    }
                }
                assert!(scope.wait(&[]).is_none());
            });
        }
        assert_eq!(calls.into_inner(), 20 * workers);
    }
}

/// The worker of the dropped executor waits for a task whose only worker has a stand-in: the caller of the drop runs it.
#[test]
fn a_stand_in_drops_another_executor() {
    let _watchdog = watchdog();
    let pool = Arc::new(Builder::new().workers(1).spares(false).build());
    for _ in 0..20 {
        let other = self::pool(1);
        let (begins, begun) = mpsc::channel();
        in_place(&pool, |_| {
            let task = pool.spawn(async { 1 });
            let waits = other.spawn(async move {
                begins.send(()).unwrap();
                block_on(task)
            });
            begun.recv().unwrap();
            drop(other);
            drop(waits);
        });
    }
}

#[test]
fn a_stand_in_waits_until_all_tasks_have_ended() {
    let _watchdog = watchdog();
    for spares in [false, true] {
        let pool = Builder::new().workers(1).spares(spares).build();
        let ran = Arc::new(AtomicBool::new(false));
        let in_task = Arc::clone(&ran);
        let task = in_place(&pool, |_| {
            let task = pool.spawn(async move { in_task.store(true, Ordering::Relaxed) });
            pool.wait_idle(None).expect("there is no limit");
            // The handle may say so a moment later.
            assert!(ran.load(Ordering::Relaxed));
            assert_eq!(Arc::strong_count(&ran), 1, "the future has been dropped");
            task
        });
        block_on(task);
    }
}
