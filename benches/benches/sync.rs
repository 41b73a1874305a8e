//! `terrace-sync`: the pairs of fences, in the forms that this process has. `TERRACE_FENCE` and `TERRACE_STEAL_FENCE`
//! choose them.

use criterion::{Criterion, criterion_group, criterion_main};
use terrace_benches::Rows;
use terrace_benches::sync::{self, Fences, Std, Steal, Terrace};

/// Threads of the process that run, the fencing one included.
const THREADS: [usize; 5] = [1, 2, 4, 8, 16];

fn all<F: Fences>(rows: &mut Rows<'_>) {
    rows.row("light", F::NAME, 1, sync::light::<F>);
    for threads in THREADS {
        rows.row("heavy", F::NAME, format!("t{threads}"), || {
            sync::heavy::<F>(threads)
        });
    }
    rows.row("interrupted", F::NAME, "t2", sync::interrupted::<F>);
}

fn rows(criterion: &mut Criterion) {
    let rows = &mut Rows::new(criterion, "sync");
    all::<Terrace>(rows);
    all::<Steal>(rows);
    all::<Std>(rows);
}

criterion_group!(benches, rows);
criterion_main!(benches);
