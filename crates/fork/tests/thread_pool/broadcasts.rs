//! One closure on each worker.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use terrace_executor::Executor;
use terrace_fork::{Broadcast, ThreadPool, Worker, block_on};
use terrace_testing::{text_of, watchdog};

#[test]
fn each_worker_calls_it_once() {
    let _watchdog = watchdog();
    let pool = ThreadPool::new();
    for workers in [1, 2, 5] {
        pool.resize_to(workers);
        for _ in 0..20 {
            let calls = AtomicUsize::new(0);
            let threads = pool.broadcast(|part| {
                calls.fetch_add(1, Ordering::Relaxed);
                assert!(part.worker.is_in_pool());
                (part.index, thread::current().id())
            });
            assert_eq!(calls.load(Ordering::Relaxed), workers);
            assert!(threads.iter().map(|(index, _)| *index).eq(0..workers));
            let different: HashSet<_> = threads.into_iter().map(|(_, thread)| thread).collect();
            assert_eq!(different.len(), workers);
        }
    }
}

/// Workers broadcast at once, each in the middle of a task: each runs its part of the others' in its wait.
#[test]
fn workers_broadcast_to_each_other() {
    let _watchdog = watchdog();
    static POOL: ThreadPool = ThreadPool::new();
    POOL.resize_to(3);
    for _ in 0..50 {
        let tasks = (0..3).map(|_| {
            POOL.spawn(async {
                let (a, b) = POOL.join(|_| POOL.broadcast(|_| 1), |_| POOL.broadcast(|_| 1));
                a.len() + b.len()
            })
        });
        let tasks: Vec<_> = tasks.collect();
        for task in tasks {
            assert_eq!(block_on(task), 6);
        }
    }
    POOL.depopulate();
}

/// Two threads broadcast at once: all workers begin the two broadcasts in the same order.
#[test]
fn two_at_once_have_one_order() {
    const PAIRS: usize = 2_000;
    let _watchdog = watchdog();
    let pool = ThreadPool::new();
    pool.resize_to(3);
    let orders = Arc::new([(); 3].map(|()| Mutex::new(Vec::new())));
    let barrier = Barrier::new(2);
    thread::scope(|threads| {
        for caller in 0..2 {
            let (pool, barrier, orders) = (&pool, &barrier, Arc::clone(&orders));
            threads.spawn(move || {
                for round in 0..PAIRS {
                    let orders = Arc::clone(&orders);
                    let part =
                        move |part: Broadcast<'_>| orders[part.index].lock().unwrap().push(caller);
                    barrier.wait();
                    // Both callers in the same way, or in two ways.
                    match (round + caller * (round / 3)) % 3 {
                        0 => _ = pool.broadcast(part),
                        1 => pool.spawn_broadcast(part),
                        _ => pool.scope(|scope| scope.spawn_broadcast(part)),
                    }
                }
            });
        }
    });
    pool.broadcast(|_| ());
    let [first, second, third] = &*orders;
    let first = first.lock().unwrap();
    assert_eq!(first.len(), 2 * PAIRS);
    for other in [second, third] {
        assert!(
            *first == *other.lock().unwrap(),
            "the workers saw different orders"
        );
    }
}

/// The same in pinned tasks, which leave other pinned tasks alone while they wait.
#[test]
fn pinned_tasks_broadcast_to_each_other() {
    let _watchdog = watchdog();
    let pool = Executor::builder().workers(3).build();
    for _ in 0..200 {
        let workers = pool.worker_spawners();
        let tasks: Vec<_> = workers
            .iter()
            .map(|worker| {
                let pool = pool.spawner();
                worker.spawn(async move {
                    let parts = Worker::with_current(|worker| {
                        worker.broadcast(|part| (part.index, part.participants))
                    });
                    pool.spawn_broadcast(|_| ());
                    parts
                })
            })
            .collect();
        for task in tasks {
            assert_eq!(block_on(task), [(0, 3), (1, 3), (2, 3)]);
        }
    }
}

