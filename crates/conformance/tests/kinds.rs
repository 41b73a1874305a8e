//! Every kind shows every behaviour that it promises.

mod common;

use terrace_conformance::kinds::{
    Local, Pool, RemoteThread, Running, StaticLocal, StaticPool, Tasks, Thread, Ticked,
};
use terrace_conformance::{Behaviour, Kind, all_behaviours, behaviours, kinds};

fn conforms<K: Kind>(behaviours: Vec<Behaviour<K>>) {
    let failures = common::failures(behaviours);
    assert!(
        failures.is_empty(),
        "{} does not conform:\n{}",
        K::name(),
        failures.join("\n")
    );
}

macro_rules! kinds {
    ($($test:ident: $kind:ty, $behaviours:ident;)+) => {
        $(#[test]
        fn $test() {
            conforms($behaviours::<$kind>());
        })+

        #[test]
        fn every_kind_is_tested() {
            let mut all: Vec<_> = kinds::all().into_iter().map(|case| case.kind).collect();
            all.dedup();
            assert_eq!(all, [$(<$kind>::name()),+]);
        }
    };
}

kinds! {
    local: Local, all_behaviours;
    static_local: StaticLocal, all_behaviours;
    executor_without_workers: Pool<0>, all_behaviours;
    static_executor_without_workers: StaticPool<0>, all_behaviours;
    local_by_tick: Ticked<Local>, behaviours;
    local_by_run: Running<Local>, behaviours;
    executor_by_tick: Ticked<Pool<0>>, behaviours;
    executor_by_run: Running<Pool<0>>, behaviours;
    thread: Thread, behaviours;
    executor_with_one_worker: Pool<1>, all_behaviours;
    executor_with_two_workers: Pool<2>, all_behaviours;
    static_executor_with_one_worker: StaticPool<1>, all_behaviours;
    static_executor_with_two_workers: StaticPool<2>, all_behaviours;
    executor_with_one_worker_and_a_run: Running<Pool<1>>, behaviours;
    thread_from_elsewhere: RemoteThread, behaviours;
    task_pool: Tasks, behaviours;
}
