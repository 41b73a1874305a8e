//! Tasks that lie in the injector many at once: batches by external threads, and tasks that a full ring gives up.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use terrace_executor::{Builder, Executor, block_on};
use terrace_testing::watchdog;

/// More than one look moves into a ring.
const TASKS: usize = 203;
/// More than fit into a ring, several times.
const MANY: usize = 5_000;

/// Without workers, a thread that ticks finds them in the order in which they came.
#[test]
fn ticks_find_a_batch_in_order() {
    let _watchdog = watchdog();
    let executor = Executor::new();
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = Vec::new();
    let futures = (0..TASKS).map(|number| {
        let order = order.clone();
        async move { order.lock().unwrap().push(number) }
    });
    executor.spawn_many(futures, &mut tasks);
    while executor.try_tick() {}
    assert!(tasks.iter().all(|task| task.is_finished()));
    assert_eq!(*order.lock().unwrap(), (0..TASKS).collect::<Vec<_>>());
}

/// The only worker is busy: threads without a ring take a batch of tasks, one a tick, each task once.
#[test]
fn ticks_take_each_task_of_a_batch_once() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(1).try_build().unwrap();
    let (release, released) = channel::<()>();
    let (enter, entered) = channel();
    let blocker = executor.spawn(async move {
        enter.send(()).unwrap();
        released.recv().unwrap();
    });
    entered.recv().unwrap();
    let runs: Arc<[AtomicUsize]> = (0..TASKS).map(|_| AtomicUsize::new(0)).collect();
    let mut tasks = Vec::new();
    let futures = (0..TASKS).map(|number| {
        let runs = runs.clone();
        async move {
            runs[number].fetch_add(1, Ordering::Relaxed);
        }
    });
    executor.spawn_many(futures, &mut tasks);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !tasks.iter().all(|task| task.is_finished()) {
                    executor.try_tick();
                }
            });
        }
    });
    assert!(runs.iter().all(|runs| runs.load(Ordering::Relaxed) == 1));
    release.send(()).unwrap();
    block_on(blocker);
}

/// A task spawns more than its worker's ring holds, and never comes back. The publish of the tasks that the ring gave
/// up wakes the other worker, which runs all of them.
#[test]
fn what_a_ring_gives_up_is_published() {
    let _watchdog = watchdog();
    let executor = Arc::new(Builder::new().workers(2).try_build().unwrap());
    let spawner = {
        let executor = executor.clone();
        async move {
            let (done, all) = channel();
            for _ in 0..MANY {
                let done = done.clone();
                executor
                    .spawn(async move { done.send(()).unwrap() })
                    .detach();
            }
            // Blocks its worker.
            for _ in 0..MANY {
                all.recv().unwrap();
            }
        }
    };
    block_on(executor.spawn(spawner));
}

/// Each task that its executor drops is dropped once, also one of a batch that no thread has taken.
#[test]
fn a_batch_is_dropped_with_its_executor() {
    let _watchdog = watchdog();
    let token = Arc::new(());
    let executor = Builder::new().workers(1).try_build().unwrap();
    let (release, released) = channel::<()>();
    let (enter, entered) = channel();
    let inner = token.clone();
    executor
        .spawn(async move {
            enter.send(()).unwrap();
            let _ = released.recv();
            drop(inner);
        })
        .detach();
    entered.recv().unwrap();
    let mut tasks = Vec::new();
    let futures = (0..TASKS).map(|_| {
        let token = token.clone();
        async move {
            std::future::pending::<()>().await;
            drop(token);
        }
    });
    executor.spawn_many(futures, &mut tasks);
    tasks.into_iter().for_each(|task| task.detach());
    drop(release);
    drop(executor);
    assert_eq!(Arc::strong_count(&token), 1);
}
