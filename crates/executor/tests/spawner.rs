//! Spawning from inside: by a weak handle, and on the executor that polls the caller.

use std::future::{pending, poll_fn};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::task::Poll;
use std::thread;

use terrace_executor::{
    Builder, Current, Executor, Lane, Spawner, TaskGroup, TaskSet, block_on, current,
};
use terrace_testing::{Drops, Random, Yields, text_of, watchdog};

/// A set or a group in a task spawns by a handle, as a task cannot borrow its executor: onto the executor, or onto one thread.
#[test]
fn sets_and_groups_in_tasks_spawn_by_handles() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(2).build();
    let pinned = executor.worker_spawners().swap_remove(1);
    let (ids, numbers) = block_on(executor.spawn(async move {
        let mut set = TaskSet::new(pinned);
        for _ in 0..4 {
            set.spawn(async { thread::current().id() });
            set.spawn_eager(async { thread::current().id() });
        }
        let ids = set.join_all().await.unwrap();
        let mut group = TaskGroup::<_, u32, ()>::new(Current::spawner().unwrap());
        for n in 0..4 {
            group.spawn(async move { Ok(n) });
            group.spawn_eager(async move { Ok(n + 10) });
        }
        (ids, group.join_all().await)
    }));
    let there = block_on(executor.worker_spawners()[1].spawn(async { thread::current().id() }));
    assert_eq!(ids, [there; 8]);
    assert_eq!(numbers, Ok(vec![0, 10, 1, 11, 2, 12, 3, 13]));
}

/// The task never ends, and keeps a spawner of its own executor. The drop of the executor drops it all the same.
#[test]
fn a_task_that_keeps_a_spawner_keeps_no_executor() {
    let _watchdog = watchdog();
    let drops = Arc::new(());
    for workers in [0, 1, 3] {
        let executor = Builder::new().workers(workers).build();
        let (spawner, kept) = (executor.spawner(), Arc::clone(&drops));
        let (polled, polls) = channel();
        executor
            .spawn(async move {
                let _kept = (&spawner, kept);
                polled.send(()).unwrap();
                pending::<()>().await;
            })
            .detach();
        // Without workers a waiting thread of another test may be faster.
        while polls.try_recv().is_err() {
            if workers > 0 || !executor.try_tick() {
                thread::yield_now();
            }
        }
        drop(executor);
        if workers == 0 {
            // The thread of another test that was in the middle of the task drops it.
            while Arc::strong_count(&drops) > 1 {
                thread::yield_now();
            }
        }
        assert_eq!(Arc::strong_count(&drops), 1);
    }
}

/// Each kind of spawn works while the executor is there, and drops its future after that.
#[test]
fn a_spawn_after_the_end_drops_the_future() {
    let _watchdog = watchdog();
    for workers in [0, 2] {
        let executor = Builder::new().workers(workers).build();
        let spawner = executor.spawner();
        let all = |spawner: &Spawner, kept: &Arc<()>| {
            let future = || {
                let kept = Arc::clone(kept);
                async move { Arc::strong_count(&kept) > 0 }
            };
            let large = {
                let (kept, block) = (Arc::clone(kept), [1u8; 40_000]);
                async move { Arc::strong_count(&kept) > 0 && block[7] == 1 }
            };
            [
                spawner.spawn(future()),
                spawner.spawn(large),
                spawner.spawn_eager(future()),
                spawner.spawn_on(Lane::High, future()),
                spawner.spawn_on(Lane::Normal, future()),
                spawner.spawn_on(Lane::Background, future()),
            ]
        };
        let kept = Arc::new(());
        assert!(!spawner.is_closed());
        for task in all(&spawner, &kept) {
            assert!(block_on(executor.run(task)));
        }
        drop(executor);
        while workers == 0 && !spawner.is_closed() {
            // The thread of another test is at the end of a poll.
            thread::yield_now();
        }
        assert!(spawner.is_closed());
        for task in all(&spawner, &kept) {
            assert_eq!(Arc::strong_count(&kept), 1);
            assert_eq!(block_on(task.fallible()), None);
        }
    }
}

