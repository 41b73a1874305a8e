//! A thread finds each of its runnable pinned tasks. Every way to drive × every way to spawn or
//! wake.

#[expect(dead_code, reason = "each test uses its part")]
mod common;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc::channel;
use std::thread;

use common::{drive_until, send_waker_and_wait};
use futures_lite::future::{block_on, yield_now};
use terrace_testing::on_own_thread;
use terrace_thread::{Task, ThreadSpawner};

#[derive(Clone, Copy, Debug)]
enum Spawn {
    Local,
    SpawnerHere,
    SpawnerElsewhere,
    Making,
    LocalExecutor,
    WokenElsewhere,
}

#[derive(Clone, Copy, Debug)]
enum Drive {
    Tick,
    Park,
    ExecutorTryTick,
    ExecutorTick,
    ExecutorRun,
}

fn spawn(how: Spawn) -> Task<u32> {
    let spawner = ThreadSpawner::current();
    match how {
        Spawn::Local => terrace_thread::spawn_local(async { 1 }),
        Spawn::SpawnerHere => spawner.spawn(async { 1 }),
        Spawn::SpawnerElsewhere => thread::spawn(move || spawner.spawn(async { 1 }))
            .join()
            .expect("spawns"),
        Spawn::Making => thread::spawn(move || {
            spawner.spawn_with(|| {
                let rc = Rc::new(1);
                async move { *rc }
            })
        })
        .join()
        .expect("spawns"),
        Spawn::LocalExecutor => {
            terrace_thread::with_local_executor(|executor| executor.spawn(async { 1 }))
        }
        Spawn::WokenElsewhere => {
            let (send, wakers) = channel();
            let task = terrace_thread::spawn_local(async {
                send_waker_and_wait(send).await;
                1
            });
            assert!(terrace_thread::tick());
            let waker = wakers.recv().expect("it was polled");
            thread::spawn(move || waker.wake()).join().expect("wakes");
            task
        }
    }
}

#[test]
fn every_driver_with_every_spawner() {
    on_own_thread(|| {
        for how in [
            Spawn::Local,
            Spawn::SpawnerHere,
            Spawn::SpawnerElsewhere,
            Spawn::Making,
            Spawn::LocalExecutor,
            Spawn::WokenElsewhere,
        ] {
            for drive in [
                Drive::Tick,
                Drive::Park,
                Drive::ExecutorTryTick,
                Drive::ExecutorTick,
                Drive::ExecutorRun,
            ] {
                let mut task = spawn(how);
                assert!(terrace_thread::has_work());
                terrace_thread::with_local_executor(|executor| match drive {
                    Drive::Tick => assert!(terrace_thread::tick()),
                    Drive::Park => drive_until(|| task.is_finished()),
                    Drive::ExecutorTryTick => assert!(executor.try_tick()),
                    Drive::ExecutorTick => block_on(executor.tick()),
                    Drive::ExecutorRun => block_on(executor.run(yield_now())),
                });
                assert_eq!(task.try_take(), Some(1), "{how:?}, {drive:?}");
                assert!(!terrace_thread::tick());
                assert!(!terrace_thread::has_work());
            }
        }
    });
}

/// Spawns and wakes end the thread's sleep.
#[test]
fn a_sleeping_thread_is_woken() {
    on_own_thread(|| {
        for _ in 0..300 {
            let spawner = ThreadSpawner::current();
            let (send, wakers) = channel();
            let spawning = thread::spawn(move || spawner.spawn(send_waker_and_wait(send)));
            let mut waker = None;
            drive_until(|| {
                waker = waker.take().or_else(|| wakers.try_recv().ok());
                waker.is_some()
            });
            let task = spawning.join().expect("spawns");
            let waking = thread::spawn(move || waker.expect("has come").wake());
            drive_until(|| task.is_finished());
            waking.join().expect("wakes");
        }
    });
}

/// A remote spawn also wakes a driver that sleeps in a future.
#[test]
fn a_sleeping_driver_is_woken() {
    on_own_thread(|| {
        for _ in 0..300 {
            let spawner = ThreadSpawner::current();
            let spawning = thread::spawn(move || spawner.spawn(async { 3 }));
            terrace_thread::with_local_executor(|executor| block_on(executor.tick()));
            assert_eq!(spawning.join().expect("spawns").try_take(), Some(3));
        }
    });
}

/// Tasks that one thread pushes run in its order. A task that keeps the owner busy does not starve remote tasks.
#[test]
fn order_and_fairness() {
    on_own_thread(|| {
        let log = Rc::new(RefCell::new(Vec::new()));
        for n in 0..5 {
            let log = log.clone();
            terrace_thread::spawn_local(async move { log.borrow_mut().push(n) }).detach();
        }
        while terrace_thread::tick() {}
        assert_eq!(*log.borrow(), [0, 1, 2, 3, 4]);

        let busy = terrace_thread::spawn_local(async {
            loop {
                yield_now().await;
            }
        });
        let spawner = ThreadSpawner::current();
        let (send, order) = channel();
        let tasks = thread::spawn(move || {
            [0, 1, 2].map(|n| {
                let send = send.clone();
                spawner.spawn(async move { send.send(n).expect("the test listens") })
            })
        });
        let tasks = tasks.join().expect("spawns");
        for _ in 0..10 {
            assert!(terrace_thread::tick());
        }
        assert!(tasks.iter().all(Task::is_finished));
        assert_eq!(order.try_iter().collect::<Vec<_>>(), [0, 1, 2]);
        drop(busy);
        while terrace_thread::tick() {}
    });
}

/// A task that ticks the thread itself: no borrow is held while a task is polled.
#[test]
fn nested_ticks() {
    on_own_thread(|| {
        let log = Rc::new(RefCell::new(Vec::new()));
        let outer = terrace_thread::spawn_local({
            let log = log.clone();
            async move {
                let inner = log.clone();
                terrace_thread::spawn_local(async move { inner.borrow_mut().push("inner") })
                    .detach();
                assert!(terrace_thread::tick());
                terrace_thread::with_local_executor(|executor| {
                    let inner = log.clone();
                    executor
                        .spawn(async move { inner.borrow_mut().push("third") })
                        .detach();
                    assert!(executor.try_tick());
                });
                log.borrow_mut().push("outer");
            }
        });
        assert!(terrace_thread::tick());
        assert!(outer.is_finished());
        assert_eq!(*log.borrow(), ["inner", "third", "outer"]);
    });
}
