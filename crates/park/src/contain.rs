//! Calls of users' wakers: a panic there goes no further than the panic hook.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

/// How a user's code ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Returned,
    Panicked,
}

/// Runs a user's code, and contains its panic.
pub(crate) fn contain(user: impl FnOnce()) -> Ended {
    let Err(payload) = catch_unwind(AssertUnwindSafe(user)) else {
        return Ended::Returned;
    };
    // The payload's destructor is the user's, too. This leaks the payload of a panic there, which ends the chain.
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(payload);
    }
    Ended::Panicked
}

/// Drops a waker that is not needed any more. Its destructor is the user's: its panic would unwind out of a driver's poll
/// or drop.
pub(crate) fn discard(waker: Option<Waker>) {
    if let Some(waker) = waker {
        contain(|| drop(waker));
    }
}