/// Threads spawn while the executor is dropped: each future is dropped, whether it has run or not.
#[test]
fn spawns_beside_the_drop_leave_nothing() {
    let _watchdog = watchdog();
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let workers = random.below(3);
        let executor = Builder::new().workers(workers).build();
        let spawners: Vec<_> = (0..2)
            .map(|_| {
                let spawner = executor.spawner();
                let (count, delay) = (random.below(20), random.below(200));
                let lanes = [Lane::Normal, Lane::High, Lane::Background];
                let lane = lanes[random.below(3)];
                thread::spawn(move || {
                    let kept = Arc::new(());
                    for _ in 0..delay {
                        thread::yield_now();
                    }
                    for i in 0..count {
                        let kept = Arc::clone(&kept);
                        let again = spawner.clone();
                        let future = async move {
                            Yields(i as u32 % 3).await;
                            again.spawn(async move { drop(kept) }).detach();
                        };
                        spawner.spawn_on(lane, future).detach();
                    }
                    kept
                })
            })
            .collect();
        for _ in 0..random.below(200) {
            thread::yield_now();
        }
        drop(executor);
        // A spawner may drop what the other has queued, so both end first.
        let kept: Vec<_> = spawners
            .into_iter()
            .map(|spawner| spawner.join().unwrap())
            .collect();
        let all_are_gone = || kept.iter().all(|kept| Arc::strong_count(kept) == 1);
        while workers == 0 && !all_are_gone() {
            // The thread of another test was in the middle of a task, and drops them.
            thread::yield_now();
        }
        assert!(all_are_gone(), "seed {seed}");
    }
}

/// A task finds its own executor, on workers, in `run` futures, and the innermost of nested ones.
#[test]
fn current_spawns_where_the_caller_is_polled() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(1).build();
    let id = executor.spawner().executor();
    let nested = async move {
        assert_eq!(current().unwrap().executor(), id);
        let inner = Executor::new();
        let inner_id = inner.spawner().executor();
        let seen = block_on(
            inner.run(async { Current::spawn(async { current().unwrap().executor() }).await }),
        );
        assert_eq!(seen, inner_id);
        Current::spawn(async { current().unwrap().executor() }).await
    };
    assert_eq!(block_on(executor.spawn(nested)), id);
    assert_eq!(
        Current::spawner().map(|spawner| spawner.executor()),
        None,
        "no executor polls a test"
    );
}

