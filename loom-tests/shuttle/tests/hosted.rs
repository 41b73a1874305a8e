//! Workers on threads of the program: they begin, end, and are given up, while tasks come.

use terrace_executor::{Builder, Executor, HostedWorker, Shutdown, block_on};
use terrace_shuttle_tests::{Gate, Tally, explore, pause};
use terrace_sync::thread::{self, JoinHandle};
use terrace_sync::{Arc, Mutex};

fn hosted(workers: usize) -> (Arc<Executor<'static>>, Vec<HostedWorker>) {
    let (pool, places) = Builder::new().workers(workers).build_hosted();
    (Arc::new(pool), places)
}

fn run(places: Vec<HostedWorker>) -> Vec<JoinHandle<()>> {
    let start = |place: HostedWorker| thread::spawn(move || place.run());
    places.into_iter().map(start).collect()
}

fn join(threads: Vec<JoinHandle<()>>) {
    for thread in threads {
        thread.join().expect("a worker ends without a panic");
    }
}

/// Publishers count on a worker that has not begun: it looks when it does, and the last one to begin leaves no task behind.
#[test]
fn tasks_come_before_their_workers() {
    explore(|| {
        let (pool, places) = hosted(3);
        let (gate, tally) = (Gate::new(), Tally::new());
        let tasks: Vec<_> = (0..4)
            .map(|i| {
                let (pass, ticket) = (gate.pass(), tally.ticket());
                pool.spawn(async move {
                    let _ticket = ticket;
                    if i % 2 == 0 {
                        pass.await;
                    }
                    i
                })
            })
            .collect();
        let threads = run(places);
        gate.open();
        assert_eq!(tasks.into_iter().map(block_on).sum::<i32>(), 6);
        tally.assert_all_dropped(4);
        drop(pool);
        join(threads);
    });
}

/// Two places are given up, by two threads, while tasks are spawned: the worker that is left runs them.
#[test]
fn places_are_given_up_while_tasks_come() {
    explore(|| {
        let (pool, mut places) = hosted(3);
        let last = places.pop().expect("there are three");
        let droppers: Vec<_> = places
            .into_iter()
            .map(|place| thread::spawn(move || drop(place)))
            .collect();
        let tasks: Vec<_> = (0..3).map(|i| pool.spawn(async move { i })).collect();
        let threads = run(vec![last]);
        assert_eq!(tasks.into_iter().map(block_on).sum::<i32>(), 3);
        join(droppers);
        assert_eq!(pool.workers(), 1);
        assert_eq!(block_on(pool.spawn(async { 1 })), 1);
        drop(pool);
        join(threads);
    });
}

/// All places are given up while a thread waits for a task: the pool has no workers then, and the waiter runs the task.
#[test]
fn all_places_are_given_up_while_a_thread_waits() {
    explore(|| {
        let (pool, places) = hosted(2);
        let task = pool.spawn(async { 1 });
        let droppers: Vec<_> = places
            .into_iter()
            .map(|place| thread::spawn(move || drop(place)))
            .collect();
        assert_eq!(block_on(task), 1);
        join(droppers);
        assert_eq!(pool.workers(), 0);
        assert_eq!(block_on(pool.spawn(async { 2 })), 2);
    });
}

/// The executor is dropped while one worker runs, one begins, and one place is given up: every thread ends, and so does every task.
#[test]
fn the_executor_is_dropped_while_workers_begin() {
    explore(|| {
        let (pool, mut places) = hosted(3);
        let tally = Tally::new();
        for _ in 0..3 {
            let ticket = tally.ticket();
            pool.spawn(async move {
                let _ticket = ticket;
                std::future::pending::<()>().await;
            })
            .detach();
        }
        let given_up = places.pop().expect("there are three");
        let threads = run(places);
        let dropper = thread::spawn(move || drop(given_up));
        pause();
        drop(pool);
        join(threads);
        dropper.join().expect("ends");
        tally.assert_all_dropped(3);
    });
}

/// A shutdown waits for a place that no thread has taken yet, and for the tasks of the workers.
#[test]
fn a_shutdown_waits_for_a_place() {
    explore(|| {
        let (pool, places) = hosted(2);
        let began = Arc::new(Mutex::new(0));
        let threads: Vec<_> = places
            .into_iter()
            .map(|place| {
                let began = Arc::clone(&began);
                thread::spawn(move || {
                    pause();
                    *began.lock() += 1;
                    place.run();
                })
            })
            .collect();
        let task = pool.spawn(async { 5 });
        pool.shutdown(Shutdown::FinishAll, None)
            .expect("the workers end");
        assert_eq!(*began.lock(), 2);
        join(threads);
        assert_eq!(block_on(task), 5);
    });
}

/// A resize asks workers to end, of which some have not begun: tasks lie in no ring of a worker that has gone.
#[test]
fn a_resize_meets_workers_that_begin() {
    explore(|| {
        let (pool, places) = hosted(3);
        let threads = run(places);
        let resizer = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || pool.set_workers(1).expect("a checker starts each thread"))
        };
        let tasks: Vec<_> = (0..4)
            .map(|i| {
                let own = Arc::downgrade(&pool);
                pool.spawn(async move {
                    let inner = own.upgrade().map(|pool| pool.spawn(async move { i }));
                    inner.expect("the model waits").await
                })
            })
            .collect();
        assert_eq!(tasks.into_iter().map(block_on).sum::<i32>(), 6);
        resizer.join().expect("ends");
        assert_eq!(pool.workers(), 1);
        drop(pool);
        join(threads);
    });
}
