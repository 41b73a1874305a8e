//! Which public types may cross threads and unwinds.

use std::panic::{RefUnwindSafe, UnwindSafe};

use static_assertions::{assert_impl_all, assert_not_impl_any};
use terrace_executor::{
    Builder, Current, Executor, FallibleTask, RawJob, Shutdown, StaticExecutor, Task,
    ThreadExecutor, Ticker,
};

assert_impl_all!(Executor<'static>: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe);
assert_impl_all!(StaticExecutor: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe);
assert_impl_all!(ThreadExecutor<'static>: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe);
assert_not_impl_any!(Ticker<'static, 'static>: Send, Sync);
assert_impl_all!(Builder: Send, Unpin);
assert_impl_all!(Current: Send, Sync, Copy);
assert_impl_all!(Task<u8>: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe);
assert_impl_all!(FallibleTask<u8>: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe);
assert_impl_all!(RawJob: Send, Sync);
assert_not_impl_any!(Task<std::rc::Rc<u8>>: Send);

/// A type of the program with a job in it needs no destructor for it, so a scope may keep one.
const _: () = assert!(!std::mem::needs_drop::<RawJob>());

#[test]
fn the_assertions_above_were_compiled() {
    assert!(
        terrace_executor::current().is_none(),
        "a test thread is no worker"
    );
}

#[test]
#[expect(deprecated, reason = "they are what is tested")]
fn other_names_of_kinds_of_shutdown_stand_where_variants_do() {
    let name = |kind| match kind {
        Shutdown::Drain => "drain",
        Shutdown::Cancel => "cancel",
        _ => "another",
    };
    let kinds = [
        Shutdown::RunQueued,
        Shutdown::DropQueued,
        Shutdown::FinishAll,
    ];
    assert_eq!(kinds.map(name), ["drain", "cancel", "another"]);
}
