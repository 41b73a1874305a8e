//! Panics as values. Without feature `std` nothing unwinds: a panic ends the program as its panic handler says, and this
//! module compiles to nothing.

use alloc::boxed::Box;
use core::any::Any;
#[cfg(feature = "std")]
pub(crate) use std::panic::catch_unwind;
#[cfg(feature = "std")]
pub(crate) use std::panic::resume_unwind;

/// The payload of a panic.
pub type Payload = Box<dyn Any + Send>;

/// Drops a payload that no handle takes. Its destructor may panic in turn. This function leaks the payload of that second
/// panic, which ends the chain.
pub fn drop_payload(payload: Payload) {
    if let Err(payload) = catch_unwind(core::panic::AssertUnwindSafe(|| drop(payload))) {
        core::mem::forget(payload);
    }
}

/// Calls `f`, and stops its panic. The caller is a destructor, or ends a task, or is called by async-task, which would abort the
/// process.
pub fn contain(f: impl FnOnce()) {
    if let Err(payload) = catch_unwind(core::panic::AssertUnwindSafe(f)) {
        drop_payload(payload);
    }
}

/// A value of users, if there is one, such as a waker or a closure. A panic of its destructor stops here.
pub(crate) struct Contained<T>(pub(crate) Option<T>);

/// A closure of users.
pub(crate) type Callback<F> = Contained<Box<F>>;

impl<T> Contained<T> {
    /// The value, as its owner had it.
    #[inline]
    pub(crate) fn into_inner(mut self) -> Option<T> {
        self.0.take()
    }
}

impl<T> Drop for Contained<T> {
    #[inline]
    fn drop(&mut self) {
        #[cold]
        fn drop_it<T>(value: T) {
            contain(|| drop(value));
        }

        if let Some(value) = self.0.take() {
            drop_it(value);
        }
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

/// Unreachable in practice: without unwinding there is no payload.
#[cfg(not(feature = "std"))]
#[cold]
pub(crate) fn resume_unwind(payload: Payload) -> ! {
    drop(payload);
    panic!("a task panicked")
}
