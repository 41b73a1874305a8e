//! `terrace-fork`: scopes over borrowed data.

use criterion::{Criterion, criterion_group, criterion_main};
use terrace_benches::fork::joins::{self, Chili, Guest, Joins, Ours, RayonJoins, Solves};
use terrace_benches::fork::problems::Problem;
use terrace_benches::fork::{self, Fork, Rayon, Scopes, StdScope};
use terrace_benches::{Rows, WORKERS};

/// Children of a flat scope.
const CHILDREN: usize = 64;
/// Children, and children of each, of nested scopes, and their steps.
const WIDTH: usize = 8;
const STEPS: u64 = 1_000;

fn all<S: Scopes>(rows: &mut Rows<'_>) {
    for workers in WORKERS {
        for children in [0, 1, 10, 100, 1_000] {
            let param = format!("{children}-t{workers}");
            rows.row("empty_children", S::NAME, param, || {
                fork::empty_children(S::new(workers), children)
            });
        }
        for steps in [100, 1_000, 10_000] {
            let param = format!("{CHILDREN}x{steps}-t{workers}");
            rows.row("flat", S::NAME, param, || {
                fork::flat(S::new(workers), CHILDREN, steps)
            });
        }
        let param = format!("{WIDTH}x{WIDTH}x{STEPS}-t{workers}");
        rows.row("nested", S::NAME, param, || {
            fork::nested(S::new(workers), WIDTH, STEPS)
        });
    }
}

/// As many threads as children: where there are few, and they are long.
fn threads(rows: &mut Rows<'_>) {
    const LONG: u64 = 100_000;
    for workers in WORKERS {
        let param = format!("{workers}x{LONG}-t{workers}");
        rows.row("long", Fork::NAME, &param, || {
            fork::flat(Fork::new(workers), workers, LONG)
        });
        rows.row("long", Rayon::NAME, &param, || {
            fork::flat(Rayon::new(workers), workers, LONG)
        });
        rows.row("long", StdScope::NAME, &param, || {
            fork::flat(StdScope::new(workers), workers, LONG)
        });
    }
}

/// Joins, in trees of so many levels.
fn all_joins<J: Joins>(rows: &mut Rows<'_>) {
    for workers in WORKERS {
        for levels in [10, 16] {
            for steps in [0, 10, 100] {
                let param = format!("{}x{steps}-t{workers}", (1 << levels) - 1);
                rows.row("joins_tree", J::NAME, param, || {
                    joins::tree(J::new(workers), levels, steps)
                });
            }
        }
        rows.row("joins_fib", J::NAME, format!("20-t{workers}"), || {
            joins::fib(J::new(workers), 20)
        });
        rows.row("trickle", J::NAME, format!("1ms-t{workers}"), || {
            joins::trickle(J::new(workers))
        });
    }
}

/// Makes a problem of a size.
type Make = fn(u64) -> Problem;

/// Programs that joins solve, of so many parts.
fn all_problems<S: Solves>(rows: &mut Rows<'_>) {
    let problems: [(&str, u64, Make); 7] = [
        ("quicksort", 100_000, Problem::quicksort),
        ("merge_sort", 100_000, Problem::merge_sort),
        ("matmul", 128, Problem::matmul),
        ("unbalanced", 10_000, Problem::unbalanced),
        ("coarse", 16, Problem::coarse),
        ("coarse", 192, Problem::coarse),
        ("shallow_wide", 1_000, Problem::shallow_wide),
    ];
    for workers in WORKERS {
        for (name, size, problem) in problems {
            let name = format!("joins_{name}");
            rows.row(&name, S::NAME, format!("{size}-t{workers}"), || {
                joins::solve(S::new(workers), problem(size))
            });
        }
    }
}

fn rows(criterion: &mut Criterion) {
    let rows = &mut Rows::new(criterion, "fork");
    all::<Fork>(rows);
    all::<Rayon>(rows);
    threads(rows);
    all_joins::<Ours>(rows);
    all_joins::<Guest>(rows);
    all_joins::<Chili>(rows);
    all_joins::<RayonJoins>(rows);
    all_problems::<Guest>(rows);
    all_problems::<Chili>(rows);
    all_problems::<RayonJoins>(rows);
}

criterion_group!(benches, rows);
criterion_main!(benches);
