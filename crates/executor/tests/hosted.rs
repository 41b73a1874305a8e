//! Workers on threads of the program, and executors that start no spares.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use terrace_executor::scope::{OpenScope, ScopeKind};
use terrace_executor::{
    Builder, Executor, HostedWorker, Shutdown, ThreadExecutor, block_on, current,
};
use terrace_testing::{
    completed_elsewhere, in_own_process, on_own_thread, signal, text_of, watchdog,
};
use terrace_thread::ThreadSpawner;

fn worker() -> usize {
    current().expect("on a worker").worker()
}

/// Starts a thread for each place.
fn start(places: Vec<HostedWorker>) -> Vec<thread::JoinHandle<()>> {
    let start = |place: HostedWorker| thread::spawn(|| place.run());
    places.into_iter().map(start).collect()
}

#[test]
fn places_have_the_indices_of_their_workers() {
    let _watchdog = watchdog();
    let (executor, places) = Builder::new().workers(3).spares(false).build_hosted();
    let indices: Vec<_> = places.iter().map(HostedWorker::index).collect();
    assert_eq!(indices, [0, 1, 2]);
    assert_eq!((executor.workers(), executor.threads()), (3, 3));
    let threads = start(places);
    // Each waits for the others, so they are on three workers.
    let barrier = Arc::new(Barrier::new(3));
    let tasks: Vec<_> = (0..3)
        .map(|_| {
            let barrier = Arc::clone(&barrier);
            executor.spawn(async move {
                barrier.wait();
                worker()
            })
        })
        .collect();
    let mut indices: Vec<_> = tasks.into_iter().map(block_on).collect();
    indices.sort_unstable();
    assert_eq!(indices, [0, 1, 2]);
    drop(executor);
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
}

/// A thread runs two places, one after the other. What wakes it from before the first still does in the second.
#[test]
fn notifiers_from_before_wake_a_worker() {
    on_own_thread(|| {
        let ticked = Arc::new(ThreadExecutor::new());
        for _ in 0..2 {
            let (executor, mut places) = Builder::new().workers(1).spares(false).build_hosted();
            let ticked = Arc::clone(&ticked);
            let other = thread::spawn(move || {
                let (inside, spawner) = (Arc::clone(&ticked), executor.spawner());
                let scope = async move {
                    let pool = Builder::new().workers(1).build();
                    let scope = OpenScope::open(&pool, ScopeKind::of::<()>());
                    // SAFETY: the child borrows nothing, and `wait` below waits for the scope.
                    unsafe {
                        scope
                            .handle()
                            .spawn_on(inside.queue(), completed_elsewhere())
                    };
                    assert!(scope.wait(&[inside.queue()]).is_none());
                };
                block_on(spawner.spawn(scope));
                drop(executor);
            });
            places.remove(0).run();
            other.join().unwrap();
        }
    });
}

/// A notifier of the thread keeps no pool. Its hook is called while the thread is a worker, and afterwards.
#[test]
fn a_place_leaves_its_thread_as_it_was() {
    on_own_thread(|| {
        let rings = Arc::new(AtomicUsize::new(0));
        let bell = Arc::clone(&rings);
        terrace_thread::set_on_ready(move || {
            bell.fetch_add(1, Ordering::Relaxed);
        });
        let notifier = terrace_thread::notifier();
        for round in 1..=2 {
            let pool = Arc::new(());
            let part = Arc::clone(&pool);
            let (executor, mut places) = Builder::new()
                .workers(1)
                .on_thread_start(move || drop(Arc::clone(&part)))
                .build_hosted();
            let theirs = notifier.clone();
            let other = thread::spawn(move || {
                block_on(executor.spawn(async {}));
                theirs.notify();
                drop(executor);
            });
            places.remove(0).run();
            other.join().unwrap();
            // A watchdog ends the test if this never comes.
            while Arc::strong_count(&pool) > 1 {
                thread::yield_now();
            }
            assert_eq!(rings.load(Ordering::Relaxed), round);
        }
        notifier.notify();
        terrace_thread::park();
        assert_eq!(rings.load(Ordering::Relaxed), 3);
    });
}

#[test]
fn a_wait_around_a_place_is_woken() {
    on_own_thread(|| {
        let (executor, mut places) = Builder::new().workers(1).build_hosted();
        let other = thread::spawn(move || {
            assert_eq!(block_on(executor.spawn(async { 1 })), 1);
        });
        block_on(async {
            places.remove(0).run();
            completed_elsewhere().await;
        });
        other.join().unwrap();
    });
}

