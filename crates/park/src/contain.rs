//! Calls of users' wakers: a panic there goes no further than the panic hook.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

/// Runs a user's code, and contains its panic. Returns whether there was none.
pub(crate) fn contain(user: impl FnOnce()) -> bool {
    let Err(payload) = catch_unwind(AssertUnwindSafe(user)) else {
        return true;
    };
    // The payload's destructor is the user's, too. This leaks the payload of a panic there, which ends the chain.
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(payload);
    }
    false
}

/// Drops a waker that is not needed any more. Its destructor is the user's: its panic would unwind out of a driver's poll
/// or drop.
pub(crate) fn discard(waker: Option<Waker>) {
    if let Some(waker) = waker {
        contain(|| drop(waker));
    }
}
