//! What a tiny input costs beside its items: no list, and with `--cfg terrace_count` no read-modify-write, no fence and no lock. So no
//! job is pushed, and no thread is told of one.
#![cfg(feature = "multi_threaded")]

use std::hint::black_box;

use terrace_sync::count::Counts;
use terrace_tasks::{TaskPool, TaskPoolBuilder};
use terrace_testing::{CountingAllocator, allocations, least, watchdog};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Inputs that are counted together.
const RUNS: usize = 128;

/// The least of several counts: a reading that a pause has made long has the next inputs shared.
fn counted(pool: &TaskPool, run: impl Fn(&TaskPool)) -> u64 {
    let mut rmws = u64::MAX;
    let lists = least(|| {
        let before = allocations();
        let cost = Counts::of(|| (0..RUNS).for_each(|_| run(pool)));
        rmws = rmws.min(cost.rmws + cost.fences + cost.locks + cost.parks + cost.unparks);
        allocations() - before
    });
    assert_eq!(lists, 0);
    rmws
}

#[test]
fn a_tiny_input_costs_no_rmw_no_fence_no_lock_and_no_list() {
    let _watchdog = watchdog();
    let pool = TaskPoolBuilder::new().num_threads(2).build();
    let items: Vec<u32> = (0..64).collect();
    let sum = |pool: &TaskPool| {
        let sum: u32 = pool.par(black_box(&items)).copied().sum();
        assert_eq!(sum, 2_016);
    };
    assert_eq!(counted(&pool, sum), 0);
    let any = |pool: &TaskPool| assert!(!pool.par(black_box(&items)).any(|n| *n == 64));
    assert_eq!(counted(&pool, any), 0);
    let for_each = |pool: &TaskPool| {
        pool.par(black_box(&items)).for_each(|n| {
            black_box(n);
        });
    };
    assert_eq!(counted(&pool, for_each), 0);
}

/// The counts are of something.
#[cfg(terrace_count)]
#[test]
fn an_unknown_input_costs_some() {
    let _watchdog = watchdog();
    let pool = TaskPoolBuilder::new().num_threads(2).build();
    let cost = Counts::of(|| assert_eq!(pool.par(0..64_u32).sum::<u32>(), 2_016));
    assert!(cost.rmws > 0 && cost.locks > 0, "{cost:?}");
}