#[test]
fn a_place_that_is_dropped_is_one_worker_less() {
    let _watchdog = watchdog();
    let (executor, mut places) = Builder::new().workers(3).build_hosted();
    let task = executor.spawn(async { worker() });
    drop(places.pop());
    assert_eq!((executor.workers(), executor.threads()), (2, 2));
    drop(places.remove(0));
    assert_eq!((executor.workers(), executor.threads()), (1, 1));
    let threads = start(places);
    assert_eq!(block_on(task), 1);
    drop(executor);
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
}

/// A broadcast and a pinned spawn see the worker of a place from its thread's beginning on, and do not wait for that.
#[test]
fn a_place_takes_part_once_its_thread_has_begun() {
    on_own_thread(|| {
        let (executor, mut places) = Builder::new().workers(2).build_hosted();
        let parts = || executor.with_worker(|worker| worker.broadcast(|part| part.participants));
        assert_eq!(parts(), [1], "the caller alone");
        let last = places.pop();
        let threads = start(places);
        block_on(executor.spawn(async {}));
        assert_eq!(parts(), [1]);
        let missing = text_of(|| executor.spawner().spawn_work_on(1, async {}));
        assert!(missing.contains("there is no worker 1"), "{missing}");
        let second = start(last.into_iter().collect());
        while parts() != [2, 2] {
            thread::yield_now();
        }
        drop(executor);
        for thread in threads.into_iter().chain(second) {
            thread.join().unwrap();
        }
    });
}

