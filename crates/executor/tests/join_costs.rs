//! The costs of a join that no thread takes: allocations, and with `--cfg terrace_count` our own read-modify-writes and fences.

use terrace_executor::{Builder, Worker, block_on};
use terrace_sync::FenceKind;
use terrace_sync::count::Counts;
use terrace_sync::steal::fence_kind;
use terrace_testing::{CountingAllocator, allocations, watchdog};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const ROUNDS: usize = 100;
/// Flat joins a round.
const FLAT: usize = 100;

/// A tree of joins with so many leaves. Returns the number of joins.
fn tree(worker: &Worker, leaves: usize) -> usize {
    if leaves <= 1 {
        return 0;
    }
    let half = leaves / 2;
    let (a, b) = worker.join(
        |worker| tree(worker, half),
        |worker| tree(worker, leaves - half),
    );
    1 + a + b
}

/// The costs of joins that no thread takes: of a nested one nothing, of a flat one at most a read-modify-write. Whether no round had more
/// read-modify-writes.
fn joins_cost_nothing(worker: &Worker) -> bool {
    const LEAVES: usize = 1_024;
    // The first push of a thread tells that it forks.
    assert_eq!(tree(worker, LEAVES), LEAVES - 1);
    let mut cheap = true;
    for round in 0..ROUNDS {
        let (counts, before) = (Counts::now(), allocations());
        assert_eq!(tree(worker, LEAVES), LEAVES - 1);
        assert_eq!(allocations() - before, 0, "round {round}");
        let counts = Counts::now() - counts;
        // A join is flat where no other is open: the root, the one in its second turn, the one in that one's, and so on.
        cheap &= counts.rmws <= u64::from(LEAVES.ilog2());
        assert_eq!(counts.steal_heavy_fences, 0, "round {round}: {counts:?}");
        if fence_kind() == FenceKind::Asymmetric {
            assert_eq!(counts.fences, 0, "round {round}: {counts:?}");
        }
        let (counts, before) = (Counts::now(), allocations());
        for _ in 0..FLAT {
            worker.join(|_| (), |_| ());
        }
        assert_eq!(allocations() - before, 0, "round {round}");
        let counts = Counts::now() - counts;
        cheap &= counts.rmws <= FLAT as u64;
    }
    cheap
}

#[test]
fn joins_that_no_thread_takes_cost_nothing() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(1).build();
    // If the system takes the processor away in the middle of a join that is timed, its call-site looks long for some rounds. Then a
    // flat join gives its job away, for two read-modify-writes more.
    let cheap = || block_on(executor.spawn(async { Worker::with_current(joins_cost_nothing) }));
    assert!((0..3).any(|_| cheap()), "too many read-modify-writes");
}
