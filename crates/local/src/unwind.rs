//! Panics as values. Without feature `std` there is no unwinding: a panic ends the program as its panic handler says, and
//! what is here compiles to nothing.

use alloc::boxed::Box;
use core::any::Any;
#[cfg(feature = "std")]
pub(crate) use std::panic::catch_unwind;
#[cfg(all(feature = "std", not(terrace_loom)))]
pub(crate) use std::panic::resume_unwind;

/// What a panic carries.
pub type Payload = Box<dyn Any + Send>;

/// Drops a payload that nobody is interested in. Its destructor may panic in turn; that panic's payload is
/// leaked rather than dropped, which ends the chain.
pub fn drop_payload(payload: Payload) {
    if let Err(payload) = catch_unwind(core::panic::AssertUnwindSafe(|| drop(payload))) {
        core::mem::forget(payload);
    }
}

/// Calls `f`, whose panics do not come back.
#[cfg(not(feature = "std"))]
#[inline(always)]
#[expect(
    clippy::unnecessary_wraps,
    reason = "stands in for the function of std with this signature"
)]
pub(crate) fn catch_unwind<R>(f: impl FnOnce() -> R) -> Result<R, Payload> {
    Ok(f())
}

/// Unreachable in practice: without unwinding nobody has a payload.
#[cfg(not(feature = "std"))]
#[cold]
pub(crate) fn resume_unwind(payload: Payload) -> ! {
    drop(payload);
    panic!("a task panicked")
}
