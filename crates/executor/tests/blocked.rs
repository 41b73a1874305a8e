//! Workers block their threads until a queued task of their own pool has run. Other threads wait in a scope, or other
//! workers in `block_on`. Such waiters adopt no job of others, so a spare worker has to come.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use terrace_executor::scope::{OpenScope, ScopeKind, To};
use terrace_executor::{Builder, Executor, Lane, Shutdown, Task, block_on};
use terrace_testing::{Yields, least, on_own_thread, signal};

/// How a worker queues the task that it then blocks on.
type Queue = fn(&Arc<Executor<'static>>, Sender<u32>);

const QUEUES: [(&str, Queue); 4] = [
    ("its own ring", |executor, sender| {
        executor
            .spawn(async move { sender.send(1).unwrap() })
            .detach();
    }),
    ("the high lane", |executor, sender| {
        executor
            .spawn_on(Lane::High, async move { sender.send(1).unwrap() })
            .detach();
    }),
    ("another thread's push", |executor, sender| {
        let executor = Arc::clone(executor);
        std::thread::spawn(move || {
            executor
                .spawn(async move { sender.send(1).unwrap() })
                .detach();
        })
        .join()
        .unwrap();
    }),
    ("its slot", |executor, sender| {
        let (future, wake) = signal();
        // Pending before it is woken.
        let task = executor.spawn(async move {
            future.await;
            sender.send(1).unwrap();
        });
        task.detach();
        wake.set();
    }),
];

/// Blocks the calling worker until the task that it has queued has run.
fn blocks(executor: &Arc<Executor<'static>>, queue: Queue) -> u32 {
    let (sender, receiver): (Sender<u32>, Receiver<u32>) = channel();
    queue(executor, sender);
    receiver.recv().unwrap()
}

/// A task that blocks the worker that runs it.
fn spawn_blocking(executor: &Arc<Executor<'static>>, queue: Queue) -> Task<u32> {
    let inner = Arc::clone(executor);
    executor.spawn(async move { blocks(&inner, queue) })
}

fn pool(workers: usize) -> Arc<Executor<'static>> {
    Arc::new(Builder::new().workers(workers).build())
}

/// Waits for `task` in a scope of `executor`.
fn await_in_scope(executor: &Executor<'static>, task: Task<u32>) -> u32 {
    let mut output = 0;
    in_scope(executor, async { output = task.await });
    output
}

/// Runs `child` as the only child of a scope that is open on `executor`.
fn in_scope(executor: &Executor<'static>, child: impl Future<Output = ()> + Send) {
    let scope = OpenScope::open(executor, ScopeKind::of::<()>());
    // SAFETY: the scope is waited for below, before anything that the child borrows ends.
    unsafe { scope.handle().spawn(child) };
    assert!(scope.wait(&[]).is_none());
}

#[test]
fn a_worker_blocks_while_a_thread_waits_in_a_scope() {
    on_own_thread(|| {
        for (name, queue) in QUEUES {
            for workers in [1, 2] {
                let executor = pool(workers);
                // All workers block, and the scope waits for them.
                let tasks: Vec<_> = (0..workers)
                    .map(|_| spawn_blocking(&executor, queue))
                    .collect();
                let mut sum = 0;
                in_scope(&executor, async {
                    for task in tasks {
                        sum += task.await;
                    }
                });
                assert_eq!(sum as usize, workers, "{name}");
            }
        }
    });
}

#[test]
fn the_first_worker_of_an_executor_blocks() {
    on_own_thread(|| {
        for (name, queue) in QUEUES {
            let executor = Arc::new(Executor::new());
            executor.set_workers(1).unwrap();
            let task = spawn_blocking(&executor, queue);
            assert_eq!(await_in_scope(&executor, task), 1, "{name}");
        }
    });
}