/// Workers are numbered by their places, whichever came last.
#[test]
fn a_thread_that_takes_a_free_place_has_its_number() {
    on_own_thread(|| {
        let (executor, mut places) = Builder::new().workers(3).build_hosted();
        drop(places.remove(0));
        let threads = start(places);
        executor.set_workers(3).unwrap();
        let parts = || executor.with_worker(|handle| handle.broadcast(|_| worker()));
        while parts().len() < 3 {
            thread::yield_now();
        }
        assert_eq!(parts(), [0, 1, 2]);
        for place in 0..3 {
            let task = executor.spawner().spawn_work_on(place, async { worker() });
            assert_eq!(block_on(task), place);
        }
        drop(executor);
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn an_executor_whose_places_are_all_dropped_is_driven_by_waiters() {
    // Alone: a waiting thread of another test would drive the pool, too, while it has no workers.
    in_own_process(
        "an_executor_whose_places_are_all_dropped_is_driven_by_waiters",
        || {
            let (executor, places) = Builder::new().workers(2).build_hosted();
            let task = executor.spawn(async { 6 * 7 });
            drop(places);
            assert_eq!((executor.workers(), executor.threads()), (0, 0));
            assert_eq!(block_on(task), 42);
            executor.set_workers(1).unwrap();
            assert_eq!(block_on(executor.spawn(async { worker() })), 0);
        },
    );
}

#[test]
fn places_end_with_their_executor_run_or_not() {
    let _watchdog = watchdog();
    let (executor, mut places) = Builder::new().workers(3).build_hosted();
    let early = thread::spawn({
        let place = places.remove(0);
        || place.run()
    });
    let dropped = Arc::new(());
    let held = Arc::clone(&dropped);
    executor
        .spawn(async move {
            let _held = held;
            std::future::pending::<()>().await;
        })
        .detach();
    drop(executor);
    early.join().unwrap();
    // The executor is gone: it returns at once.
    places.remove(0).run();
    assert_eq!(
        Arc::strong_count(&dropped),
        2,
        "the last place still counts"
    );
    drop(places);
    assert_eq!(Arc::strong_count(&dropped), 1);
}

#[test]
fn a_shutdown_waits_for_places() {
    // Alone: a waiting thread of another test would drive the pool, too, while it has no workers.
    in_own_process("a_shutdown_waits_for_places", || {
        let (executor, places) = Builder::new().workers(2).build_hosted();
        let task = executor.spawn(async { "ran" });
        let limit = Some(Duration::from_millis(1));
        let left = executor.shutdown(Shutdown::RunQueued, limit).unwrap_err();
        assert_eq!(left.threads(), 2);
        // They were asked to end, after they have run what is queued.
        let threads = start(places);
        executor.shutdown(Shutdown::RunQueued, None).unwrap();
        assert!(task.is_finished());
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn a_thread_runs_one_place_after_another() {
    let _watchdog = watchdog();
    let (sender, places) = channel::<HostedWorker>();
    let thread = thread::spawn(move || {
        for place in places {
            // As a plain thread it waits, and is woken, between two places.
            let executor = Builder::new().workers(1).build();
            assert_eq!(block_on(executor.spawn(async { 1 })), 1);
            place.run();
        }
    });
    for round in 0..20 {
        let (executor, places) = Builder::new().workers(1).build_hosted();
        places
            .into_iter()
            .for_each(|place| sender.send(place).unwrap());
        let inner = executor.spawner();
        let task = executor.spawn(async move { inner.spawn(async move { round }).await });
        assert_eq!(block_on(task), round);
    }
    drop(sender);
    thread.join().unwrap();
}

#[test]
#[should_panic(expected = "one worker at a time")]
fn a_worker_runs_no_place() {
    let _watchdog = watchdog();
    let (_executor, mut places) = Builder::new().workers(1).build_hosted();
    let place = places.remove(0);
    let outer = Builder::new().workers(1).build();
    block_on(outer.spawn(async move { place.run() }));
}

#[test]
fn hooks_run_on_the_thread_of_the_place() {
    let _watchdog = watchdog();
    let count = Arc::new(AtomicUsize::new(0));
    let (starts, stops) = (Arc::clone(&count), Arc::clone(&count));
    let (executor, places) = Builder::new()
        .workers(2)
        .on_thread_start(move || {
            starts.fetch_add(1 << (8 * worker()), Ordering::Relaxed);
        })
        .on_thread_stop(move || {
            stops.fetch_add(16 << (8 * worker()), Ordering::Relaxed);
        })
        .build_hosted();
    let threads = start(places);
    drop(executor);
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    assert_eq!(count.load(Ordering::Relaxed), 0x1111);
}

/// Blocks on a task of its own executor, which blocks on another one, and so on.
fn nest(executor: &Arc<Executor<'static>>, depth: usize) -> usize {
    if depth == 0 {
        return 0;
    }
    let inner = Arc::clone(executor);
    1 + block_on(executor.spawn(async move { nest(&inner, depth - 1) }))
}

#[test]
fn without_spares_waits_nest_as_deep_as_they_come() {
    let _watchdog = watchdog();
    for workers in [1, 2] {
        let builder = Builder::new().workers(workers).spares(false);
        let executor = Arc::new(builder.build());
        let inner = Arc::clone(&executor);
        let task = executor.spawn(async move { nest(&inner, 40) });
        assert_eq!(block_on(task), 40);
        assert_eq!(executor.threads(), workers, "no spare has come");
    }
}

type Act = fn();

/// Runs a place in a destructor of a thread-local.
struct RunsAtTheEnd {
    place: Option<HostedWorker>,
    /// What the destructor itself does before.
    before: Act,
}

impl Drop for RunsAtTheEnd {
    fn drop(&mut self) {
        (self.before)();
        if let Some(place) = self.place.take() {
            place.run();
        }
    }
}

thread_local! {
    static AT_THE_END: Cell<Option<RunsAtTheEnd>> = const { Cell::new(None) };
}

/// The worker runs when the thread has dropped what wakes it, and what keeps its tasks. It is woken all the same, in its loop and in waits.
#[test]
fn a_worker_in_a_destructor_of_a_thread_local_is_woken() {
    let name = "a_worker_in_a_destructor_of_a_thread_local_is_woken";
    let nothing: Act = || ();
    let sleeps: Act = || drop(terrace_thread::notifier());
    let spawns: Act = || drop(ThreadSpawner::current());
    // What the thread uses later than the thread-local is gone before it on most systems.
    let uses: [(Act, Act); 4] = [
        (sleeps, nothing),
        (sleeps, sleeps),
        (spawns, nothing),
        (spawns, spawns),
    ];
    in_own_process(name, || {
        for (at_first, before) in uses {
            let (executor, mut places) = Builder::new().workers(1).spares(false).build_hosted();
            let place = places.pop();
            let thread = thread::spawn(move || {
                AT_THE_END.set(Some(RunsAtTheEnd { place, before }));
                at_first();
            });
            for _ in 0..10 {
                let (woken, signal) = signal();
                let task = executor.spawn(async move { block_on(woken) });
                // The worker sleeps in the task's wait.
                thread::sleep(Duration::from_millis(1));
                signal.set();
                block_on(task);
                // And here in its loop.
                thread::sleep(Duration::from_millis(1));
                let parts = executor.with_worker(|worker| worker.broadcast(|_| ()));
                assert_eq!(parts.len(), 1);
            }
            executor.with_worker(|worker| worker.spawn_broadcast(|_| ()));
            drop(executor);
            thread.join().unwrap();
        }
    });
}
