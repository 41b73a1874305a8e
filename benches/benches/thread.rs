//! `terrace-thread`: tasks for one given thread.

use criterion::{Criterion, criterion_group, criterion_main};
use terrace_benches::Rows;
use terrace_benches::thread::{self, AsyncExecutorPump, Pinned, Threaded, TokioPump};

/// Tasks spawned onto the own thread.
const HERE: usize = 1_000;

fn all<T: Threaded>(rows: &mut Rows<'_>) {
    for amount in [1, 100] {
        rows.row("spawn_remote", T::NAME, format!("{amount}-t2"), || {
            thread::spawn_remote::<T>(amount)
        });
    }
    rows.row("spawn_here", T::NAME, HERE, || {
        thread::spawn_here::<T>(HERE)
    });
}

fn rows(criterion: &mut Criterion) {
    let rows = &mut Rows::new(criterion, "thread");
    all::<Pinned>(rows);
    all::<AsyncExecutorPump>(rows);
    all::<TokioPump>(rows);
}

criterion_group!(benches, rows);
criterion_main!(benches);