#[test]
fn a_worker_blocks_while_its_peer_waits_in_block_on() {
    on_own_thread(|| {
        for (name, queue) in QUEUES {
            let executor = pool(2);
            let inner = Arc::clone(&executor);
            let outer = executor.spawn(async move { block_on(spawn_blocking(&inner, queue)) });
            assert_eq!(block_on(outer), 1, "{name}");
        }
    });
}

/// A program that holds its only worker finds what it has queued where it was.
#[test]
fn a_worker_that_is_held_gets_no_spare() {
    on_own_thread(|| {
        let executor = Builder::new().workers(1).build();
        let (release, held) = channel::<()>();
        let (holds, begun) = channel();
        let holder = executor.spawn(async move {
            holds.send(()).unwrap();
            held.recv().unwrap();
        });
        begun.recv().unwrap();
        let tasks: Vec<_> = (0..10).map(|_| executor.spawn(async {})).collect();
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(!tasks.iter().any(Task::is_finished));
        release.send(()).unwrap();
        tasks.into_iter().for_each(block_on);
        block_on(holder);
    });
}

#[test]
fn a_worker_blocks_while_its_peer_waits_in_a_scope() {
    on_own_thread(|| {
        for (name, queue) in QUEUES {
            let executor = pool(2);
            let inner = Arc::clone(&executor);
            let outer = executor.spawn(async move {
                let task = spawn_blocking(&inner, queue);
                await_in_scope(&inner, task)
            });
            assert_eq!(block_on(outer), 1, "{name}");
        }
    });
}

#[test]
fn a_worker_blocks_while_another_pools_worker_waits_in_a_scope() {
    on_own_thread(|| {
        for (name, queue) in QUEUES {
            let executor = pool(1);
            let other = pool(1);
            let task = spawn_blocking(&executor, queue);
            let there = Arc::clone(&executor);
            let outer = other.spawn(async move { await_in_scope(&there, task) });
            assert_eq!(block_on(outer), 1, "{name}");
        }
    });
}

/// Each of many tasks blocks its worker on the next one.
#[test]
fn many_workers_block_in_a_chain() {
    fn link(executor: &Arc<Executor<'static>>, left: u32) -> u32 {
        if left == 0 {
            return 0;
        }
        let (sender, receiver) = channel();
        let inner = Arc::clone(executor);
        executor
            .spawn(async move { sender.send(link(&inner, left - 1)).unwrap() })
            .detach();
        1 + receiver.recv().unwrap()
    }
    on_own_thread(|| {
        for workers in [1, 2, 3] {
            let executor = pool(workers);
            let inner = Arc::clone(&executor);
            let task = executor.spawn(async move { link(&inner, 20) });
            assert_eq!(await_in_scope(&executor, task), 20);
        }
    });
}

async fn meet(barrier: &Barrier) {
    let _leader = barrier.wait();
}

/// A child of a scope drains its pool, while a sibling lies in the list of the scope.
#[test]
fn a_drain_in_a_child_ends() {
    on_own_thread(|| {
        let executor = Arc::new(Builder::new().workers(2).build());
        let inner = Arc::clone(&executor);
        let task = executor.spawn(async move {
            // Children count as short from now on, so that workers leave them to the thread that waits.
            for _ in 0..200 {
                let scope = OpenScope::open(&inner, ScopeKind::of::<()>());
                for _ in 0..50 {
                    // SAFETY: the child borrows nothing.
                    unsafe { scope.handle().spawn(async {}) };
                }
                assert!(scope.wait(&[]).is_none());
            }
            let scope = OpenScope::open(&inner, ScopeKind::of::<()>());
            // SAFETY: the child borrows nothing.
            unsafe { scope.handle().spawn(async {}) };
            // It must not run on the other worker. This thread waits for that worker's end, and that worker would wait
            // for the end of this scope.
            // SAFETY: the scope is waited for below, before the executor ends.
            unsafe {
                let inner = &inner;
                scope.handle().send(To::Owner, async move {
                    inner.shutdown(Shutdown::RunQueued, None).expect("no limit");
                });
            }
            assert!(scope.wait(&[]).is_none());
        });
        block_on(task);
    });
}

