//! A random program of children that mostly end at once.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::thread;

use terrace_executor::block_on;
use terrace_testing::{Dropped, Drops, Random, Yields, poll_once, text, watchdog};

use super::pool;

/// A future that ends after some polls, out of a seed: it wakes itself in one of several ways, and may panic.
struct RandomChild {
    random: Random,
    left: u32,
    _drops: Dropped,
}

impl Future for RandomChild {
    type Output = u64;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<u64> {
        if self.left == 0 {
            if self.random.once_in(10) {
                panic_any("planned");
            }
            return Poll::Ready(1);
        }
        self.left -= 1;
        let waker = context.waker().clone();
        match self.random.below(4) {
            0 => context.waker().wake_by_ref(),
            1 => waker.wake(),
            2 => drop(thread::spawn(|| waker.wake())),
            _ => drop(thread::spawn(move || {
                thread::yield_now();
                waker.wake_by_ref();
                waker.wake();
            })),
        }
        Poll::Pending
    }
}

/// Children that mostly end at once, awaited, dropped, detached and cancelled here and elsewhere. Each future is dropped once.
#[test]
fn random_children() {
    let _watchdog = watchdog();
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let executor = pool(1 + random.below(2));
        let drops = Drops::new();
        let made = Arc::new(AtomicU32::new(0));
        let mut parents = Vec::new();
        for _ in 0..4 {
            let mut random = random.split();
            let children = 20 + random.below(40);
            let (drops, made) = (drops.clone(), made.clone());
            parents.push(executor.spawn(async move {
                for _ in 0..children {
                    let child = RandomChild {
                        random: random.split(),
                        left: if random.once_in(6) {
                            1 + random.below(3) as u32
                        } else {
                            0
                        },
                        _drops: drops.value(),
                    };
                    made.fetch_add(1, Ordering::Relaxed);
                    let task = executor.spawn_eager(child);
                    match random.below(6) {
                        0 => drop(task),
                        1 => task.detach(),
                        2 => drop(thread::spawn(move || drop(task))),
                        3 => drop(executor.spawn(task.cancel()).fallible()),
                        4 => executor
                            .spawn(async move {
                                let _end = task.fallible().await;
                            })
                            .detach(),
                        _ => {
                            let mut task = task.fallible();
                            if poll_once(&mut task).is_pending() {
                                Yields(1).await;
                            }
                        }
                    }
                }
            }));
        }
        for parent in parents {
            let end = catch_unwind(AssertUnwindSafe(|| block_on(parent)));
            if let Err(payload) = end {
                assert_eq!(text(&*payload), "planned");
            }
        }
        while !executor.is_empty() {
            thread::yield_now();
        }
        assert_eq!(drops.count(), made.load(Ordering::Relaxed) as usize);
    }
}
