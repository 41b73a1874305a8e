//! Instructions of `terrace-executor` and its peers under callgrind: lookups on and off a worker, and executors without threads of their own that one thread ticks.

#![expect(
    missing_docs,
    non_snake_case,
    reason = "gungraun's macros make items; the parts of their names are separated by two underscores"
)]

use gungraun::{
    Callgrind, EntryPoint, LibraryBenchmarkConfig, library_benchmark, library_benchmark_group, main,
};
use terrace_benches::counted::{Job, cold, warm};
use terrace_benches::executor::{
    AsyncExecutor, AsyncExecutorStatic, Current, ExecutorRun, RayonIndex, StaticExecutorRun,
    TokioHandle, lookup,
};
use terrace_benches::local;
use terrace_benches::spawn::Contender;

/// Tasks or wakes of a row.
const MANY: usize = 1_000;
/// The counted part of the lookups: the loop, on any thread.
const LOOKUPS: &str = "*::ask_many*";

fn lookups() -> LibraryBenchmarkConfig {
    let mut callgrind = Callgrind::default();
    callgrind.entry_point(EntryPoint::Custom(LOOKUPS.to_owned()));
    LibraryBenchmarkConfig::default().tool(callgrind).clone()
}

#[library_benchmark(config = lookups())]
#[bench::current__on_t1(cold(lookup::<Current>(true)))]
#[bench::tokio__on_t1(cold(lookup::<TokioHandle>(true)))]
#[bench::rayon__on_t1(cold(lookup::<RayonIndex>(true)))]
#[bench::current__off(cold(lookup::<Current>(false)))]
#[bench::tokio__off(cold(lookup::<TokioHandle>(false)))]
#[bench::rayon__off(cold(lookup::<RayonIndex>(false)))]
fn current(mut job: Job) -> Job {
    job();
    job
}

#[library_benchmark]
#[bench::executor_run__1000(warm(local::spawn_run_detach(ExecutorRun::new(0), MANY)))]
#[bench::static_executor_run__1000(warm(local::spawn_run_detach(
    StaticExecutorRun::new(0),
    MANY
)))]
#[bench::async_executor__1000(warm(local::spawn_run_detach(AsyncExecutor::new(0), MANY)))]
#[bench::static_async_executor__1000(warm(local::spawn_run_detach(
    AsyncExecutorStatic::new(0),
    MANY
)))]
fn spawn_run_detach(mut job: Job) -> Job {
    job();
    job
}

#[library_benchmark]
#[bench::executor_run__1000(warm(local::wake_owner(ExecutorRun::new(0), MANY)))]
#[bench::static_executor_run__1000(warm(local::wake_owner(StaticExecutorRun::new(0), MANY)))]
#[bench::async_executor__1000(warm(local::wake_owner(AsyncExecutor::new(0), MANY)))]
#[bench::static_async_executor__1000(warm(local::wake_owner(AsyncExecutorStatic::new(0), MANY)))]
fn wake_owner(mut job: Job) -> Job {
    job();
    job
}

library_benchmark_group!(
    name = rows,
    benchmarks = [current, spawn_run_detach, wake_owner]
);
main!(library_benchmark_groups = [rows]);
