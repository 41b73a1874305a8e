//! Lanes: tasks that go first, and tasks that may not take every worker.

use std::future::{Future, pending};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

use terrace_executor::{Builder, Executor, Lane, block_on, current};
use terrace_testing::{Yields, in_own_process, on_own_thread, signal, watchdog};

const LIMIT: Duration = Duration::from_secs(30);

/// Ticks alone drive a pool: a task that wakes itself again and again starves no background task.
#[test]
fn ticks_come_to_the_background() {
    let _watchdog = watchdog();
    let executor = Executor::new();
    executor.spawn(Yields(u32::MAX)).detach();
    let task = executor.spawn_on(Lane::Background, async {});
    let ticks = (0..10_000).take_while(|_| executor.try_tick() && !task.is_finished());
    assert!(ticks.count() < 10_000, "the background task is starved");
}

#[test]
fn lanes_run_in_order() {
    let _watchdog = watchdog();
    let executor = Executor::new();
    let order = Arc::new(Mutex::new(Vec::new()));
    let lanes = [Lane::Background, Lane::Normal, Lane::High];
    let tasks: Vec<_> = lanes
        .iter()
        .flat_map(|&lane| [lane; 3])
        .map(|lane| {
            let order = Arc::clone(&order);
            executor.spawn_on(lane, async move {
                Yields(1).await;
                order.lock().unwrap().push(lane);
            })
        })
        .collect();
    while executor.try_tick() {}
    assert!(tasks.iter().all(terrace_executor::Task::is_finished));
    let expected: Vec<_> = lanes.iter().rev().flat_map(|&lane| [lane; 3]).collect();
    assert_eq!(*order.lock().unwrap(), expected);
}

/// The order of lanes also holds after ticks of a pool that had one lane until then.
#[test]
fn a_high_task_goes_before_tasks_of_earlier_ticks() {
    let _watchdog = watchdog();
    let executor = Executor::new();
    let order = Arc::new(Mutex::new(Vec::new()));
    let spawn = |lane, name: &'static str| {
        let order = Arc::clone(&order);
        let task = executor.spawn_on(lane, async move { order.lock().unwrap().push(name) });
        task.detach();
    };
    spawn(Lane::Background, "background");
    for name in ["first", "second", "third"] {
        spawn(Lane::Normal, name);
    }
    assert!(executor.try_tick());
    spawn(Lane::High, "high");
    while executor.try_tick() {}
    let expected = ["first", "high", "second", "third", "background"];
    assert_eq!(*order.lock().unwrap(), expected);
}

/// Also before what its worker has at hand, in a round that has begun.
#[test]
fn a_high_task_goes_before_the_tasks_at_hand() {
    on_own_thread(|| {
        let executor = Arc::new(Builder::new().workers(1).build());
        let order = Arc::new(Mutex::new(Vec::new()));
        let (inner, log) = (Arc::clone(&executor), Arc::clone(&order));
        let tasks = executor.spawn(async move {
            let spawn = |name: usize| {
                let (log, own) = (Arc::clone(&log), Arc::clone(&inner));
                let task = async move {
                    log.lock().unwrap().push(name);
                    // The third of eight.
                    (name == 3).then(|| {
                        let high = async move { log.lock().unwrap().push(100) };
                        own.spawn_on(Lane::High, high)
                    })
                };
                inner.spawn(task)
            };
            (1..=8).map(spawn).collect::<Vec<_>>()
        });
        for task in block_on(tasks) {
            block_on(async {
                if let Some(high) = task.await {
                    high.await
                }
            });
        }
        assert_eq!(*order.lock().unwrap(), [1, 2, 3, 100, 4, 5, 6, 7, 8]);
    });
}

