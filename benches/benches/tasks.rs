//! `terrace-tasks`: the interface of `bevy_tasks`, against the original.

use criterion::{Criterion, criterion_group, criterion_main};
use terrace_benches::tasks::data::{self, Data, Rayon};
use terrace_benches::tasks::items::{self, Items, Serial};
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

/// Work on data, against rayon.
fn all_data<D: Data>(rows: &mut Rows<'_>) {
    for threads in WORKERS {
        for items in [10_000, 1_000_000] {
            let param = format!("{items}-t{threads}");
            rows.row("par_map_sum", D::NAME, &param, || {
                data::map_sum(D::new(threads), items)
            });
            rows.row("par_group_by", D::NAME, &param, || {
                data::group_by(D::new(threads), items)
            });
        }
        let param = format!("{ITEMS}-t{threads}");
        rows.row("par_sort", D::NAME, &param, || {
            data::sort(D::new(threads), ITEMS, D::sort)
        });
        rows.row("par_sort_unstable", D::NAME, &param, || {
            data::sort(D::new(threads), ITEMS, D::sort_unstable)
        });
        for (jobs, steps) in [(16, 10_000), (192, 1_000)] {
            let param = format!("{jobs}x{steps}-t{threads}");
            rows.row("par_jobs", D::NAME, param, || {
                data::jobs(D::new(threads), jobs, steps)
            });
        }
    }
}

/// With `TERRACE_LONG_SUMS` in the environment there are also sums that take a tenth of a second and more.
fn all_items<I: Items>(rows: &mut Rows<'_>) {
    let most_nanos = if std::env::var_os("TERRACE_LONG_SUMS").is_some() {
        u64::MAX
    } else {
        20_000_000
    };
    for items in [100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000] {
        for nanos in [0, 10, 100] {
            if items as u64 * nanos <= most_nanos {
                let param = format!("{items}x{nanos}-t2");
                rows.row("par_iter", I::NAME, param, || {
                    items::sum(I::new(2), items, nanos)
                });
            }
        }
    }
}

fn rows(criterion: &mut Criterion) {
    let rows = &mut Rows::new(criterion, "tasks");
    all::<terrace_tasks::TaskPool>(rows);
    all::<bevy_tasks::TaskPool>(rows);
    all_data::<terrace_tasks::TaskPool>(rows);
    all_data::<Rayon>(rows);
    all_items::<terrace_tasks::TaskPool>(rows);
    all_items::<Rayon>(rows);
    all_items::<Serial>(rows);
}

criterion_group!(benches, rows);
criterion_main!(benches);
