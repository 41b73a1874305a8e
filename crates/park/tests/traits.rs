//! Which threads the public types may go to.

use std::panic::{RefUnwindSafe, UnwindSafe};

use static_assertions::{assert_impl_all, assert_not_impl_any};
use terrace_park::{Idle, Parker, Restricted, Token, Unparker, Wake, Woken};

assert_impl_all!(Token: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe);
assert_impl_all!(Woken: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe);
assert_impl_all!(Unparker: Send, Sync, Unpin, Clone);
assert_impl_all!(Wake: Send, Sync, Copy, Eq);
assert_impl_all!(Restricted: Send, Sync, Copy, Eq);
assert_impl_all!(Idle: Send, Sync, Unpin);
assert_not_impl_any!(Token: Copy, Clone);
assert_not_impl_any!(Parker: Send, Sync, Clone);

/// A token is one word, so that passing it about costs nothing.
#[test]
fn a_token_is_one_word() {
    assert_eq!(size_of::<Token>(), size_of::<usize>());
    assert_eq!(size_of::<Option<Parker>>(), size_of::<usize>());
}
