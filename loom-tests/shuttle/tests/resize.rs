//! Workers that come and go while tasks are spawned, woken and waited for. A pool keeps at least one here; the models in
//! `workerless.rs` take the last one.

use terrace_executor::{Builder, Executor, block_on};
use terrace_fork::scope;
use terrace_shuttle_tests::{Gate, Tally, explore, pause};
use terrace_sync::{Arc, thread};

fn pool(workers: usize) -> Arc<Executor<'static>> {
    Arc::new(Builder::new().workers(workers).build())
}

fn resize(pool: &Executor<'static>, workers: usize) {
    pool.set_workers(workers)
        .expect("a checker can always start a thread");
}

/// Another thread resizes while tasks are spawned and woken: no task is left in the ring of a worker that has gone.
#[test]
fn tasks_survive_resizes() {
    explore(|| {
        let pool = pool(8);
        let (gate, tally) = (Gate::new(), Tally::new());
        let resizer = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || {
                for workers in [2, 5, 1] {
                    pause();
                    resize(&pool, workers);
                }
            })
        };
        let tasks: Vec<_> = (0..6)
            .map(|i| {
                let (own, pass, ticket) = (Arc::downgrade(&pool), gate.pass(), tally.ticket());
                pool.spawn(async move {
                    let _ticket = ticket;
                    let pool = own.upgrade().expect("the model waits");
                    // The task goes into the ring of a worker that may be asked to end.
                    let inner = pool.spawn(async move { i });
                    drop(pool);
                    if i % 2 == 0 {
                        pass.await;
                    }
                    inner.await
                })
            })
            .collect();
        gate.open();
        let sum: i32 = tasks.into_iter().map(block_on).sum();
        assert_eq!(sum, 15);
        resizer.join().expect("ends");
        tally.assert_all_dropped(6);
        assert_eq!(block_on(pool.spawn(async { 1 })), 1);
    });
}

/// Two threads resize at once, one of them up: the pool ends with as many workers as one of them said.
#[test]
fn resizes_at_once() {
    explore(|| {
        let pool = pool(3);
        let other = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || resize(&pool, 1))
        };
        resize(&pool, 5);
        other.join().expect("ends");
        assert!([1, 5].contains(&pool.workers()));
        let tasks: Vec<_> = (0..5).map(|i| pool.spawn(async move { i })).collect();
        assert_eq!(tasks.into_iter().map(block_on).sum::<i32>(), 10);
    });
}

/// A worker in a scope, or blocked on its own pool, is asked to end: it does so when its job has.
#[test]
fn workers_that_wait_are_asked_to_end() {
    explore(|| {
        let pool = pool(2);
        let own = Arc::clone(&pool);
        let task = pool.spawn(async move {
            let mut numbers = [0; 3];
            scope(&own, |scope| {
                for number in &mut numbers {
                    scope.spawn(async move { *number = 1 });
                }
            });
            let inner = own.spawn(async { 1 });
            block_on(inner) + numbers.iter().sum::<i32>()
        });
        pause();
        resize(&pool, 1);
        assert_eq!(block_on(task), 4);
    });
}
