//! Instructions of `terrace-fork` and its peers under callgrind: a scope without children, by a thread outside the pool of one worker.

#![expect(
    missing_docs,
    non_snake_case,
    reason = "gungraun's macros make items; the parts of their names are separated by two underscores"
)]

use gungraun::{library_benchmark, library_benchmark_group, main};
use terrace_benches::counted::{Job, warm};
use terrace_benches::fork::{Fork, Rayon, Scopes, empty_children as empty_children_of};

#[library_benchmark]
#[bench::fork__0_t1(warm(empty_children_of(Fork::new(1), 0)))]
#[bench::rayon__0_t1(warm(empty_children_of(Rayon::new(1), 0)))]
fn empty_children(mut job: Job) -> Job {
    job();
    job
}

library_benchmark_group!(name = rows, benchmarks = [empty_children]);
main!(library_benchmark_groups = [rows]);
