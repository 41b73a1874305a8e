//! The promises of public types to the compiler.

use std::fmt::Debug;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;

use static_assertions::{assert_impl_all, assert_not_impl_any};
use terrace_tasks::*;
use terrace_testing::watchdog;

assert_impl_all!(TaskPool: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe, Debug, Default);
assert_impl_all!(ComputeTaskPool: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe, Debug);
assert_impl_all!(TaskPoolBuilder: Unpin, Debug, Default);
assert_impl_all!(Task<u8>: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe, Debug, Future<Output = u8>);
assert_impl_all!(FallibleTask<u8>: Send, Sync, Unpin, Future<Output = Option<u8>>);
assert_not_impl_any!(Task<Rc<u8>>: Send);
assert_impl_all!(ThreadExecutor<'static>: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe, Debug, Default);
assert_impl_all!(ThreadSpawner: Send, Sync, Clone, Unpin);
assert_not_impl_any!(LocalExecutor<'static>: Send, Sync);
assert_impl_all!(BoxedFuture<'static, u8>: Send);

#[cfg(feature = "multi_threaded")]
mod multi {
    use super::*;

    assert_impl_all!(TaskPoolBuilder: Send, Sync);
    assert_impl_all!(Scope<'static, 'static, u8>: Send, Sync, Unpin, Debug);
    assert_impl_all!(ThreadExecutorTicker<'static, 'static>: Debug);
    assert_not_impl_any!(ThreadExecutorTicker<'static, 'static>: Send, Sync);
}

#[cfg(not(feature = "multi_threaded"))]
mod single {
    use super::*;

    assert_impl_all!(TaskPool: Clone);
    assert_impl_all!(TaskPoolBuilder: Clone);
    assert_impl_all!(Scope<'static, 'static, u8>: Debug);
}

/// The executor also runs tasks whose borrows are shorter than `'static`.
#[cfg(feature = "multi_threaded")]
#[test]
fn an_external_executor_may_hold_borrowed_tasks() {
    let _watchdog = watchdog();
    let word = String::from("borrowed");
    let executor = ThreadExecutor::new();
    let task = executor.spawn(async { word.len() });
    let pool = TaskPoolBuilder::new().num_threads(1).build();
    let results = pool.scope_with_executor(false, Some(&executor), |scope| {
        scope.spawn_on_external(async { 1 });
    });
    assert_eq!(results, [1]);
    let ticker = executor.ticker().expect("made on this thread");
    while ticker.try_tick() {}
    assert_eq!(block_on(task), 8);
}

#[test]
fn the_conditions_answer_for_this_build() {
    let _watchdog = watchdog();
    let fixed = [
        cfg::std!(),
        cfg::alloc!(),
        cfg::web!(),
        cfg::conditional_send!(),
    ];
    assert_eq!(fixed, [true, true, false, false]);
    assert_eq!(cfg::multi_threaded!(), cfg!(feature = "multi_threaded"));
    assert_eq!(cfg::async_executor!(), cfg!(feature = "async_executor"));
    let mut kept = 0;
    cfg::std! { kept += 1; }
    cfg::web! { kept += 10; }
    cfg::web! { if { kept += 100; } else { kept += 1_000; } }
    assert_eq!(kept, 1_001);
}
