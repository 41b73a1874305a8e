//! Worker threads that come and go while the executor is in use.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use terrace_executor::{Builder, Executor, Shutdown, StaticExecutor, block_on, current};
use terrace_testing::{Yields, in_own_process, on_own_thread, signal, text_of};

/// Starts and exits of worker threads.
#[derive(Clone, Default)]
struct Hooks(Arc<[AtomicUsize; 2]>);

impl Hooks {
    fn on(&self, builder: Builder) -> Builder {
        let [start, stop] = [self.clone(), self.clone()];
        builder
            .on_thread_start(move || {
                start.0[0].fetch_add(1, Ordering::Relaxed);
            })
            .on_thread_stop(move || {
                stop.0[1].fetch_add(1, Ordering::Relaxed);
            })
    }

    fn starts(&self) -> usize {
        self.0[0].load(Ordering::Relaxed)
    }

    fn stops(&self) -> usize {
        self.0[1].load(Ordering::Relaxed)
    }
}

/// An executor with so many workers, which is never dropped, and the counts of its threads.
fn counted(workers: usize) -> (Hooks, &'static StaticExecutor) {
    let hooks = Hooks::default();
    let builder = hooks.on(Builder::new().workers(workers));
    (hooks, builder.try_build_static().unwrap())
}

/// Runs `count` tasks that wait for each other, so that as many workers have to run them.
fn see_workers(executor: &Executor<'static>, count: usize) {
    let barrier = Arc::new(Barrier::new(count));
    let mut tasks = Vec::new();
    let futures = (0..count).map(|_| {
        let barrier = Arc::clone(&barrier);
        async move {
            barrier.wait();
            current().unwrap().worker()
        }
    });
    executor.spawn_many(futures, &mut tasks);
    let workers: HashSet<_> = tasks.into_iter().map(block_on).collect();
    assert_eq!(workers.len(), count);
}

#[test]
fn every_size_works() {
    on_own_thread(|| {
        for workers in [0, 1, 2, 33, 65, 128] {
            let hooks = Hooks::default();
            let executor = hooks.on(Builder::new().workers(workers)).build();
            assert_eq!(executor.workers(), workers);
            see_workers_or_run(&executor, workers);
            drop(executor);
            assert_eq!((hooks.starts(), hooks.stops()), (workers, workers));
        }
    });
}

fn see_workers_or_run(executor: &Executor<'static>, workers: usize) {
    if workers == 0 {
        assert_eq!(block_on(executor.spawn(async { 1 })), 1);
    } else {
        see_workers(executor, workers);
    }
}

#[test]
fn an_executor_grows_and_shrinks() {
    // Alone: a waiting thread of another test would drive the pool, too, while it has no workers.
    in_own_process("an_executor_grows_and_shrinks", || {
        let hooks = Hooks::default();
        let executor = hooks.on(Builder::new().workers(1)).build();
        // More workers than the pool first had room for.
        for workers in [3, 40, 2, 128, 1, 0, 5] {
            executor.set_workers(workers).unwrap();
            assert_eq!(executor.workers(), workers);
            see_workers_or_run(&executor, workers);
        }
        drop(executor);
        assert_eq!(hooks.starts(), hooks.stops());
        assert!(hooks.starts() >= 128);
    });
}

/// An executor without threads gets some, also one that sits in a static.
#[test]
fn a_bare_executor_gets_workers() {
    static EXECUTOR: StaticExecutor = StaticExecutor::new();
    on_own_thread(|| {
        let task = EXECUTOR.spawn(async { current().unwrap().is_driver() });
        EXECUTOR.set_workers(2).unwrap();
        assert!(!block_on(task));
        EXECUTOR.shutdown(Shutdown::RunQueued, None).unwrap();

        let executor = Executor::new();
        executor.set_workers(1).unwrap();
        assert!(!block_on(
            executor.spawn(async { current().unwrap().is_driver() })
        ));
    });
}

