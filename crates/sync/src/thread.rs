//! Threads and parking.
//!
//! `park` may return without a reason, as in `std`: call it in a loop that checks a condition. `unpark`
//! leaves at most one token, and happens-before the return of the `park` that takes it.
//!
//! Without feature `std` there is only `yield_now`.
//!
//! Under a checker a timeout is a nondeterministic wake. `park_timeout` starts a modelled thread that ends the wait at
//! any point of the schedule, and always at some point. It costs one of loom's five threads a call.

#[cfg(any(terrace_shuttle, terrace_keyed_tls))]
#[cfg_attr(terrace_keyed_tls, path = "thread/keyed.rs")]
mod locals;

#[cfg(any(terrace_shuttle, terrace_keyed_tls))]
#[doc(hidden)]
pub use locals::LocalKey;

#[cfg(feature = "std")]
#[cfg_attr(any(terrace_loom, terrace_shuttle), path = "thread/modelled.rs")]
#[cfg_attr(not(any(terrace_loom, terrace_shuttle)), path = "thread/real.rs")]
mod backend;

#[cfg(feature = "std")]
pub use backend::{Builder, JoinHandle, Thread, current, park, park_timeout, spawn, yield_now};

#[cfg(feature = "std")]
mod joins;

#[cfg(feature = "std")]
pub use joins::can_join;

#[cfg(feature = "std")]
#[doc(hidden)]
pub mod lasting;

#[cfg(feature = "std")]
mod precise;

#[cfg(feature = "std")]
pub use precise::PreciseSleeps;

#[cfg(feature = "std")]
mod processor;

#[cfg(feature = "std")]
pub use processor::LastProcessor;

/// Gives others time where there is no scheduler to ask: a spin hint.
#[cfg(not(feature = "std"))]
#[inline]
pub fn yield_now() {
    core::hint::spin_loop();
}
