//! `terrace-fork`: scopes over borrowed data.

use criterion::{Criterion, criterion_group, criterion_main};
#[cfg(terrace_forte)]
use terrace_benches::fork::forte::Forte;
use terrace_benches::fork::joins::{self, Joins, Solves};
use terrace_benches::fork::pools::{Chili, Guest, Ours, RayonJoins};
use terrace_benches::fork::problems::Problem;
use terrace_benches::fork::{self, Fork, Rayon, Scopes, StdScope};
use terrace_benches::{Rows, WORKERS};

/// Children of a flat scope, and their steps.
const FLAT: [(usize, u64); 5] = [
    (64, 100),
    (64, 1_000),
    (64, 10_000),
    (8, 3_000),
    (1_024, 3_000),
];
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
        for (children, steps) in FLAT {
            let param = format!("{children}x{steps}-t{workers}");
            rows.row("flat", S::NAME, param, || {
                fork::flat(S::new(workers), children, steps)
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

/// Levels of trees, and the steps of a node.
const TREES: [(u32, u64); 7] = [
    (10, 0),
    (10, 10),
    (10, 100),
    (16, 0),
    (16, 10),
    (16, 100),
    (20, 0),
];
/// The same of trees that are benched where [`LARGE`] is set: one walk of the largest takes seconds.
const LARGE_TREES: [(u32, u64); 8] = [
    (20, 10),
    (20, 100),
    (24, 0),
    (24, 10),
    (24, 100),
    (27, 0),
    (27, 10),
    (27, 100),
];
/// A variable of the environment.
const LARGE: &str = "TERRACE_LARGE_TREES";

/// The trees that are benched, of those for which the machine has the memory.
fn trees() -> Vec<(u32, u64)> {
    let mut trees = TREES.to_vec();
    if std::env::var_os(LARGE).is_some() {
        let levels = [20, 24, 27].into_iter();
        let most = levels.filter(|levels| joins::fits(*levels)).max();
        trees.extend(LARGE_TREES.iter().filter(|(of, _)| Some(*of) <= most));
    }
    trees
}

/// Joins, also in trees, from either side of each node.
fn all_joins<J: Joins>(rows: &mut Rows<'_>, trees: &[(u32, u64)]) {
    for workers in WORKERS {
        for &(levels, steps) in trees {
            let param = format!("{}x{steps}-t{workers}", joins::nodes(levels));
            rows.row("joins_tree", J::NAME, &param, || {
                joins::tree::<J, 0>(J::new(workers), levels, steps)
            });
            rows.row("joins_tree_mirrored", J::NAME, &param, || {
                joins::tree::<J, 1>(J::new(workers), levels, steps)
            });
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
    let problems: [(&str, u64, Make); 10] = [
        ("quicksort", 100_000, Problem::quicksort),
        ("merge_sort", 100_000, Problem::merge_sort),
        ("matmul", 128, Problem::matmul),
        ("sieve", 2_000_000, Problem::sieve),
        ("life", 200, Problem::life),
        ("nbody", 800, Problem::bodies),
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
    let trees = &trees();
    all_joins::<Ours>(rows, trees);
    all_joins::<Guest>(rows, trees);
    all_joins::<Chili>(rows, trees);
    all_joins::<RayonJoins>(rows, trees);
    all_problems::<Guest>(rows);
    all_problems::<Chili>(rows);
    all_problems::<RayonJoins>(rows);
    #[cfg(terrace_forte)]
    {
        all::<Forte>(rows);
        all_joins::<Forte>(rows, trees);
        all_problems::<Forte>(rows);
    }
}

criterion_group!(benches, rows);
criterion_main!(benches);
