//! `terrace-tasks`: the interface of `bevy_tasks`, against the original.

use criterion::{Criterion, criterion_group, criterion_main};
use terrace_benches::tasks::{self, Pool};
use terrace_benches::{Rows, WORKERS};

/// Numbers that chunks are made of.
const ITEMS: usize = 100_000;

fn all<P: Pool>(rows: &mut Rows<'_>) {
    for threads in WORKERS {
        for amount in [1, 10, 100, 1_000] {
            let param = format!("{amount}-t{threads}");
            rows.row("scope", P::NAME, &param, || {
                tasks::scope(P::new(threads), amount)
            });
            rows.row("spawn", P::NAME, &param, || {
                tasks::spawn_many(P::new(threads), amount)
            });
        }
        for size in [1_000, 25_000] {
            let param = format!("{size}-t{threads}");
            rows.row("par_chunk_map", P::NAME, param, || {
                tasks::par_chunk_map(P::new(threads), ITEMS, size)
            });
        }
    }
}

fn rows(criterion: &mut Criterion) {
    let rows = &mut Rows::new(criterion, "tasks");
    all::<terrace_tasks::TaskPool>(rows);
    all::<bevy_tasks::TaskPool>(rows);
}

criterion_group!(benches, rows);
criterion_main!(benches);
