//! Instructions of `terrace-thread` and its peers under callgrind: tasks of the own thread.

#![expect(
    missing_docs,
    non_snake_case,
    reason = "gungraun's macros make items; the parts of their names are separated by two underscores"
)]

use gungraun::{library_benchmark, library_benchmark_group, main};
use terrace_benches::counted::{Job, warm};
use terrace_benches::thread::{AsyncExecutorPump, Pinned, TokioPump, spawn_here as spawn_here_of};

/// Tasks.
const MANY: usize = 1_000;

#[library_benchmark]
#[bench::thread_spawner__1000(warm(spawn_here_of::<Pinned>(MANY)))]
#[bench::async_executor__1000(warm(spawn_here_of::<AsyncExecutorPump>(MANY)))]
#[bench::tokio__1000(warm(spawn_here_of::<TokioPump>(MANY)))]
fn spawn_here(mut job: Job) -> Job {
    job();
    job
}

library_benchmark_group!(name = rows, benchmarks = [spawn_here]);
main!(library_benchmark_groups = [rows]);
