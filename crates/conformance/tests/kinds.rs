//! Every kind shows every behaviour that it promises.

mod common;

use std::collections::BTreeSet;

use terrace_conformance::kinds::{
    self, Local, Pool, RemoteThread, Running, StaticLocal, StaticPool, Tasks, Thread, Ticked,
    Waited,
};
use terrace_conformance::{Case, Make};
use terrace_testing::{Watchdog, limit};

/// The cases are those of the library, which has them compiled.
fn conforms(kind: &str) {
    let all = kinds::all();
    let (all_before, mut failures) = (all.len(), Vec::new());
    let cases = all.into_iter().filter(|case| case.kind == kind);
    let mut checked = 0;
    for Case { kind, name, run } in cases {
        checked += 1;
        // A case that hangs ends here, and says where: no case after it would be alone.
        let watched = move || {
            let _watchdog = Watchdog::within(limit() * 3 / 2);
            run();
        };
        failures.extend(common::failure(&format!("{kind}: {name}"), watched));
    }
    assert!(
        0 < checked && checked < all_before,
        "the kind is one of several"
    );
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The kinds that show a behaviour whose name begins so.
fn kinds_with(begin: &str) -> BTreeSet<String> {
    let cases = kinds::all().into_iter();
    let cases = cases.filter(|case| case.name.starts_with(begin));
    cases.map(|case| case.kind).collect()
}

macro_rules! kinds {
    ($($(#[$attr:meta])* $test:ident: $kind:ty;)+) => {
        $($(#[$attr])*
        #[test]
        fn $test() {
            conforms(&<$kind>::name());
        })+

        #[test]
        fn every_kind_is_tested() {
            let all: BTreeSet<_> = kinds::all().into_iter().map(|case| case.kind).collect();
            assert_eq!(all, BTreeSet::from([$($(#[$attr])* <$kind>::name()),+]));
            let of = |group| kinds_with(group).len();
            // Those with drivers and batches, and those that a program shuts down.
            assert_eq!(["drivers::", "batch::", "ending::"].map(of), [8, 8, 3]);
            assert_eq!(kinds_with("basics::zero_sized_futures_run"), all);
        }
    };
}

kinds! {
    local: Local;
    static_local: StaticLocal;
    executor_without_workers: Pool<0>;
    static_executor_without_workers: StaticPool<0>;
    local_by_tick: Ticked<Local>;
    local_by_run: Running<Local>;
    executor_by_tick: Ticked<Pool<0>>;
    executor_by_run: Running<Pool<0>>;
    thread: Thread;
    executor_with_one_worker: Pool<1>;
    executor_with_two_workers: Pool<2>;
    static_executor_with_one_worker: StaticPool<1>;
    static_executor_with_two_workers: StaticPool<2>;
    executor_with_one_worker_and_a_run: Running<Pool<1>>;
    thread_from_elsewhere: RemoteThread;
    executor_without_workers_by_waiting: Waited;
    task_pool: Tasks<2>;
    #[cfg(feature = "multi_threaded")]
    task_pool_without_threads: Tasks<0>;
    #[cfg(feature = "multi_threaded")]
    task_pool_with_one_thread: Tasks<1>;
}
