//! Tasks spawned by external threads and by workers, in bursts, with eight workers.

use terrace_executor::{Builder, Executor, block_on};
use terrace_shuttle_tests::{Gate, Tally, explore, pause};
use terrace_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use terrace_sync::thread::{self, Thread};
use terrace_sync::{Arc, Mutex};

fn pool(workers: usize) -> Arc<Executor<'static>> {
    Arc::new(Builder::new().workers(workers).build())
}

/// One task at a time, each into a pool that may have gone to sleep.
#[test]
fn external_spawn() {
    explore(|| {
        let pool = pool(8);
        for i in 0..3 {
            pause();
            assert_eq!(block_on(pool.spawn(async move { i })), i);
        }
    });
}

/// The same with one worker: no other thread looks.
///
/// Fails under `park-rescan` (a worker goes to sleep without another look) and `park-token-kept` (a running worker
/// counts as searching). Also under `park-take-back-twice` and `park-claim-no-token` (tokens without an owner, owners
/// without a token).
#[test]
fn external_spawn_one_worker() {
    explore(|| {
        let pool = pool(1);
        for i in 0..8 {
            pause();
            assert_eq!(block_on(pool.spawn(async move { i })), i);
        }
    });
}

/// A task spawns others onto its worker's ring and awaits them.
#[test]
fn spawn_from_inside() {
    explore(|| {
        let pool = pool(8);
        let inner = Arc::downgrade(&pool);
        let sum = block_on(pool.spawn(async move {
            let pool = inner.upgrade().expect("the model waits");
            let tasks: Vec<_> = (0..4).map(|i| pool.spawn(async move { i })).collect();
            drop(pool);
            let mut sum = 0;
            for task in tasks {
                sum += task.await;
            }
            sum
        }));
        assert_eq!(sum, 6);
    });
}

/// Two threads spawn bursts at once; every task runs, though no thread awaits it.
#[test]
fn bursts_from_two_threads() {
    explore(|| {
        let pool = pool(8);
        let done = Gate::new();
        let left = Arc::new(AtomicUsize::new(12));
        let burst = || {
            let (pool, done, left) = (Arc::clone(&pool), done.clone(), Arc::clone(&left));
            move || {
                for _ in 0..6 {
                    let (done, left) = (done.clone(), Arc::clone(&left));
                    let last = async move {
                        if left.fetch_sub(1, Ordering::AcqRel) == 1 {
                            done.open();
                        }
                    };
                    pool.spawn(last).detach();
                }
            }
        };
        let other = thread::spawn(burst());
        burst()();
        block_on(done.pass());
        other.join().expect("ends");
    });
}

/// As many tasks that need each other to run at once as there are workers: a wake too few is a deadlock.
///
/// Fails under `park-stop-search-rescan`: the last searcher wakes no worker for the work that it
/// leaves.
#[test]
fn as_many_run_at_once_as_there_are_workers() {
    explore(|| {
        let workers = 3;
        let pool = pool(workers);
        for _ in 0..3 {
            pause();
            let meeting = Arc::new(Meeting::default());
            let tasks: Vec<_> = (0..workers)
                .map(|_| {
                    let meeting = Arc::clone(&meeting);
                    pool.spawn(async move { meeting.wait_for(workers) })
                })
                .collect();
            for task in tasks {
                block_on(task);
            }
        }
    });
}

/// Blocks threads until enough have come.
#[derive(Default)]
struct Meeting {
    come: Mutex<Vec<Thread>>,
    complete: AtomicBool,
}

impl Meeting {
    fn wait_for(&self, all: usize) {
        let come = {
            let mut come = self.come.lock();
            come.push(thread::current());
            come.clone()
        };
        if come.len() == all {
            self.complete.store(true, Ordering::Release);
            come.iter().for_each(Thread::unpark);
        }
        while !self.complete.load(Ordering::Acquire) {
            thread::park();
        }
    }
}

/// The drop of the pool drops queued tasks, and running tasks end: none is left.
#[test]
fn shutdown_with_queued_tasks() {
    explore(|| {
        let (pool, tally) = (pool(8), Tally::new());
        let never = Gate::new();
        for i in 0..10 {
            let (ticket, never) = (tally.ticket(), never.clone());
            let waits = async move {
                let _ticket = ticket;
                if i % 2 == 0 {
                    never.pass().await;
                }
            };
            pool.spawn(waits).detach();
        }
        drop(pool);
        tally.assert_all_dropped(10);
        // The wakers outlive their pool.
        never.open();
    });
}

/// A pool that is dropped by one of its own tasks.
#[test]
fn shutdown_from_a_worker() {
    explore(|| {
        let (pool, tally) = (pool(3), Tally::new());
        let gone = Gate::new();
        let (ticket, told, own) = (tally.ticket(), gone.clone(), Arc::clone(&pool));
        let ends = async move {
            let _ticket = ticket;
            drop(own);
            told.open();
        };
        pool.spawn(ends).detach();
        drop(pool);
        block_on(gone.pass());
    });
}
