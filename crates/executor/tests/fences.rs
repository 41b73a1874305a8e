//! How many light and heavy fences a pool's work takes. The choice between the two forms rests on
//! these counts.
//!
//! With `--cfg terrace_count`; `--nocapture` shows the figures.
#![cfg(terrace_count)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use terrace_executor::{Builder, Executor, block_on};
use terrace_sync::count::Counts;
use terrace_testing::watchdog;

const WORKERS: usize = 8;
const TASKS: usize = 10_000;

/// The fences of all threads, light and heavy, for `work`.
fn fences(name: &str, work: impl FnOnce(&Arc<Executor<'static>>)) -> (u64, u64) {
    let sums = Arc::new([const { AtomicU64::new(0) }; 2]);
    let add = |sums: &[AtomicU64; 2], counts: Counts| {
        sums[0].fetch_add(counts.light_fences, Ordering::Relaxed);
        sums[1].fetch_add(counts.heavy_fences, Ordering::Relaxed);
    };
    let ended = Arc::clone(&sums);
    let executor = Builder::new()
        .workers(WORKERS)
        .on_thread_stop(move || add(&ended, Counts::now()))
        .build();
    let executor = Arc::new(executor);
    let before = Counts::now();
    work(&executor);
    add(&sums, Counts::now() - before);
    drop(executor);
    let [light, heavy] = [0, 1].map(|i: usize| sums[i].load(Ordering::Relaxed));
    let ratio = light as f64 / heavy as f64;
    println!("{name:40} {light:8} light {heavy:8} heavy {ratio:8.1} light a heavy");
    (light, heavy)
}

#[test]
fn work_in_bulk_takes_few_heavy_fences() {
    let _watchdog = watchdog();
    let bulk = fences("10,000 tasks spawned inside, awaited", |executor| {
        let own = Arc::clone(executor);
        block_on(executor.spawn(async move {
            let tasks: Vec<_> = (0..TASKS).map(|i| own.spawn(async move { i })).collect();
            for task in tasks {
                task.await;
            }
        }));
    });
    let outside = fences("10,000 tasks spawned outside, awaited", |executor| {
        let tasks: Vec<_> = (0..TASKS)
            .map(|i| executor.spawn(async move { i }))
            .collect();
        for task in tasks {
            block_on(task);
        }
    });
    let single = fences("10,000 tasks outside, one at a time", |executor| {
        for i in 0..TASKS {
            block_on(executor.spawn(async move { i }));
        }
    });
    for (light, heavy) in [bulk, outside, single] {
        assert!(light > 0 && heavy > 0);
    }
    // One light fence a publish; a heavy one only where a worker ran out of tasks.
    let tasks = TASKS as u64;
    assert!(bulk.0 <= 3 * tasks, "{bulk:?}");
    assert!(bulk.1 <= tasks, "{bulk:?}");
}
