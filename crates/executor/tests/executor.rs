//! The executors with workers: with 0, 1, 2 and 5 of them.

use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

use terrace_executor::{Builder, Executor, block_on, current};
use terrace_testing::{Drops, Yields, watchdog};

fn with_each(test: impl Fn(&Executor<'static>)) {
    for workers in [0, 1, 2, 5] {
        test(&Builder::new().workers(workers).build());
    }
}

#[test]
fn tasks_run_and_are_awaited() {
    let _watchdog = watchdog();
    with_each(|executor| {
        let tasks: Vec<_> = (0..500)
            .map(|i| {
                executor.spawn(async move {
                    Yields(i % 3).await;
                    i
                })
            })
            .collect();
        let mut sum = 0;
        for task in tasks {
            sum += block_on(task);
        }
        assert_eq!(sum, 500 * 499 / 2);
    });
}

#[test]
fn a_task_that_wakes_itself_without_end_starves_no_task() {
    let _watchdog = watchdog();
    for workers in [1, 2] {
        let executor = Builder::new().workers(workers).build();
        for _ in 0..workers + 1 {
            executor.spawn(Yields(u32::MAX)).detach();
        }
        for i in 0..100 {
            assert_eq!(block_on(executor.spawn(async move { i })), i);
        }
    }
}

/// A panic reaches its handle alone, and the workers live on.
#[test]
fn panics_stay_in_their_handles() {
    let _watchdog = watchdog();
    let seen = Arc::new(AtomicUsize::new(0));
    let handler = Arc::clone(&seen);
    let executor = Builder::new()
        .workers(2)
        .panic_handler(move |_payload| {
            handler.fetch_add(1, Ordering::Relaxed);
        })
        .build();
    for _ in 0..10 {
        let task = executor.spawn(async { panic!("in the poll") });
        let awaited = thread::scope(|s| s.spawn(|| block_on(task)).join());
        assert!(awaited.is_err());
    }
    assert_eq!(
        seen.load(Ordering::Relaxed),
        0,
        "the handles took the panics"
    );
    for _ in 0..10 {
        executor.spawn(async { panic!("detached") }).detach();
    }
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("in a destructor");
        }
    }
    executor.spawn(async { Bomb }).detach();
    while seen.load(Ordering::Relaxed) < 11 {
        thread::sleep(Duration::from_millis(1));
    }
    let workers: Mutex<Vec<_>> = Mutex::default();
    let workers = Arc::new(workers);
    for _ in 0..2 {
        let workers = Arc::clone(&workers);
        block_on(executor.spawn(async move {
            workers
                .lock()
                .unwrap()
                .push(current().map(|current| current.worker()));
        }));
    }
    assert!(workers.lock().unwrap().iter().all(Option::is_some));
}

#[test]
fn dropping_an_executor_drops_its_tasks_and_joins_its_threads() {
    let _watchdog = watchdog();
    for workers in [0, 1, 2, 5] {
        let dropped = Drops::new();
        let stopped = Arc::new(AtomicUsize::new(0));
        let started = Arc::new(AtomicUsize::new(0));
        let executor = Builder::new()
            .workers(workers)
            .on_thread_start({
                let started = Arc::clone(&started);
                move || {
                    started.fetch_add(1, Ordering::Relaxed);
                }
            })
            .on_thread_stop({
                let stopped = Arc::clone(&stopped);
                move || {
                    stopped.fetch_add(1, Ordering::Relaxed);
                }
            })
            .build();
        let wakers = Arc::new(Mutex::new(Vec::<Waker>::new()));
        for _ in 0..100 {
            let value = dropped.value();
            let wakers = Arc::clone(&wakers);
            executor
                .spawn(async move {
                    let _value = value;
                    poll_fn(|context| {
                        wakers.lock().unwrap().push(context.waker().clone());
                        Poll::<()>::Pending
                    })
                    .await;
                })
                .detach();
        }
        drop(executor);
        // A thread of another test that waits runs tasks of an executor without workers. If it polls one during the drop, it
        // drops the tasks after that poll.
        while workers == 0 && dropped.count() < 100 {
            thread::yield_now();
        }
        assert_eq!(dropped.count(), 100);
        assert_eq!(stopped.load(Ordering::Relaxed), workers);
        assert_eq!(started.load(Ordering::Relaxed), workers);
        // Wakers outlive the executor.
        for waker in wakers.lock().unwrap().drain(..) {
            waker.wake();
        }
    }
}

