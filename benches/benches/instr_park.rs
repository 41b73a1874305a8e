//! Instructions of `terrace-park` and its peers under callgrind: no thread sleeps.

#![expect(
    missing_docs,
    non_snake_case,
    reason = "gungraun's macros make items; the parts of their names are separated by two underscores"
)]

use event_listener::Event;
use gungraun::{library_benchmark, library_benchmark_group, main};
use terrace_benches::counted::{Job, warm};
use terrace_benches::park::{
    Crossbeam, Listener, Std, StdGroup, publish_none_parked, publish_searching,
    unpark_then_park as unpark_then_park_of,
};
use terrace_park::{Idle, Parker};

#[library_benchmark]
#[bench::parker__1(warm(unpark_then_park_of::<Parker>()))]
#[bench::crossbeam__1(warm(unpark_then_park_of::<Crossbeam>()))]
#[bench::std__1(warm(unpark_then_park_of::<Std>()))]
#[bench::event_listener__1(warm(unpark_then_park_of::<Listener>()))]
fn unpark_then_park(mut job: Job) -> Job {
    job();
    job
}

#[library_benchmark]
#[bench::idle__none_parked(warm(publish_none_parked::<Idle>()))]
#[bench::event_listener__none_parked(warm(publish_none_parked::<Event>()))]
#[bench::std__none_parked(warm(publish_none_parked::<StdGroup>()))]
#[bench::idle__searching(warm(publish_searching()))]
fn publish(mut job: Job) -> Job {
    job();
    job
}

library_benchmark_group!(name = rows, benchmarks = [unpark_then_park, publish]);
main!(library_benchmark_groups = [rows]);