/// A worker waits in a shutdown of its pool, while the other one blocks for a task that it has queued since.
#[test]
fn a_drain_beside_a_blocked_worker_ends() {
    on_own_thread(|| {
        let executor = Arc::new(Builder::new().workers(2).build());
        let meet = Arc::new(Barrier::new(2));
        let (inner, at) = (Arc::clone(&executor), Arc::clone(&meet));
        let drains = executor.spawn(async move {
            at.wait();
            inner.shutdown(Shutdown::RunQueued, None).unwrap();
        });
        let inner = Arc::clone(&executor);
        let blocks = executor.spawn(async move {
            meet.wait();
            while inner.workers() > 0 {
                std::thread::yield_now();
            }
            let (sender, receiver) = channel();
            inner.spawn(async move { sender.send(1).unwrap() }).detach();
            receiver.recv().unwrap()
        });
        assert_eq!(block_on(blocks), 1);
        block_on(drains);
    });
}

/// The watch starts no spare for what a shutdown drops: the spare would run a task without end, and the shutdown would wait for the spare.
#[test]
fn a_shutdown_beside_a_blocked_worker_runs_nothing_queued() {
    on_own_thread(|| {
        let executor = Arc::new(Builder::new().workers(2).build());
        let meet = Arc::new(Barrier::new(3));
        let ((waits, done), at) = (signal(), Arc::clone(&meet));
        let waiter = executor.spawn(async move {
            at.wait();
            block_on(waits);
        });
        let (inner, at) = (Arc::clone(&executor), Arc::clone(&meet));
        let blocks = executor.spawn(async move {
            at.wait();
            while inner.workers() > 0 {
                std::thread::yield_now();
            }
            // Time for many looks of the watch.
            std::thread::sleep(Duration::from_millis(100));
            done.set();
        });
        meet.wait();
        let endless = executor.spawn(Yields(u32::MAX));
        executor.shutdown(Shutdown::DropQueued, None).unwrap();
        block_on(async {
            waiter.await;
            blocks.await;
        });
        drop(endless);
    });
}

/// The children of a scope wait for each other on their threads: the waiter and all workers have to take one each.
#[test]
fn children_meet_at_a_barrier() {
    on_own_thread(|| {
        for workers in [1, 2, 3] {
            let executor = Builder::new().workers(workers).build();
            for _ in 0..100 {
                let barrier = Barrier::new(workers + 1);
                let scope = OpenScope::open(&executor, ScopeKind::of::<()>());
                for _ in 0..=workers {
                    let barrier = &barrier;
                    // SAFETY: the scope is waited for below, before the barrier ends.
                    unsafe { scope.handle().spawn(meet(barrier)) };
                }
                assert!(scope.wait(&[]).is_none());
            }
        }
    });
}

/// More children than there are threads, all of which have to be in a child at the same time.
#[test]
fn more_children_than_threads_meet_at_a_barrier() {
    on_own_thread(|| {
        let executor = Builder::new().workers(2).build();
        let barrier = Barrier::new(8);
        let scope = OpenScope::open(&executor, ScopeKind::of::<()>());
        for _ in 0..8 {
            let barrier = &barrier;
            // SAFETY: the scope is waited for below, before the barrier ends.
            unsafe { scope.handle().spawn(meet(barrier)) };
        }
        assert!(scope.wait(&[]).is_none());
    });
}