/// A background task that has waited counts again. So with one permit another one begins only when it has ended.
#[test]
fn a_background_task_takes_its_permit_back_after_a_wait() {
    on_own_thread(|| {
        let executor = Builder::new().workers(2).build();
        let (future, wake) = signal();
        let ((begins, begun), (go_on, goes_on)) = (channel(), channel());
        let ended = Arc::new(AtomicUsize::new(0));
        let ends = Arc::clone(&ended);
        let first = executor.spawn_on(Lane::Background, async move {
            block_on(future);
            begins.send(()).unwrap();
            goes_on.recv().unwrap();
            ends.store(1, Ordering::Release);
        });
        wake.set();
        begun.recv().unwrap();
        let second = executor.spawn_on(
            Lane::Background,
            async move { ended.load(Ordering::Acquire) },
        );
        // The other worker is free for it.
        block_on(executor.spawn(async {}));
        thread::sleep(Duration::from_millis(5));
        go_on.send(()).unwrap();
        assert_eq!(block_on(second), 1);
        block_on(first);
    });
}

/// Background tasks never take the last worker, and without them the foreground has all.
#[test]
fn background_tasks_leave_a_worker() {
    let _watchdog = watchdog();
    for workers in [2, 3, 5] {
        let executor = Builder::new().workers(workers).build();
        let (started, wait) = channel();
        let barrier = Arc::new(Barrier::new(workers));
        let running = Arc::new(AtomicUsize::new(0));
        let background: Vec<_> = (0..2 * workers)
            .map(|_| {
                let (started, barrier) = (started.clone(), Arc::clone(&barrier));
                let running = Arc::clone(&running);
                executor.spawn_on(Lane::Background, async move {
                    assert_eq!(current().unwrap().lane(), Lane::Background);
                    let others = running.fetch_add(1, Ordering::Relaxed);
                    assert!(others < workers - 1, "all workers run background tasks");
                    started.send(()).unwrap();
                    barrier.wait();
                    running.fetch_sub(1, Ordering::Relaxed);
                })
            })
            .collect();
        for round in 0..2 * workers / (workers - 1) {
            for _ in 0..workers - 1 {
                wait.recv_timeout(LIMIT).expect("permits are used");
            }
            // All permits are taken: the foreground runs nevertheless.
            for i in 0..20 {
                assert_eq!(block_on(executor.spawn(async move { i })), i);
            }
            if round == 0 {
                assert_eq!(current(), None);
            }
            barrier.wait();
        }
        let rest = 2 * workers % (workers - 1);
        for _ in 0..rest {
            wait.recv_timeout(LIMIT).expect("permits were given back");
        }
        if rest > 0 {
            for _ in rest..workers - 1 {
                let barrier = Arc::clone(&barrier);
                executor
                    .spawn(async move {
                        barrier.wait();
                    })
                    .detach();
            }
            barrier.wait();
        }
        background.into_iter().for_each(block_on);
        let all = Arc::new(Barrier::new(workers));
        let foreground: Vec<_> = (0..workers)
            .map(|_| {
                let all = Arc::clone(&all);
                executor.spawn(async move {
                    assert_eq!(current().unwrap().lane(), Lane::Normal);
                    all.wait();
                })
            })
            .collect();
        foreground.into_iter().for_each(block_on);
    }
}

/// A background task that waits for another one gives its permit back until the wait ends.
#[test]
fn background_tasks_may_wait_for_each_other() {
    let _watchdog = watchdog();
    for workers in [1, 2, 3] {
        let executor = Arc::new(Builder::new().workers(workers).build());
        let tasks: Vec<_> = (0..20)
            .map(|i| {
                let weak = Arc::downgrade(&executor);
                executor.spawn_on(Lane::Background, async move {
                    let executor = weak.upgrade().expect("the test waits");
                    let lane = block_on(executor.spawn_on(Lane::Background, async move {
                        Yields(i % 3).await;
                        current().unwrap().lane()
                    }));
                    assert_eq!(lane, Lane::Background);
                    assert_eq!(current().unwrap().lane(), Lane::Background);
                    assert_eq!(
                        block_on(executor.spawn(async { current().unwrap().lane() })),
                        Lane::Normal
                    );
                })
            })
            .collect();
        tasks.into_iter().for_each(block_on);
        assert!(executor.is_empty());
    }
}

