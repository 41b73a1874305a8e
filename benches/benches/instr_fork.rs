//! Instructions of `terrace-fork` and its peers under callgrind: a scope without children, by a thread outside the pool of one worker;
//! joins, by a thread that is the only one of its pool. rayon's run on another thread.

#![expect(
    missing_docs,
    non_snake_case,
    reason = "gungraun's macros make items; the parts of their names are separated by two underscores"
)]

use gungraun::{library_benchmark, library_benchmark_group, main};
use terrace_benches::counted::{Job, warm};
use terrace_benches::fork::joins::{Joins, fib, tree};
use terrace_benches::fork::pools::{Chili, Guest};
use terrace_benches::fork::{Fork, Rayon, Scopes, empty_children as empty_children_of};

#[library_benchmark]
#[bench::fork__0_t1(warm(empty_children_of(Fork::new(1), 0)))]
#[bench::rayon__0_t1(warm(empty_children_of(Rayon::new(1), 0)))]
fn empty_children(mut job: Job) -> Job {
    job();
    job
}

#[library_benchmark]
#[bench::fork_guest__1023x0_t1(warm(tree::<_, 0>(Guest::new(1), 10, 0)))]
#[bench::chili__1023x0_t1(warm(tree::<_, 0>(Chili::new(1), 10, 0)))]
fn joins_tree(mut job: Job) -> Job {
    job();
    job
}

#[library_benchmark]
#[bench::fork_guest__20_t1(warm(fib(Guest::new(1), 20)))]
#[bench::chili__20_t1(warm(fib(Chili::new(1), 20)))]
fn joins_fib(mut job: Job) -> Job {
    job();
    job
}

library_benchmark_group!(
    name = rows,
    benchmarks = [empty_children, joins_tree, joins_fib]
);
main!(library_benchmark_groups = [rows]);