/// The watch leaves workers that compute alone: no spare comes for the tasks queued behind them.
#[cfg(target_os = "linux")]
#[test]
fn a_worker_that_computes_gets_no_spare() {
    /// How many threads a pool has started, after its one worker has computed.
    fn threads_started() -> usize {
        let threads = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let counter = Arc::clone(&threads);
        let executor = Builder::new()
            .workers(1)
            .on_thread_start(move || {
                counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            })
            .build();
        let tasks: Vec<_> = (0..40)
            .map(|_| {
                executor.spawn(async {
                    let clock = terrace_sync::time::CpuClock::of_this_thread().unwrap();
                    let end = clock.read().unwrap() + std::time::Duration::from_millis(4);
                    while clock.read().unwrap() < end {}
                })
            })
            .collect();
        in_scope(&executor, async {
            for task in tasks {
                task.await;
            }
        });
        threads.load(std::sync::atomic::Ordering::Relaxed)
    }

    on_own_thread(|| {
        // Other programs may keep the worker from its processor for two looks, and each such pair of looks starts a spare. Without the
        // clock, the watch starts one every few ms.
        let started = least(threads_started);
        assert!(started <= 8, "{started} threads");
    });
}

/// Another thread keeps pushing, which is no progress.
#[test]
fn pushes_do_not_hide_a_blocked_worker() {
    on_own_thread(|| {
        let executor = Arc::new(Builder::new().workers(1).build());
        let inner = Arc::clone(&executor);
        let task = executor.spawn(async move { blocks(&inner, QUEUES[0].1) });
        let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let pusher = {
            let (executor, stop) = (Arc::clone(&executor), Arc::clone(&stop));
            std::thread::spawn(move || {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    executor.spawn(async {}).detach();
                    std::thread::sleep(std::time::Duration::from_micros(500));
                }
            })
        };
        let mut result = 0;
        in_scope(&executor, async { result = task.await });
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        pusher.join().unwrap();
        assert_eq!(result, 1);
    });
}

/// A spare whose start hook blocks is one spare, not the first of many.
#[test]
fn a_start_hook_that_blocks_is_waited_for() {
    /// How many threads a pool has started, after its one worker was blocked on a task that a spare runs.
    fn threads_started() -> usize {
        let started = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let counter = Arc::clone(&started);
        let executor = Arc::new(
            Builder::new()
                .workers(1)
                .on_thread_start(move || {
                    if counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed) > 0 {
                        std::thread::sleep(std::time::Duration::from_millis(200));
                    }
                })
                .build(),
        );
        // The worker has come to its loop.
        block_on(executor.spawn(async {}));
        let task = spawn_blocking(&executor, QUEUES[0].1);
        assert_eq!(await_in_scope(&executor, task), 1);
        started.load(std::sync::atomic::Ordering::Relaxed)
    }

    // A spare that stands still between its hook and the task may get one more.
    on_own_thread(|| assert_eq!(least(threads_started), 2));
}

/// A name closure waits for its own executor, also when it names a spare for the watch.
#[test]
fn a_name_that_waits_does_not_hold_up_the_watch() {
    on_own_thread(|| {
        let executor = Arc::new(std::sync::OnceLock::<Executor<'static>>::new());
        let named = Arc::clone(&executor);
        let built = Builder::new()
            .workers(1)
            .thread_name(move |index| {
                if let Some(executor) = named.get() {
                    block_on(executor.spawn(async {}));
                }
                format!("named {index}")
            })
            .build();
        executor.set(built).unwrap();
        let other = Arc::new(Builder::new().workers(1).build());
        // The first pool is stuck in its name closure; the watch helps the second all the same.
        let (release, held) = channel::<()>();
        let stuck = executor
            .get()
            .unwrap()
            .spawn(async move { held.recv().unwrap() });
        let first = Arc::clone(&executor);
        let waits = std::thread::spawn(move || {
            let executor = first.get().unwrap();
            let queued = executor.spawn(async {});
            in_scope(executor, queued);
        });
        let inner = Arc::clone(&other);
        let task = other.spawn(async move { blocks(&inner, QUEUES[0].1) });
        let mut result = 0;
        in_scope(&other, async { result = task.await });
        assert_eq!(result, 1);
        release.send(()).unwrap();
        waits.join().unwrap();
        block_on(stuck);
    });
}
