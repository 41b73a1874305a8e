//! Instructions of `terrace-local` and its peers under callgrind: the owner alone.

#![expect(
    missing_docs,
    non_snake_case,
    reason = "gungraun's macros make items; the parts of their names are separated by two underscores"
)]

use gungraun::{library_benchmark, library_benchmark_group, main};
use terrace_benches::counted::{Job, warm};
use terrace_benches::local::{
    self, AsyncExecutor, AsyncExecutorStatic, Local, StaticLocal, TokioLocal,
};
use terrace_benches::spawn::{self, Contender};

/// Tasks or wakes of a row.
const MANY: usize = 1_000;

#[library_benchmark]
#[bench::local__1(warm(spawn::spawn_one(Local::new(1))))]
#[bench::static_local__1(warm(spawn::spawn_one(StaticLocal::new(1))))]
#[bench::async_executor__1(warm(spawn::spawn_one(AsyncExecutor::new(1))))]
#[bench::static_async_executor__1(warm(spawn::spawn_one(AsyncExecutorStatic::new(1))))]
#[bench::tokio__1(warm(spawn::spawn_one(TokioLocal::new(1))))]
fn spawn_one(mut job: Job) -> Job {
    job();
    job
}

#[library_benchmark]
#[bench::local__250(warm(spawn::spawn_batch(Local::new(1))))]
#[bench::static_local__250(warm(spawn::spawn_batch(StaticLocal::new(1))))]
#[bench::async_executor__250(warm(spawn::spawn_batch(AsyncExecutor::new(1))))]
#[bench::static_async_executor__250(warm(spawn::spawn_batch(AsyncExecutorStatic::new(1))))]
#[bench::tokio__250(warm(spawn::spawn_batch(TokioLocal::new(1))))]
fn spawn_batch(mut job: Job) -> Job {
    job();
    job
}

#[library_benchmark]
#[bench::local__300x300(warm(spawn::spawn_recursively(Local::new(1))))]
#[bench::static_local__300x300(warm(spawn::spawn_recursively(StaticLocal::new(1))))]
#[bench::async_executor__300x300(warm(spawn::spawn_recursively(AsyncExecutor::new(1))))]
#[bench::static_async_executor__300x300(warm(spawn::spawn_recursively(
    AsyncExecutorStatic::new(1)
)))]
#[bench::tokio__300x300(warm(spawn::spawn_recursively(TokioLocal::new(1))))]
fn spawn_recursively(mut job: Job) -> Job {
    job();
    job
}

#[library_benchmark]
#[bench::local__300x300(warm(spawn::yield_now(Local::new(1))))]
#[bench::static_local__300x300(warm(spawn::yield_now(StaticLocal::new(1))))]
#[bench::async_executor__300x300(warm(spawn::yield_now(AsyncExecutor::new(1))))]
#[bench::static_async_executor__300x300(warm(spawn::yield_now(AsyncExecutorStatic::new(1))))]
#[bench::tokio__300x300(warm(spawn::yield_now(TokioLocal::new(1))))]
fn yield_now(mut job: Job) -> Job {
    job();
    job
}

#[library_benchmark]
#[bench::local__300x300(warm(spawn::channels(Local::new(1))))]
#[bench::static_local__300x300(warm(spawn::channels(StaticLocal::new(1))))]
#[bench::async_executor__300x300(warm(spawn::channels(AsyncExecutor::new(1))))]
#[bench::static_async_executor__300x300(warm(spawn::channels(AsyncExecutorStatic::new(1))))]
#[bench::tokio__300x300(warm(spawn::channels(TokioLocal::new(1))))]
fn channels(mut job: Job) -> Job {
    job();
    job
}

#[library_benchmark]
#[bench::local__300(warm(spawn::web_server(Local::new(1))))]
#[bench::static_local__300(warm(spawn::web_server(StaticLocal::new(1))))]
#[bench::async_executor__300(warm(spawn::web_server(AsyncExecutor::new(1))))]
#[bench::static_async_executor__300(warm(spawn::web_server(AsyncExecutorStatic::new(1))))]
#[bench::tokio__300(warm(spawn::web_server(TokioLocal::new(1))))]
fn web_server(mut job: Job) -> Job {
    job();
    job
}

#[library_benchmark]
#[bench::local__1000(warm(local::spawn_run_detach(Local::new(1), MANY)))]
#[bench::static_local__1000(warm(local::spawn_run_detach(StaticLocal::new(1), MANY)))]
#[bench::async_executor__1000(warm(local::spawn_run_detach(AsyncExecutor::new(1), MANY)))]
#[bench::static_async_executor__1000(warm(local::spawn_run_detach(
    AsyncExecutorStatic::new(1),
    MANY
)))]
fn spawn_run_detach(mut job: Job) -> Job {
    job();
    job
}

#[library_benchmark]
#[bench::local__1000(warm(local::wake_self(Local::new(1), MANY)))]
#[bench::static_local__1000(warm(local::wake_self(StaticLocal::new(1), MANY)))]
#[bench::async_executor__1000(warm(local::wake_self(AsyncExecutor::new(1), MANY)))]
#[bench::static_async_executor__1000(warm(local::wake_self(AsyncExecutorStatic::new(1), MANY)))]
fn wake_self(mut job: Job) -> Job {
    job();
    job
}

#[library_benchmark]
#[bench::local__1000(warm(local::wake_owner(Local::new(1), MANY)))]
#[bench::static_local__1000(warm(local::wake_owner(StaticLocal::new(1), MANY)))]
#[bench::async_executor__1000(warm(local::wake_owner(AsyncExecutor::new(1), MANY)))]
#[bench::static_async_executor__1000(warm(local::wake_owner(AsyncExecutorStatic::new(1), MANY)))]
fn wake_owner(mut job: Job) -> Job {
    job();
    job
}

library_benchmark_group!(
    name = rows,
    benchmarks = [
        spawn_one,
        spawn_batch,
        spawn_recursively,
        yield_now,
        channels,
        web_server,
        spawn_run_detach,
        wake_self,
        wake_owner
    ]
);
main!(library_benchmark_groups = [rows]);
