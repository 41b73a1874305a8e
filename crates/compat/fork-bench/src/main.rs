//! Workloads of `terrace-fork` that tell what its constants cost; see the README.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Duration;

use bench_main::{Kind, Table, Workload, pause};
use terrace_fork::{ThreadPool, Worker};

const WORKERS: usize = 2;
/// Steps of [`leaf`] that take about a microsecond.
const MICROSECOND: u64 = 700;

/// A leaf of so many steps, which counts as one.
#[inline(never)]
fn leaf(steps: u64) -> u64 {
    let chain = (0..steps).fold(1_u64, |chain, _| {
        chain.rotate_left(5).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    });
    black_box(chain);
    1
}

/// How many leaves there are, of so many steps each, by joins.
fn leaves(worker: &Worker, amount: u64, steps: u64) -> u64 {
    if amount == 1 {
        return leaf(steps);
    }
    let half = amount / 2;
    let (one, other) = worker.join(
        |worker| leaves(worker, half, steps),
        |worker| leaves(worker, amount - half, steps),
    );
    one + other
}

/// Leaves by joins, and a pause.
fn tree(amount: u64, steps: u64, after: Duration) -> Workload {
    let pool = ThreadPool::new();
    pool.resize_to(WORKERS);
    Box::new(move || {
        let counted = pool.with_worker(|worker| leaves(worker, black_box(amount), steps));
        assert_eq!(counted, amount);
        if !after.is_zero() {
            pause(after);
        }
    })
}

/// One in so many joins is long.
fn sudden() -> Workload {
    const TINY: u64 = 31;
    let pool = ThreadPool::new();
    pool.resize_to(WORKERS);
    Box::new(move || {
        let tiny = (0..TINY).map(|_| 0);
        for steps in tiny.chain([3_000 * MICROSECOND]) {
            let both = pool.join(|_| leaf(steps), |_| leaf(steps));
            assert_eq!(both, (1, 1));
        }
    })
}

fn main() -> ExitCode {
    const NONE: Duration = Duration::ZERO;
    const MILLIS: Duration = Duration::from_millis(1);
    let mut table = Table::new();
    let mut add = |id: &str, build: fn() -> Workload| {
        table.add(id.to_owned(), Kind::Counted, WORKERS, build);
    };
    add("trickle", || tree(2, 0, MILLIS));
    add("burst", || tree(2_000, MICROSECOND, 2 * MILLIS));
    add("small_burst", || tree(64, MICROSECOND, 2 * MILLIS));
    add("steady", || tree(20_000, MICROSECOND / 20, NONE));
    add("coarse", || tree(64, 20 * MICROSECOND, NONE));
    add("sudden", sudden);
    bench_main::main(table.rows())
}
