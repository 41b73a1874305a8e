//! `LocalSpawner`: spawns from other threads, during and after the executor's end.

use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::task::Poll;
use std::thread;

use futures_lite::future::block_on;
use static_assertions::assert_impl_all;
use terrace_local::{LocalExecutor, LocalSpawner, Task};
use terrace_testing::{Homebody, on_own_thread, poll_once, watchdog};

assert_impl_all!(LocalSpawner: Send, Sync, Clone, std::fmt::Debug, std::panic::UnwindSafe);

#[test]
fn a_driver_asleep_is_woken_by_a_remote_spawn() {
    on_own_thread(|| {
        let executor = LocalExecutor::new();
        let spawner = executor.spawner();
        let (sender, receiver) = std::sync::mpsc::channel();
        let thread = thread::spawn(move || {
            for n in 0..100 {
                let sender = sender.clone();
                spawner
                    .spawn(async move { sender.send(n).expect("the receiver lives") })
                    .detach();
            }
        });
        let mut seen = Vec::new();
        while seen.len() < 100 {
            block_on(executor.tick());
            seen.extend(receiver.try_iter());
        }
        assert_eq!(seen, (0..100).collect::<Vec<_>>(), "in the order of spawns");
        thread.join().expect("spawned");
    });
}

/// `spawn_with` makes a future that is not Send on the executor's thread; poll and drop happen there.
#[test]
fn a_future_made_by_a_closure_stays_on_the_thread() {
    on_own_thread(|| {
        let executor = LocalExecutor::new();
        let here = executor.spawner();
        let id = here.thread_id();
        assert_eq!(id, terrace_local::thread_id());
        let task = thread::spawn(move || {
            here.spawn_with(|| {
                let home = Homebody::new();
                let shared = Rc::new(terrace_local::thread_id());
                async move {
                    futures_lite::future::yield_now().await;
                    home.check();
                    *shared
                }
            })
        })
        .join()
        .expect("spawned");
        assert_eq!(block_on(executor.run(task)), id);
    });
}

#[test]
fn what_is_spawned_after_the_end_is_dropped_by_the_caller() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let spawner = executor.spawner();
    drop(executor);
    let dropped = Arc::new(());
    let mut tasks: Vec<Task<()>> = Vec::new();
    for _ in 0..2 {
        let held = dropped.clone();
        tasks.push(spawner.spawn(async move { drop(held) }));
        let held = dropped.clone();
        tasks.push(spawner.spawn_with(move || async move { drop(held) }));
    }
    assert_eq!(Arc::strong_count(&dropped), 1);
    for task in tasks {
        assert!(task.is_finished());
        assert_eq!(poll_once(&mut task.fallible()), Poll::Ready(None));
    }
    let held = dropped.clone();
    let task = thread::spawn(move || spawner.spawn(async move { drop(held) }))
        .join()
        .expect("spawned in vain");
    assert!(task.is_finished());
    assert_eq!(Arc::strong_count(&dropped), 1);
}

/// Spawns of both sorts, wakes and handles race with ticks and with the drop. Each future is dropped once, on either
/// side.
#[test]
fn spawns_race_with_the_drop() {
    on_own_thread(|| {
        const THREADS: usize = 2;
        for round in 0..300 {
            let executor = LocalExecutor::new();
            let alive = Arc::new(AtomicUsize::new(0));
            let start = Arc::new(Barrier::new(THREADS + 1));
            let threads: Vec<_> = (0..THREADS)
                .map(|n| {
                    let (spawner, start) = (executor.spawner(), start.clone());
                    let counted = move |alive: &Arc<AtomicUsize>| Counted::new(alive.clone());
                    let alive = alive.clone();
                    thread::spawn(move || {
                        start.wait();
                        for i in 0..10 {
                            let held = counted(&alive);
                            let task = if (n + i) % 2 == 0 {
                                spawner.spawn(async move {
                                    futures_lite::future::yield_now().await;
                                    drop(held);
                                })
                            } else {
                                spawner.spawn_with(move || async move {
                                    let home = Homebody::new();
                                    std::future::pending::<()>().await;
                                    drop((held, home));
                                })
                            };
                            if i % 3 != 0 {
                                task.detach();
                            }
                        }
                    })
                })
                .collect();
            start.wait();
            for _ in 0..round % 20 {
                executor.try_tick();
            }
            drop(executor);
            for thread in threads {
                thread.join().expect("spawns quietly");
            }
            assert_eq!(alive.load(Ordering::Acquire), 0);
        }
    });
}

struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(alive: Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, Ordering::AcqRel);
        Self(alive)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The owner's thread ends without closing its executor: later spawns run nowhere, and crash no
/// thread.
#[test]
fn spawning_onto_a_forgotten_executor() {
    let _watchdog = watchdog();
    let spawner = thread::spawn(|| {
        let executor = LocalExecutor::new();
        let spawner = executor.spawner();
        std::mem::forget(executor);
        spawner
    })
    .join()
    .expect("left a spawner");
    let task = spawner.spawn(async {});
    assert!(!task.is_finished());
    drop(task);
    spawner
        .spawn_with(|| async {
            Rc::new(());
        })
        .detach();
}

#[test]
fn a_spawner_of_the_static_kind() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new().leak();
    let spawner = executor.spawner();
    let task = thread::spawn(move || spawner.spawn_with(|| async { *Rc::new(7) }))
        .join()
        .expect("spawned");
    assert_eq!(block_on(executor.run(task)), 7);
    assert!(executor.is_empty());
}
