//! What tasks await, beside what they join: the async half of a pool for fork-join.
//!
//! A row runs in one task of the pool, and the caller sleeps until it ends; or the caller is one of the threads, with forte and with our
//! `guest_fork`, and runs it. So a row has as many threads as it says, on each side.

#[cfg(terrace_forte)]
mod forte;
mod joining;
mod ours;
mod stock;

use std::hint::black_box;

use async_channel::bounded;
use futures_lite::future::{self, block_on};

#[cfg(terrace_forte)]
pub use self::forte::Forte;
pub use ours::{Guest, Ours};
pub use stock::Stock;

use crate::fork::work;

/// Steps of a leaf, each of about a nanosecond.
const STEPS: u64 = 200;
/// How often a child of a scope wakes itself before it ends.
const TURNS: usize = 4;

/// A pool, with its threads.
pub trait Pool: 'static {
    /// Its name in rows.
    const NAME: &'static str;
    /// What its tasks know it by.
    type Handle: Handle;

    /// With that many threads.
    fn new(threads: usize) -> Self;

    /// To be used until the pool is dropped.
    fn handle(&self) -> Self::Handle;

    /// Runs a row's future in a task of the pool, while the caller sleeps; or on the caller.
    fn run<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> T {
        block_on(self.handle().spawn(future))
    }
}

/// What a task does with its pool.
pub trait Handle: Copy + Send + Sync + 'static {
    /// The output when awaited.
    type Task<T: Send + 'static>: Future<Output = T> + Send + 'static;

    /// Spawns a task.
    fn spawn<T: Send + 'static>(
        self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Self::Task<T>;

    /// A scope with a child for each item: `count_turns`, which borrows it. The scope has ended when this returns.
    fn scoped(self, items: &mut [u64]);

    /// Halves the leaves by joins until there is one, and works there: `leaf`. How many there were.
    fn join(self, leaves: u64) -> u64;

    /// The same, and each leaf is a task of its own, for which the branch of the join waits: `late_leaf`.
    fn join_awaiting(self, leaves: u64) -> u64;
}

/// The child of a scope.
async fn count_turns(item: &mut u64) {
    for _ in 0..TURNS {
        future::yield_now().await;
        *item += 1;
    }
}

/// What a join comes down to.
fn leaf() -> u64 {
    let mut item = 1;
    work(&mut item, STEPS);
    black_box(item);
    1
}

/// A leaf that is not ready at once.
async fn late_leaf() -> u64 {
    future::yield_now().await;
    leaf()
}

/// `tasks` tasks, of which another one awaits the outputs.
pub fn spawn_await<P: Pool>(pool: P, tasks: u64) -> impl FnMut() {
    move || {
        let handle = pool.handle();
        let sum = pool.run(async move {
            let spawned: Vec<_> = (0..tasks)
                .map(|number| handle.spawn(async move { number }))
                .collect();
            let mut sum = 0;
            for task in spawned {
                sum += task.await;
            }
            sum
        });
        assert_eq!(sum, tasks * (tasks - 1) / 2);
    }
}

/// `pairs` pairs of tasks. Those of a pair send each other a number, which returns `rounds` times.
pub fn channels<P: Pool>(pool: P, pairs: u64, rounds: u64) -> impl FnMut() {
    move || {
        let handle = pool.handle();
        let sum = pool.run(async move {
            let mut serving = Vec::new();
            for _ in 0..pairs {
                let (ask, asked) = bounded(1);
                let (answer, answered) = bounded(1);
                let answering = handle.spawn(async move {
                    while let Ok(number) = asked.recv().await {
                        answer.send(number + 1).await.expect("it is received");
                    }
                });
                let asking = handle.spawn(async move {
                    let mut number = 0;
                    for _ in 0..rounds {
                        ask.send(number).await.expect("it is received");
                        number = answered.recv().await.expect("it is answered");
                    }
                    number
                });
                serving.push((asking, answering));
            }
            let mut sum = 0;
            for (asking, answering) in serving {
                sum += asking.await;
                answering.await;
            }
            sum
        });
        assert_eq!(sum, pairs * rounds);
    }
}

/// A scope of `children` tasks that borrow their items and suspend.
pub fn scoped<P: Pool>(pool: P, children: usize) -> impl FnMut() {
    move || {
        let handle = pool.handle();
        let items = pool.run(async move {
            let mut items = vec![0; children];
            handle.scoped(&mut items);
            items
        });
        assert!(items.iter().all(|turns| *turns == TURNS as u64));
    }
}

/// `tasks` tasks, each of which joins over `leaves` leaves.
pub fn join_in_async<P: Pool>(pool: P, tasks: u64, leaves: u64) -> impl FnMut() {
    move || {
        let handle = pool.handle();
        let sum = pool.run(async move {
            let spawned: Vec<_> = (0..tasks)
                .map(|_| handle.spawn(async move { handle.join(leaves) }))
                .collect();
            let mut sum = 0;
            for task in spawned {
                sum += task.await;
            }
            sum
        });
        assert_eq!(sum, tasks * leaves);
    }
}

/// One task that joins over `leaves` leaves, each of which waits for a task.
pub fn async_in_join<P: Pool>(pool: P, leaves: u64) -> impl FnMut() {
    move || {
        let handle = pool.handle();
        let sum = pool.run(async move { handle.join_awaiting(leaves) });
        assert_eq!(sum, leaves);
    }
}
