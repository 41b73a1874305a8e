//! Pools without threads: a waiting thread runs the tasks.

use std::thread;

use bevy_tasks::{
    AsyncComputeTaskPool, ComputeTaskPool, IoTaskPool, ParallelSlice, block_on,
    tick_global_task_pools_on_main_thread,
};

use crate::scenario::{Scenario, common, ours};
use crate::support::{Event, Tally, options, pool, yield_now};

/// The scenarios of this module.
pub(crate) const SCENARIOS: &[Scenario] = &[
    common(
        "zero_threads_scope",
        "a scope on a pool without threads runs its tasks on the calling thread",
        scopes,
    ),
    ours(
        "zero_threads_block_on",
        "block_on runs the tasks of a pool without threads",
        blocking,
    ),
    ours(
        "zero_threads_tick",
        "ticking the global pools runs detached tasks of pools without threads",
        ticking,
    ),
];

fn scopes() {
    let pool = pool(0);
    let home = thread::current().id();
    let squares = pool.scope(|scope| {
        for n in 0..100_u32 {
            scope.spawn(async move {
                yield_now().await;
                assert_eq!(thread::current().id(), home);
                n * n
            });
        }
    });
    assert_eq!(squares, (0..100).map(|n| n * n).collect::<Vec<_>>());

    // A child that waits for a plain task of the same pool.
    let plain = pool.scope(|scope| scope.spawn(async { pool.spawn(async { 7 }).await }));
    assert_eq!(plain, [7]);

    let items: Vec<u32> = (0..1_000).collect();
    let sums: u32 = items
        .par_chunk_map(&pool, 10, |_, chunk| chunk.iter().sum::<u32>())
        .into_iter()
        .sum();
    assert_eq!(sums, items.iter().sum());
}

fn blocking() {
    let pool = pool(0);
    assert_eq!(block_on(pool.spawn(async { 1 })), 1);
    let woken_from_outside = pool.spawn(async {
        let arrived = Event::default();
        arrived.set_soon();
        arrived.wait().await;
        2
    });
    assert_eq!(block_on(woken_from_outside), 2);
    let chain = pool.spawn(async {
        yield_now().await;
        3
    });
    let end = pool.spawn(async move { chain.await + 1 });
    assert_eq!(block_on(end), 4);

    // From a thread that has never seen a pool.
    let other = thread::scope(|threads| {
        threads
            .spawn(|| block_on(pool.spawn(async { 5 })))
            .join()
            .expect("it does not panic")
    });
    assert_eq!(other, 5);
}

fn ticking() {
    options(0).create_default_pools();
    let done = Tally::default();
    for pool in [
        &**ComputeTaskPool::get(),
        AsyncComputeTaskPool::get(),
        IoTaskPool::get(),
    ] {
        for _ in 0..10 {
            let counted = done.on_drop();
            pool.spawn(async move {
                yield_now().await;
                let arrived = Event::default();
                arrived.set_soon();
                arrived.wait().await;
                drop(counted);
            })
            .detach();
        }
    }
    while done.get() < 30 {
        tick_global_task_pools_on_main_thread();
        thread::yield_now();
    }
}
