//! A broadcast reaches a thread that waits in a join, in the middle of what was broadcast to it before.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Mutex};

use rayon_core::{ThreadPoolBuilder, broadcast, join, spawn, spawn_broadcast};
use terrace_testing::watchdog;

const ROUNDS: usize = 20;

fn until(flag: &AtomicBool) {
    while !flag.load(Ordering::Relaxed) {
        std::thread::yield_now();
    }
}

/// A join whose second half another thread takes, and broadcasts from there. How many parts there are.
fn broadcast_from_the_other_half() -> usize {
    let stolen = AtomicBool::new(false);
    let second = || {
        stolen.store(true, Ordering::Relaxed);
        broadcast(|_| ())
    };
    join(|| until(&stolen), second).1.len()
}

#[test]
fn in_a_part_of_another_broadcast() {
    let _watchdog = watchdog();
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    for _ in 0..ROUNDS {
        let parts = pool.broadcast(|context| match context.index() {
            0 => 0,
            _ => broadcast_from_the_other_half(),
        });
        assert_eq!(parts, [0, 2]);
    }
}

/// The thread that made the pool is one of its threads, and is reached like the others.
#[test]
fn on_the_thread_that_made_the_pool() {
    let _watchdog = watchdog();
    let made = std::thread::spawn(|| {
        let builder = ThreadPoolBuilder::new().num_threads(2).use_current_thread();
        let _pool = builder.build().unwrap();
        for _ in 0..ROUNDS {
            assert_eq!(broadcast_from_the_other_half(), 2);
        }
    });
    made.join().unwrap();
}

/// Before a thread runs its part, it runs jobs of its own.
#[test]
fn in_a_job_that_comes_before_a_part() {
    let _watchdog = watchdog();
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    for _ in 0..ROUNDS {
        static BEGUN: AtomicBool = AtomicBool::new(false);
        BEGUN.store(false, Ordering::Relaxed);
        let (sender, parts) = std::sync::mpsc::channel();
        pool.broadcast(|context| {
            if context.index() == 0 {
                return until(&BEGUN);
            }
            let sender = sender.clone();
            spawn(move || {
                BEGUN.store(true, Ordering::Relaxed);
                sender.send(broadcast_from_the_other_half()).unwrap();
            });
            spawn_broadcast(|_| ());
        });
        assert_eq!(parts.recv(), Ok(2));
    }
}

/// Two threads broadcast at once: all threads of the pool begin the two broadcasts in the same order.
#[test]
fn two_at_once_have_one_order() {
    const PAIRS: usize = 1_000;
    let _watchdog = watchdog();
    let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let orders = [(); 3].map(|()| Mutex::new(Vec::new()));
    let barrier = Barrier::new(2);
    std::thread::scope(|threads| {
        for caller in 0..2 {
            let (pool, barrier, orders) = (&pool, &barrier, &orders);
            threads.spawn(move || {
                for _ in 0..PAIRS {
                    barrier.wait();
                    pool.broadcast(|part| orders[part.index()].lock().unwrap().push(caller));
                }
            });
        }
    });
    let [first, second, third] = orders.map(|order| order.into_inner().unwrap());
    assert_eq!(first.len(), 2 * PAIRS);
    assert!(
        first == second && second == third,
        "the threads saw different orders"
    );
}