/// Endless tasks of one lane do not starve the others, neither on a worker nor on a thread that drives a pool without workers.
#[test]
fn no_lane_starves() {
    let _watchdog = watchdog();
    for (workers, endless) in [Lane::High, Lane::Normal, Lane::Background]
        .into_iter()
        .flat_map(|lane| [(0, lane), (1, lane)])
    {
        let executor = Builder::new().workers(workers).build();
        for _ in 0..2 {
            executor.spawn_on(endless, Yields(u32::MAX)).detach();
        }
        for lane in [Lane::High, Lane::Normal, Lane::Background] {
            let task = executor.spawn_on(lane, async { 7 });
            let (done, wait) = channel();
            thread::scope(|s| {
                s.spawn(move || done.send(block_on(task)).unwrap());
                assert_eq!(
                    wait.recv_timeout(LIMIT),
                    Ok(7),
                    "{lane:?} beside {endless:?}, {workers} workers"
                );
            });
        }
    }
}

/// The high lane is never empty, and the task lies in the ring of the only worker.
#[test]
fn a_full_high_lane_starves_no_task_at_hand() {
    on_own_thread(|| {
        let executor = Arc::new(Builder::new().workers(1).build());
        for _ in 0..2 {
            executor.spawn_on(Lane::High, Yields(u32::MAX)).detach();
        }
        let spawner = executor.spawner();
        let parent = executor.spawn(async move { (spawner.spawn(async { 7 }),) });
        let (child,) = block_on(parent);
        assert_eq!(block_on(child), 7);
    });
}

#[test]
fn lanes_are_emptied_by_a_drop() {
    let _watchdog = watchdog();
    let executor = Executor::new();
    let marker = Arc::new(());
    for lane in [Lane::High, Lane::Normal, Lane::Background] {
        let marker = Arc::clone(&marker);
        executor
            .spawn_on(lane, async move { drop(marker) })
            .detach();
    }
    drop(executor);
    assert_eq!(Arc::strong_count(&marker), 1);
}

/// A background task of `executor` that blocks on another one.
fn blocks_on_another(executor: &Arc<Executor<'static>>) -> terrace_executor::Task<u32> {
    let inner = Arc::clone(executor);
    executor.spawn_on(Lane::Background, async move {
        block_on(inner.spawn_on(Lane::Background, async { 1 })) + 1
    })
}

#[test]
fn a_background_task_blocks_on_another_in_a_pool_without_workers() {
    on_own_thread(|| {
        let executor = Arc::new(Builder::new().workers(0).build());
        assert_eq!(block_on(blocks_on_another(&executor)), 2);
        assert_eq!(block_on(blocks_on_another(&executor)), 2);
    });
}

#[test]
fn a_background_task_blocks_on_another_in_a_tick_beside_a_worker() {
    on_own_thread(|| {
        let executor = Arc::new(Builder::new().workers(1).build());
        // The worker takes nothing until the tick has begun.
        let (begun, wait) = channel();
        let holds = executor.spawn(async move { wait.recv().unwrap() });
        let mut task = blocks_on_another_after(&executor, begun);
        while !task.is_finished() {
            executor.try_tick();
        }
        assert_eq!(task.try_take(), Some(2));
        block_on(holds);
    });
}

/// As [`blocks_on_another`], and sends when it begins.
fn blocks_on_another_after(
    executor: &Arc<Executor<'static>>,
    begun: std::sync::mpsc::Sender<()>,
) -> terrace_executor::Task<u32> {
    let inner = Arc::clone(executor);
    executor.spawn_on(Lane::Background, async move {
        begun.send(()).unwrap();
        block_on(inner.spawn_on(Lane::Background, async { 1 })) + 1
    })
}

/// A background task runs another executor, one of whose tasks blocks on a background task of the first one.
#[test]
fn a_background_task_lends_its_permit_from_within_a_nested_run() {
    on_own_thread(|| {
        for workers in [0, 1, 2] {
            let executor = Arc::new(Builder::new().workers(workers).build());
            let inner = Arc::clone(&executor);
            let task = executor.spawn_on(Lane::Background, async move {
                let other = Executor::new();
                let nested = other
                    .spawn(async { block_on(inner.spawn_on(Lane::Background, async { 1 })) + 1 });
                block_on(other.run(nested)) + 1
            });
            assert_eq!(block_on(task), 3, "{workers} workers");
        }
    });
}