/// Drives an executor without workers until the task is done.
type Drive = fn(Arc<Executor<'static>>, terrace_executor::Task<bool>) -> bool;

/// A task that says whether it is polled as one of its own executor, and spawns there.
async fn is_at_home(home: terrace_executor::ExecutorId) -> bool {
    let here = || current().is_some_and(|current| current.executor() == home);
    let before = here();
    let task = Current::spawner().map(|spawner| (spawner.executor(), spawner.spawn(async { 5 })));
    let Some((executor, task)) = task else {
        return false;
    };
    let spawned = Current::spawn(async move { current().map(|current| current.executor()) });
    let ends = task.await == 5 && spawned.await == Some(home);
    before && executor == home && ends && here()
}

#[test]
fn current_names_the_tasks_own_executor_wherever_it_is_polled() {
    let _watchdog = watchdog();
    let spawn = |executor: &Arc<Executor<'static>>| executor.spawn(is_at_home(executor.id()));
    let pool = |workers| Arc::new(Builder::new().workers(workers).build());
    let other = pool(1);
    // A worker; a thread that waits for a pool without workers; a worker of another pool that does.
    assert!(block_on(spawn(&pool(1))));
    assert!(block_on(spawn(&pool(0))));
    let threadless = pool(0);
    let task = spawn(&threadless);
    assert!(block_on(other.spawn(async { block_on(task) })));
    // `run`, `tick` and `try_tick`, on a plain thread, in a `run` of another executor, and on a worker.
    let drives: [Drive; 3] = [
        |own, task| block_on(own.run(task)),
        |own, task| {
            while !task.is_finished() {
                block_on(own.tick());
            }
            block_on(task)
        },
        |own, task| {
            while !task.is_finished() {
                own.try_tick();
            }
            block_on(task)
        },
    ];
    for drive in drives {
        for lane in [Lane::Normal, Lane::High, Lane::Background] {
            let executor = || {
                let own = Arc::new(Executor::new());
                let task = own.spawn_on(lane, is_at_home(own.id()));
                (own, task)
            };
            let (own, task) = executor();
            assert!(drive(own, task), "{lane:?}");
            let (own, task) = executor();
            assert!(block_on(other.run(async { drive(own, task) })));
            let (own, task) = executor();
            assert!(block_on(other.spawn(async move { drive(own, task) })));
        }
    }
    // An eager child, on a plain thread and in a task of another pool.
    let own = pool(1);
    assert!(block_on(own.spawn_eager(is_at_home(own.id()))));
    let (inner, home) = (Arc::clone(&own), own.id());
    assert!(block_on(other.spawn(async move {
        inner.spawn_eager(is_at_home(home)).await
    })));
    assert!(current().is_none());
}

#[test]
fn current_spawns_tasks_that_stay() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(3).build();
    for _ in 0..20 {
        let task = executor.spawn(async {
            let here = thread::current().id();
            let task = Current::spawn_local(async move {
                let value = Rc::new(5);
                Yields(3).await;
                (*value, thread::current().id())
            });
            // The caller may move: only the pinned task stays.
            let (value, there) = task.await;
            value == 5 && there == here
        });
        assert!(block_on(task));
    }
}

/// Outside of an executor the panic says what to do, at the caller's line.
#[test]
fn current_panics_outside() {
    let spawned = text_of(|| Current::spawn(async {}).detach());
    assert!(spawned.contains("Executor::spawner"), "{spawned}");
    let local = text_of(|| Current::spawn_local(async {}).detach());
    assert!(local.contains("LocalExecutor"), "{local}");
    let executor = Executor::new();
    let local = text_of(|| {
        block_on(executor.run(async { Current::spawn_local(async {}).detach() }));
    });
    assert!(local.contains("LocalExecutor"), "{local}");
}

/// A task that a spawner has queued is one of the executor's: the drop finds it before its first poll.
#[test]
fn the_drop_finds_what_a_spawner_queued() {
    let _watchdog = watchdog();
    let drops = Drops::new();
    let executor = Executor::new();
    let spawner = executor.spawner();
    let task = spawner.spawn(drops.never());
    assert!(!executor.is_empty());
    drop(executor);
    assert_eq!(drops.count(), 1);
    assert_eq!(block_on(task.fallible()), None);
}

/// A spawn for a worker whose thread has not begun yet waits for it. It runs no other task in that wait: the caller may hold a lock that one
/// wants.
#[test]
fn a_spawn_runs_no_task_of_its_caller() {
    let _watchdog = watchdog();
    let in_spawn = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&in_spawn);
    let driven = Builder::new().workers(0).build();
    let caller = thread::current().id();
    // Any wait that runs tasks polls this one, also those of other tests.
    let task = driven.spawn(poll_fn(move |context| {
        assert!(
            !seen.load(Ordering::SeqCst) || thread::current().id() != caller,
            "a task in the middle of a spawn"
        );
        context.waker().wake_by_ref();
        Poll::<()>::Pending
    }));
    for _ in 0..100 {
        let executor = Builder::new().workers(1).build();
        in_spawn.store(true, Ordering::SeqCst);
        executor.spawner().spawn_work_on(0, || {});
        in_spawn.store(false, Ordering::SeqCst);
    }
    assert!(!task.is_finished(), "it has panicked");
}