/// From then on threads that wait run its tasks, also one that waited before.
#[test]
fn a_bare_executor_is_given_no_workers() {
    static EXECUTOR: StaticExecutor = StaticExecutor::new();
    on_own_thread(|| {
        let (future, wake) = signal();
        let task = EXECUTOR.spawn(async move {
            wake.set();
            1
        });
        let waits = thread::spawn(move || block_on(future));
        EXECUTOR.set_workers(0).unwrap();
        waits.join().unwrap();
        assert_eq!(block_on(task), 1);
        assert_eq!(block_on(EXECUTOR.spawn(async { 2 })), 2);
    });
}

/// No task is lost and none hangs while workers come and go at random, also down to none and from within tasks.
#[test]
fn random_resizes_lose_nothing() {
    on_own_thread(|| {
        let hooks = Hooks::default();
        let executor = Arc::new(hooks.on(Builder::new().workers(2)).build());
        let ran = Arc::new(AtomicUsize::new(0));
        let spawned = AtomicUsize::new(0);
        let stop = Arc::new(AtomicUsize::new(0));
        thread::scope(|s| {
            for seed in [1_u32, 77] {
                let (executor, stop) = (Arc::clone(&executor), Arc::clone(&stop));
                s.spawn(move || {
                    let mut random = seed;
                    while stop.load(Ordering::Relaxed) == 0 {
                        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        executor.set_workers((random >> 16) as usize % 6).unwrap();
                        thread::sleep(Duration::from_micros(u64::from(random >> 20) % 500));
                    }
                });
            }
            let spawners: Vec<_> = (0..2)
                .map(|_| {
                    s.spawn(|| {
                        for round in 0..300 {
                            let tasks: Vec<_> = (0..10)
                                .map(|i| {
                                    let ran = Arc::clone(&ran);
                                    let weak = Arc::downgrade(&executor);
                                    spawned.fetch_add(1, Ordering::Relaxed);
                                    executor.spawn(async move {
                                        Yields(i % 3).await;
                                        if round % 50 == 0 && i == 7 {
                                            // By a task, which may run on the very worker that is to end.
                                            weak.upgrade().unwrap().set_workers(3).unwrap();
                                        }
                                        ran.fetch_add(1, Ordering::Relaxed);
                                    })
                                })
                                .collect();
                            // Those that resize the pool are awaited: a waiting thread of another test may run them, long after.
                            if round % 3 == 0 && round % 50 != 0 {
                                tasks.into_iter().for_each(terrace_executor::Task::detach);
                            } else {
                                tasks
                                    .into_iter()
                                    .for_each(|task| block_on(executor.run(task)));
                            }
                        }
                    })
                })
                .collect();
            for spawner in spawners {
                spawner.join().unwrap();
            }
            stop.store(1, Ordering::Relaxed);
        });
        executor.set_workers(2).unwrap();
        executor.shutdown(Shutdown::RunQueued, None).unwrap();
        while !executor.is_empty() {
            // While there were no workers, waiting threads of other tests ran tasks; they may still run the last ones.
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(ran.load(Ordering::Relaxed), spawned.load(Ordering::Relaxed));
        assert_eq!(hooks.starts(), hooks.stops());
    });
}

/// No broadcast waits for it, and no task can be pinned to it.
#[test]
fn a_worker_that_was_asked_to_end_takes_no_part() {
    on_own_thread(|| {
        let executor = Builder::new().workers(2).build();
        let ((begins, begun), (release, released)) = (channel(), channel::<()>());
        let blocks = executor.spawner().spawn_work_on(1, async move {
            begins.send(()).unwrap();
            released.recv().unwrap();
        });
        begun.recv().unwrap();
        executor.set_workers(1).unwrap();
        let parts = executor.broadcast(|part| (part.index, part.participants));
        assert_eq!(parts, [(0, 1)]);
        let missing = text_of(|| executor.spawner().spawn_work_on(1, async {}));
        assert!(missing.contains("there is no worker 1"), "{missing}");
        release.send(()).unwrap();
        block_on(blocks);
    });
}

#[test]
fn shutdown_drains_joins_and_can_be_undone() {
    on_own_thread(|| {
        let (hooks, executor) = counted(3);
        for round in 1..=3 {
            let (future, wake) = signal();
            let waits = executor.spawn(future);
            let tasks: Vec<_> = (0..500).map(|i| executor.spawn(Yields(i % 5))).collect();
            executor.shutdown(Shutdown::RunQueued, None).unwrap();
            assert_eq!((hooks.starts(), hooks.stops()), (3 * round, 3 * round));
            assert!(tasks.iter().all(terrace_executor::Task::is_finished));
            assert!(!waits.is_finished());
            wake.set();
            executor.set_workers(3).unwrap();
            block_on(waits);
        }
        executor.shutdown(Shutdown::RunQueued, None).unwrap();
        assert!(executor.is_empty());
    });
}

#[test]
fn shutdown_cancels_what_is_queued() {
    on_own_thread(|| {
        let executor = Builder::new().workers(1).try_build_static().unwrap();
        let (started, wait) = channel();
        let (release, blocked) = channel::<()>();
        let blocking = executor.spawn(async move {
            started.send(()).unwrap();
            blocked.recv().unwrap();
        });
        wait.recv().unwrap();
        let queued: Vec<_> = (0..10).map(|_| executor.spawn(async {})).collect();
        let late = executor
            .shutdown(Shutdown::DropQueued, Some(Duration::from_millis(20)))
            .expect_err("a task blocks the only worker");
        assert_eq!(late.threads(), 1);
        release.send(()).unwrap();
        executor.shutdown(Shutdown::DropQueued, None).unwrap();
        assert!(blocking.is_finished());
        for task in queued {
            assert_eq!(block_on(task.fallible()), None);
        }
        assert!(executor.is_empty());
    });
}

/// A drain that came too late is over when the executor gets workers again: these end after the poll that they are in.
#[test]
fn workers_end_after_a_drain_that_failed() {
    on_own_thread(|| {
        let (hooks, executor) = counted(2);
        for _ in 0..2 {
            executor.spawn(Yields(u32::MAX)).detach();
        }
        executor
            .shutdown(Shutdown::RunQueued, Some(Duration::from_millis(20)))
            .expect_err("the tasks are queued again and again");
        executor.set_workers(2).unwrap();
        executor.set_workers(1).unwrap();
        while hooks.starts() - hooks.stops() != 1 {
            thread::yield_now();
        }
        executor.shutdown(Shutdown::DropQueued, None).unwrap();
        assert_eq!(hooks.starts(), hooks.stops());
    });
}

/// A task may end the threads of its own executor.
#[test]
fn shutdown_from_a_task() {
    on_own_thread(|| {
        let (hooks, executor) = counted(2);
        block_on(executor.spawn(async move {
            executor.shutdown(Shutdown::RunQueued, None).unwrap();
        }));
        executor.shutdown(Shutdown::RunQueued, None).unwrap();
        assert_eq!((hooks.starts(), hooks.stops()), (2, 2));
    });
}

/// Starts equal exits also where tasks and hooks panic.
#[test]
fn hooks_run_in_pairs_whatever_panics() {
    on_own_thread(|| {
        let hooks = Hooks::default();
        let counted = hooks.clone();
        let executor = Builder::new()
            .workers(4)
            .on_thread_start(move || {
                let starts = counted.0[0].fetch_add(1, Ordering::Relaxed);
                assert!(starts % 2 == 0, "a hook that panics");
            })
            .on_thread_stop({
                let counted = hooks.clone();
                move || {
                    counted.0[1].fetch_add(1, Ordering::Relaxed);
                }
            })
            .build();
        for _ in 0..20 {
            executor.spawn(async { panic!("in a task") }).detach();
        }
        executor.set_workers(1).unwrap();
        executor.set_workers(6).unwrap();
        assert_eq!(block_on(executor.spawn(async { 1 })), 1);
        drop(executor);
        assert_eq!(hooks.starts(), hooks.stops());
        assert!(hooks.starts() >= 6);
    });
}