/// A worker of one pool waits, and runs background tasks of another pool without workers. Some of these wait in turn.
/// Afterwards the permits of both pools are as before.
#[test]
fn permits_belong_to_the_pool_whose_task_runs() {
    on_own_thread(|| {
        let with = Arc::new(Builder::new().workers(2).build());
        let without = Arc::new(Builder::new().workers(0).build());
        for _ in 0..3 {
            let (there, here) = (Arc::clone(&without), Arc::clone(&with));
            let outer = with.spawn_on(Lane::Background, async move {
                let id = current().expect("on a worker");
                let tasks: Vec<_> = (0..4)
                    .map(|_| {
                        let here = Arc::clone(&here);
                        there.spawn_on(Lane::Background, async move {
                            assert_ne!(
                                current().map(|current| current.executor()),
                                Some(id.executor())
                            );
                            block_on(here.spawn(async { 1 }))
                        })
                    })
                    .collect();
                let sum: u32 = tasks.into_iter().map(block_on).sum();
                assert_eq!(current(), Some(id));
                sum
            });
            assert_eq!(block_on(outer), 4);
        }
        // Both lanes are alive.
        for executor in [&with, &without] {
            let tasks: Vec<_> = (0..10)
                .map(|number| executor.spawn_on(Lane::Background, async move { number }))
                .collect();
            assert_eq!(tasks.into_iter().map(block_on).sum::<u32>(), 45);
        }
    });
}

/// A background task drives the pool while it waits for another one, in each way that a thread can. It has the only
/// permit, which the thread needs for the task that it runs on top.
#[test]
fn a_background_task_drives_the_pool_for_another() {
    // In a process of its own: the waiting threads of other tests would be further drivers of a pool without workers.
    in_own_process("a_background_task_drives_the_pool_for_another", || {
        for workers in [0, 1, 2] {
            for way in 0..3 {
                if way == 1 && workers == 2 {
                    // The other worker might run the task that the tick waits for.
                    continue;
                }
                let executor = Arc::new(Builder::new().workers(workers).build());
                let own = executor.clone();
                let task = executor.spawn_on(Lane::Background, async move {
                    let other = own.spawn_on(Lane::Background, async { 1 });
                    match way {
                        0 => block_on(own.run(other)),
                        1 => {
                            while !other.is_finished() {
                                block_on(own.tick());
                            }
                            block_on(other)
                        }
                        _ => {
                            while !other.is_finished() {
                                own.try_tick();
                            }
                            block_on(other)
                        }
                    }
                });
                assert_eq!(block_on(task), 1, "{workers} workers, way {way}");
            }
        }
    });
}

/// At the end of a background task its permit is given back, and the next one published. That wakes a `run`, whose waker waits for a
/// background task on the worker's thread.
#[test]
fn a_waker_waits_where_a_permit_is_given_back() {
    struct Waits(Arc<Executor<'static>>, Sender<u32>);
    impl Wake for Waits {
        fn wake(self: Arc<Self>) {
            let seen = block_on(self.0.spawn_on(Lane::Background, async { 3 }));
            self.1.send(seen).unwrap();
        }
    }
    let _watchdog = watchdog();
    let executor = Arc::new(Builder::new().workers(1).build());
    let (sender, seen) = channel();
    let waits = Arc::new(Waits(Arc::clone(&executor), sender));
    let asleep = Arc::new(Mutex::new(None));
    let first = {
        let (executor, waits, asleep) = (executor.clone(), waits.clone(), asleep.clone());
        executor.clone().spawn_on(Lane::Background, async move {
            executor.spawn_on(Lane::Background, async {}).detach();
            let sleeper = thread::spawn(move || {
                let mut run = Box::pin(async move { executor.run(pending::<()>()).await });
                let waker = Waker::from(waits);
                let polled = run.as_mut().poll(&mut Context::from_waker(&waker));
                assert!(polled.is_pending());
                *asleep.lock().unwrap() = Some(run);
            });
            sleeper.join().unwrap();
        })
    };
    block_on(first);
    assert_eq!(seen.recv_timeout(LIMIT), Ok(3));
    drop(asleep.lock().unwrap().take());
}