/// Each part is called once or left out, and what it holds is dropped, while workers come and go.
#[test]
fn no_part_is_lost_where_workers_end() {
    let _watchdog = watchdog();
    let pool = ThreadPool::new();
    let held = Arc::new(());
    thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                for _ in 0..300 {
                    let calls = AtomicUsize::new(0);
                    let parts = pool.broadcast(|_| calls.fetch_add(1, Ordering::Relaxed));
                    assert_eq!(parts.len(), calls.into_inner());
                    let kept = Arc::clone(&held);
                    pool.spawn_broadcast(move |_| drop(Arc::clone(&kept)));
                }
            });
        }
        threads.spawn(|| {
            for round in 0..100 {
                pool.resize_to([0, 2, 1, 3][round % 4]);
            }
        });
    });
    pool.resize_to(1);
    pool.depopulate();
    drop(pool);
    // While the pool has no workers, a thread that waits in another test may be in the middle of a part: it drops the part after that.
    // The watchdog ends the test if one is lost.
    while Arc::strong_count(&held) > 1 {
        thread::yield_now();
    }
}

#[test]
fn a_broadcast_ends_before_it_panics() {
    let _watchdog = watchdog();
    let pool = ThreadPool::new();
    for workers in [0, 1, 3] {
        pool.resize_to(workers);
        let calls = AtomicUsize::new(0);
        let text = text_of(|| {
            pool.broadcast(|part| {
                calls.fetch_add(1, Ordering::Relaxed);
                panic!("part {}", part.index);
            })
        });
        assert_eq!(text, "part 0");
        assert_eq!(calls.load(Ordering::Relaxed), workers.max(1));
    }
}

/// Of a worker that ends while a broadcast is on its way, the part either ran or is left out.
#[test]
fn a_part_of_a_worker_that_ends_is_left_out() {
    let _watchdog = watchdog();
    let pool = ThreadPool::new();
    for round in 0..100 {
        pool.resize_to(4);
        thread::scope(|threads| {
            threads.spawn(|| pool.resize_to(round % 4));
            let calls = AtomicUsize::new(0);
            let parts = pool.broadcast(|_| calls.fetch_add(1, Ordering::Relaxed));
            assert_eq!(parts.len(), calls.load(Ordering::Relaxed));
        });
    }
}

#[test]
fn a_spawned_broadcast_reaches_each_worker() {
    let _watchdog = watchdog();
    let pool = ThreadPool::new();
    for workers in [1, 2, 4] {
        pool.resize_to(workers);
        let (sender, parts) = channel();
        pool.spawn_broadcast(move |part| sender.send((part.index, part.participants)).unwrap());
        let mut parts: Vec<_> = parts.iter().collect();
        parts.sort_unstable();
        assert!(
            parts
                .into_iter()
                .eq((0..workers).map(|index| (index, workers)))
        );
    }
}

#[test]
fn spawn_on_names_the_worker_that_is_missing() {
    let _watchdog = watchdog();
    let pool = ThreadPool::new();
    pool.resize_to(2);
    let text = text_of(|| pool.spawn_on(2, async {}));
    assert_eq!(text, "spawn_on: there is no worker 2, the pool has 2");
}

/// Payloads that reach no caller go to the handler that was set last.
#[test]
fn the_handler_gets_the_panic_of_a_closure() {
    let _watchdog = watchdog();
    let pool = ThreadPool::new();
    pool.populate();
    pool.set_panic_handler(|_| panic!("it was replaced"));
    let (sender, payloads) = channel();
    pool.set_panic_handler(move |payload| sender.send(payload).unwrap());
    pool.spawn(|_: &terrace_fork::Worker| panic!("of a closure"));
    let payload = payloads.recv().unwrap();
    assert_eq!(*payload.downcast::<&str>().unwrap(), "of a closure");
    // That of a future goes to its handle.
    let task = pool.spawn(async { panic!("of a future") });
    let caught = catch_unwind(AssertUnwindSafe(|| pool.block_on(task)));
    assert_eq!(
        *caught.unwrap_err().downcast::<&str>().unwrap(),
        "of a future"
    );
}
