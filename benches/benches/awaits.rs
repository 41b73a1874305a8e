//! Tasks that await and join, on a pool for fork-join.

use criterion::{Criterion, criterion_group, criterion_main};
#[cfg(terrace_forte)]
use terrace_benches::awaits::Forte;
use terrace_benches::awaits::{self, Guest, Ours, Pool, Stock};
use terrace_benches::{Rows, WORKERS};

const TASKS: u64 = 1_000;
/// Pairs that talk, and how often.
const PAIRS: u64 = 8;
const ROUNDS: u64 = 100;
const CHILDREN: usize = 256;
/// Tasks that join, and the leaves of each.
const JOINING: u64 = 16;
const LEAVES: u64 = 64;

fn all<P: Pool>(rows: &mut Rows<'_>) {
    for threads in WORKERS {
        let new = || P::new(threads);
        rows.row(
            "spawn_await",
            P::NAME,
            format!("{TASKS}-t{threads}"),
            || awaits::spawn_await(new(), TASKS),
        );
        let param = format!("{PAIRS}x{ROUNDS}-t{threads}");
        rows.row("channels", P::NAME, param, || {
            awaits::channels(new(), PAIRS, ROUNDS)
        });
        rows.row("scoped", P::NAME, format!("{CHILDREN}-t{threads}"), || {
            awaits::scoped(new(), CHILDREN)
        });
        let param = format!("{JOINING}x{LEAVES}-t{threads}");
        rows.row("join_in_async", P::NAME, param, || {
            awaits::join_in_async(new(), JOINING, LEAVES)
        });
        let param = format!("{LEAVES}-t{threads}");
        rows.row("async_in_join", P::NAME, param, || {
            awaits::async_in_join(new(), LEAVES)
        });
    }
}

fn rows(criterion: &mut Criterion) {
    let rows = &mut Rows::new(criterion, "awaits");
    all::<Ours>(rows);
    all::<Guest>(rows);
    all::<Stock>(rows);
    #[cfg(terrace_forte)]
    all::<Forte>(rows);
}

criterion_group!(benches, rows);
criterion_main!(benches);
