//! Acts with scopes.

use std::future::pending;
#[cfg(feature = "multi_threaded")]
use std::{
    sync::{
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
};

use bevy_tasks::TaskPool;
#[cfg(feature = "multi_threaded")]
use bevy_tasks::block_on;

use crate::random::Random;
#[cfg(feature = "multi_threaded")]
use crate::support::Counted;
use crate::support::{Promise, World, Yields, outcome};

/// A task that ends by itself. Returns a number that depends on `random` only.
async fn work(world: &World, pool: &TaskPool, mut random: Random, depth: u64) -> u64 {
    match random.below(if depth > 0 { 7 } else { 5 }) {
        0 => random.below(1_000),
        1 => {
            Yields(random.below(5)).await;
            random.below(1_000)
        }
        2 => {
            let (turns, value) = (random.below(3), random.below(1_000));
            let task = pool.spawn(async move {
                Yields(turns).await;
                value
            });
            task.await
        }
        // Without threads the published scope never ends when a task panics.
        3 if cfg!(feature = "multi_threaded") => {
            let message = format!("inner {}", random.below(100));
            let panicked = outcome(|| pool.scope(|s| s.spawn(async { panic!("{message}") })));
            u64::from(panicked.map(|_: Vec<()>| ()) == Err(message))
        }
        3 | 4 => {
            let task = pool.spawn(pending::<u64>());
            drop(task);
            random.below(1_000)
        }
        _ => {
            let (pool, _) = world.any(&mut random);
            scope_of_workers(world, pool, &mut random, depth - 1)
                .iter()
                .sum()
        }
    }
}

fn scope_of_workers(world: &World, pool: &TaskPool, random: &mut Random, depth: u64) -> Vec<u64> {
    let children: Vec<_> = (0..random.below(9))
        .map(|_| (random.below(3), random.fork()))
        .collect();
    pool.scope(|s| {
        for (place, random) in children {
            let child = work(world, pool, random, depth);
            match place {
                0 => s.spawn_on_scope(child),
                1 => s.spawn_on_external(child),
                _ => s.spawn(child),
            }
        }
    })
}

/// Results in spawn order; tasks that spawn tasks; a task that waits for a value of a sibling.
pub(crate) fn results(random: &mut Random, world: &World) {
    let (pool, _) = world.any(random);
    println!("results {:?}", scope_of_workers(world, pool, random, 2));

    let count = random.below(6);
    let mut nested = pool.scope(|s| {
        #[cfg(not(feature = "multi_threaded"))]
        let s = &*s;
        for n in 0..count {
            s.spawn(async move {
                Yields(n % 2).await;
                s.spawn(async move { 100 + n });
                n
            });
        }
    });
    nested.sort_unstable();
    println!("nested {nested:?}");

    let promise = Promise::default();
    let (value, waits_first) = (random.below(1_000), random.one_in(2));
    let promised = pool.scope(|s| {
        let gives = async {
            promise.keep(value);
            0
        };
        if waits_first {
            s.spawn(async { (&promise).await });
            s.spawn(gives);
        } else {
            s.spawn_on_scope(gives);
            s.spawn(async { (&promise).await });
        }
    });
    println!("promised {promised:?}");
}

/// Tasks that panic, one or several, with siblings before and behind them.
///
/// Before the first that panics are tasks that end by themselves: the published crate waits for them. Behind it are also such as
/// never end; none of those is pinned, as the published crate does not tick while it cancels. For the same reason the pool
/// has threads. If several panic, all do at their first poll.
#[cfg(feature = "multi_threaded")]
pub(crate) fn panic(random: &mut Random, world: &World) {
    let Some((pool, _)) = world.with_threads(random) else {
        return;
    };
    let (before, behind) = (random.below(5), random.below(5));
    let (several, turns) = (random.one_in(2), random.below(4));
    let kinds: Vec<_> = (0..before + behind)
        .map(|_| (random.below(4), random.fork()))
        .collect();
    let dropped = AtomicUsize::new(0);
    let mut spawned = 0;
    let result = outcome(|| {
        pool.scope(|s| {
            for (at, (kind, random)) in kinds.into_iter().enumerate() {
                let (at, counted) = (at as u64, Counted(&dropped));
                if at == before {
                    let counted = Counted(&dropped);
                    spawned += 1;
                    s.spawn(async move {
                        let _counted = counted;
                        Yields(if several { 0 } else { turns }).await;
                        panic!("number {before}");
                    });
                }
                spawned += 1;
                let endless = at >= before;
                s.spawn(async move {
                    let _counted = counted;
                    match kind {
                        0 if endless && several => panic!("number {}", at + 1),
                        0 | 1 if endless => pending().await,
                        2 if endless => Yields(u64::MAX).await,
                        _ => drop(work(world, pool, random, 1).await),
                    }
                });
            }
        })
    });
    println!("panic {:?}", result.map(|results| results.len()));
    println!("dropped {}", dropped.load(SeqCst) == spawned);
}

/// The body panics.
#[cfg(feature = "multi_threaded")]
pub(crate) fn body_panic(random: &mut Random, world: &World) {
    let Some((pool, _)) = world.with_threads(random) else {
        return;
    };
    let kinds: Vec<_> = (0..random.below(6))
        .map(|_| (random.below(4), random.fork()))
        .collect();
    let spawned = kinds.len();
    let dropped = AtomicUsize::new(0);
    let result: Result<Vec<u64>, _> = outcome(|| {
        pool.scope(|s| {
            for (kind, random) in kinds {
                let counted = Counted(&dropped);
                s.spawn(async move {
                    let _counted = counted;
                    match kind {
                        0 => pending().await,
                        1 => {
                            Yields(u64::MAX).await;
                            0
                        }
                        2 => panic!("a task"),
                        _ => work(world, pool, random, 0).await,
                    }
                });
            }
            panic!("the body");
        })
    });
    println!(
        "body {result:?}, dropped {}",
        dropped.load(SeqCst) == spawned
    );
}

/// Tasks that block their thread until another task of the pool is done. There are at most as many as the pool has
/// threads, so one thread is left.
#[cfg(feature = "multi_threaded")]
pub(crate) fn blocking(random: &mut Random, world: &World) {
    let Some((pool, threads)) = world.with_threads(random) else {
        return;
    };
    let blocking = random.below(threads as u64 + 1);
    let others = random.below(6);
    let results = pool.scope(|s| {
        for n in 0..blocking {
            s.spawn(async move {
                let task = pool.spawn(async move {
                    Yields(n).await;
                    n
                });
                block_on(task)
            });
        }
        for n in 0..others {
            s.spawn(async move {
                Yields(n % 3).await;
                n
            });
        }
    });
    println!("blocking {results:?}");
}

/// Tasks on an executor that another thread ticks.
#[cfg(feature = "multi_threaded")]
pub(crate) fn external(random: &mut Random, world: &World) {
    let (pool, threads) = world.any(random);
    let ticks = threads == 0 || random.one_in(2);
    let count = random.below(8);
    let panics = random.one_in(3) && threads > 0;
    let (sender, receiver) = mpsc::channel();
    let stop = AtomicBool::new(false);
    let dropped = AtomicUsize::new(0);
    thread::scope(|threads| {
        let owner = threads.spawn(|| {
            let executor = TaskPool::get_thread_executor();
            sender.send(executor.clone()).unwrap();
            let ticker = executor.ticker().unwrap();
            while !stop.load(SeqCst) {
                ticker.try_tick();
                thread::yield_now();
            }
        });
        let executor = receiver.recv().unwrap();
        let owner = owner.thread().id();
        let here = thread::current().id();
        let result = outcome(|| {
            pool.scope_with_executor(ticks, Some(&executor), |s| {
                for n in 0..count {
                    let counted = Counted(&dropped);
                    let child = async move {
                        let _counted = counted;
                        Yields(n % 3).await;
                        let id = thread::current().id();
                        (id == owner, id == here)
                    };
                    match n % 3 {
                        0 => s.spawn_on_external(child),
                        1 => s.spawn_on_scope(child),
                        _ => s.spawn(async move {
                            child.await;
                            (false, false)
                        }),
                    }
                }
                if panics {
                    s.spawn(async { panic!("a task") });
                    // The owner drops it.
                    let counted = Counted(&dropped);
                    s.spawn_on_external(async move {
                        let _counted = counted;
                        pending().await
                    });
                }
            })
        });
        stop.store(true, SeqCst);
        println!("external {result:?}");
    });
    println!(
        "dropped {}",
        dropped.load(SeqCst) as u64 == count + u64::from(panics)
    );
}