#[test]
fn an_executor_may_be_dropped_by_its_own_task() {
    let _watchdog = watchdog();
    for _ in 0..20 {
        let executor = Builder::new().workers(2).build();
        let (send, receive) = channel();
        let cell = Arc::new(Mutex::new(None::<Executor<'static>>));
        let task = {
            let cell = Arc::clone(&cell);
            executor.spawn(async move {
                let executor = loop {
                    let taken = cell.lock().unwrap().take();
                    match taken {
                        Some(executor) => break executor,
                        None => Yields(1).await,
                    }
                };
                drop(executor);
                send.send(()).unwrap();
            })
        };
        task.detach();
        *cell.lock().unwrap() = Some(executor);
        receive
            .recv_timeout(Duration::from_secs(30))
            .expect("the drop does not join its own thread");
    }
}

/// Mostly every worker is parked when one item comes: a spawned task, a pinned one, or a woken one.
/// Many times.
#[test]
fn no_worker_sleeps_past_an_item() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(3).build();
    let spawners: Vec<_> = {
        let found = Arc::new(Mutex::new(std::collections::HashMap::new()));
        while found.lock().unwrap().len() < 3 {
            let found = Arc::clone(&found);
            block_on(executor.spawn(async move {
                let worker = current().expect("on a worker").worker();
                found
                    .lock()
                    .unwrap()
                    .insert(worker, terrace_thread::ThreadSpawner::current());
                thread::sleep(Duration::from_micros(50));
            }));
            for _ in 0..3 {
                executor
                    .spawn(async { thread::sleep(Duration::from_micros(100)) })
                    .detach();
            }
        }
        let mut found: Vec<_> = found.lock().unwrap().drain().collect();
        found.sort_by_key(|(worker, _)| *worker);
        found.into_iter().map(|(_, spawner)| spawner).collect()
    };
    for round in 0..2_000_u64 {
        // A jitter that now and then lets every worker park.
        if round % 16 == 0 {
            thread::sleep(Duration::from_micros(300));
        }
        for _ in 0..round % 7 * 20 {
            std::hint::spin_loop();
        }
        match round % 3 {
            0 => block_on(executor.spawn(async {})),
            1 => {
                let worker = (round / 3 % 3) as usize;
                let task =
                    spawners[worker].spawn(async { current().map(|current| current.worker()) });
                assert_eq!(block_on(task), Some(worker));
            }
            _ => {
                let slot = Arc::new(Mutex::new((false, None::<Waker>)));
                let task = executor.spawn({
                    let slot = Arc::clone(&slot);
                    poll_fn(move |context| {
                        let mut slot = slot.lock().unwrap();
                        if slot.0 {
                            return Poll::Ready(());
                        }
                        slot.1 = Some(context.waker().clone());
                        Poll::Pending
                    })
                });
                let waker = {
                    let mut slot = slot.lock().unwrap();
                    slot.0 = true;
                    slot.1.take()
                };
                waker.into_iter().for_each(Waker::wake);
                block_on(task);
            }
        }
    }
}

/// One worker is stuck, and everything else still runs.
#[test]
fn a_blocked_worker_strands_no_task() {
    let _watchdog = watchdog();
    let executor = Arc::new(Builder::new().workers(2).build());
    let (release, blocked) = channel::<()>();
    let (started, wait) = channel();
    executor
        .spawn({
            let executor = Arc::downgrade(&executor);
            async move {
                // The task goes into this worker's own ring, right before the worker blocks.
                if let Some(executor) = executor.upgrade() {
                    for i in 0..50 {
                        let started = started.clone();
                        executor
                            .spawn(async move { started.send(i).unwrap() })
                            .detach();
                    }
                }
                blocked.recv().unwrap();
            }
        })
        .detach();
    let mut ran: Vec<_> = (0..50)
        .map(|_| {
            wait.recv_timeout(Duration::from_secs(30))
                .expect("taken by the other worker")
        })
        .collect();
    ran.sort_unstable();
    assert_eq!(ran, (0..50).collect::<Vec<_>>());
    release.send(()).unwrap();
}

#[test]
fn a_thread_that_cannot_start_is_an_error() {
    let _watchdog = watchdog();
    let error = Builder::new()
        .workers(1)
        .stack_size(usize::MAX / 4 * 3)
        .try_build();
    assert!(error.is_err());
    // The executor has as many as before.
    let executor = Builder::new()
        .workers(0)
        .stack_size(usize::MAX / 4 * 3)
        .build();
    assert!(executor.set_workers(2).is_err());
    assert_eq!(executor.workers(), 0);
    assert_eq!(block_on(executor.spawn(async { 1 })), 1);
}

/// 48 KiB on a stack of 256 KiB, also in a debug build.
#[test]
fn a_large_future_fits_a_small_stack() {
    let _watchdog = watchdog();
    // ThreadSanitizer's instrumentation makes frames larger. Where the processor is another one, each frame of a debug build has two
    // copies of such an argument.
    let stack = match (cfg!(terrace_tsan), cfg!(target_arch = "x86_64")) {
        (true, _) => 1024,
        (false, true) => 256,
        (false, false) => 512,
    } * 1024;
    let executor = Builder::new().workers(1).build();
    let sum = thread::Builder::new()
        .stack_size(stack)
        .spawn(move || {
            let large = [1_u8; 48 * 1024];
            block_on(executor.spawn(async move {
                Yields(1).await;
                large.iter().map(|&byte| u32::from(byte)).sum::<u32>()
            }))
        })
        .unwrap()
        .join()
        .unwrap();
    assert_eq!(sum, 48 * 1024);
}

/// A worker that waits for a task of its own pool, while the pool is being dropped.
#[test]
fn a_drop_waits_for_jobs_that_wait_for_tasks() {
    let _watchdog = watchdog();
    for workers in [1, 2] {
        for _ in 0..50 {
            let executor = Arc::new(Builder::new().workers(workers).build());
            let (started, wait) = channel();
            let (ended, end) = channel();
            let task = {
                let weak = Arc::downgrade(&executor);
                executor.spawn(async move {
                    let inner = weak.upgrade().map(|executor| {
                        (0..3)
                            .map(|i| executor.spawn(async move { i }))
                            .collect::<Vec<_>>()
                    });
                    started.send(()).unwrap();
                    thread::yield_now();
                    let sum: i32 = inner.into_iter().flatten().map(block_on).sum();
                    ended.send(sum).unwrap();
                })
            };
            task.detach();
            wait.recv().unwrap();
            drop(executor);
            assert_eq!(end.recv_timeout(Duration::from_secs(30)), Ok(3));
        }
    }
}

/// Many more tasks that block on tasks of their own pool than it has workers.
#[test]
fn many_tasks_may_block_on_tasks_of_their_own_pool() {
    let _watchdog = watchdog();
    for workers in [1, 2] {
        let executor = Arc::new(Builder::new().workers(workers).build());
        let tasks: Vec<_> = (0..60)
            .map(|i| {
                let weak = Arc::downgrade(&executor);
                executor.spawn(async move {
                    let executor = weak.upgrade().expect("the test waits");
                    block_on(executor.spawn(async move { i }))
                })
            })
            .collect();
        let sum: i32 = tasks.into_iter().map(block_on).sum();
        assert_eq!(sum, 60 * 59 / 2);
    }
}

/// The same with so many that no fixed number of spare workers would do; the waits nest, too.
#[test]
fn hundreds_of_tasks_may_block_on_tasks_of_their_own_pool() {
    let _watchdog = watchdog();
    for workers in [1, 2] {
        let executor = Arc::new(Builder::new().workers(workers).build());
        let tasks: Vec<_> = (0..300)
            .map(|i| {
                let weak = Arc::downgrade(&executor);
                executor.spawn(async move {
                    let executor = weak.upgrade().expect("the test waits");
                    let inner = Arc::downgrade(&executor);
                    block_on(executor.spawn(async move {
                        let executor = inner.upgrade().expect("the test waits");
                        block_on(executor.spawn(async move { i }))
                    }))
                })
            })
            .collect();
        let sum: i32 = tasks.into_iter().map(block_on).sum();
        assert_eq!(sum, 300 * 299 / 2);
    }
}
