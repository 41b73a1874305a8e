//! Scopes that end while their last child is still on its way out: the state lies on the stack of the waiter, which goes on at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rayon_core::{Scope, ThreadPool, ThreadPoolBuilder};
use terrace_testing::watchdog;

const ROUNDS: usize = if cfg!(debug_assertions) {
    2_000
} else {
    20_000
};

fn pool() -> ThreadPool {
    let pool = ThreadPoolBuilder::new().num_threads(3).build();
    pool.expect("the threads start")
}

/// A few children, of which each second one has a child, and each third one opens a scope of its own.
fn children<'s>(scope: &Scope<'s>, count: usize, ended: &'s AtomicUsize) {
    for number in 0..count {
        scope.spawn(move |scope| {
            if number % 2 == 1 {
                scope.spawn(move |_| {
                    ended.fetch_add(1, Ordering::Relaxed);
                });
            }
            if number % 3 == 2 {
                let inner = AtomicUsize::new(0);
                rayon_core::scope(|scope| children(scope, number / 3, &inner));
                assert_eq!(inner.into_inner(), ends(number / 3));
            }
            ended.fetch_add(1, Ordering::Relaxed);
        });
    }
}

/// How many ends [`children`] counts.
fn ends(count: usize) -> usize {
    count + count / 2
}

#[test]
fn a_state_that_goes_at_once_is_not_touched() {
    let _watchdog = watchdog();
    let pool = &pool();
    // Callers outside of the pool have bells of their own.
    let outside = |seed: usize| {
        for round in 0..ROUNDS {
            let ended = AtomicUsize::new(0);
            let count = (round + seed) % 7;
            match round % 3 {
                0 => pool.in_place_scope(|scope| children(scope, count, &ended)),
                1 => pool.scope(|scope| children(scope, count, &ended)),
                _ => pool.in_place_scope_fifo(|scope| {
                    for _ in 0..ends(count) {
                        scope.spawn_fifo(|_| {
                            ended.fetch_add(1, Ordering::Relaxed);
                        });
                    }
                }),
            }
            assert_eq!(ended.into_inner(), ends(count));
        }
    };
    thread::scope(|threads| {
        for seed in 0..2 {
            threads.spawn(move || outside(seed));
        }
    });
}
