//! Which public types may cross threads.

use static_assertions::{assert_impl_all, assert_not_impl_any};
use std::panic::{RefUnwindSafe, UnwindSafe};
use terrace_fork::{Config, Scope, Spawner};

assert_impl_all!(Scope<'static, 'static>: Send, Sync, Unpin);
assert_impl_all!(&Scope<'static, 'static>: UnwindSafe);
assert_impl_all!(Spawner<'static>: Send, Sync, Copy, Unpin, UnwindSafe, RefUnwindSafe);
assert_impl_all!(Config<'static>: Send, Sync, Copy, Unpin);
assert_not_impl_any!(Scope<'static, 'static>: Clone);

#[test]
fn the_assertions_above_were_compiled() {
    assert!(Config::default().external.is_none());
}
