//! Panics as values. Without feature `std` nothing unwinds: a panic ends the program as its panic handler says, and this
//! module compiles to nothing.

use alloc::boxed::Box;
use core::any::Any;
use core::task::Waker;
#[cfg(feature = "std")]
pub(crate) use std::panic::catch_unwind;
#[cfg(all(feature = "std", not(terrace_loom)))]
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

/// Drops a waker. Its destructor is the user's; its panic stops here.
#[inline]
pub(crate) fn drop_waker(waker: Option<Waker>) {
    #[cold]
    fn drop_it(waker: Waker) {
        contain(|| drop(waker));
    }

    if let Some(waker) = waker {
        drop_it(waker);
    }
}

/// A waker that goes by [`drop_waker`] if users' code unwinds.
pub(crate) struct Unneeded(pub(crate) Option<Waker>);

impl Unneeded {
    /// The code did not unwind: the waker.
    #[inline]
    pub(crate) fn keep(mut self) -> Option<Waker> {
        self.0.take()
    }
}

impl Drop for Unneeded {
    #[inline]
    fn drop(&mut self) {
        drop_waker(self.0.take());
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
