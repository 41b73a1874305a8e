//! The configuration of this build of the crate, as macros.
//!
//! Each name here is a macro with three forms. `name!()` is a `bool`. `name! { code }` keeps the code when the
//! condition holds. `name! { if { code } else { other } }` chooses. A macro answers for the crate that defines it, so a
//! dependent needs no features of its own to ask.
//!
//! ```
//! use terrace_tasks::cfg;
//!
//! let kind = if cfg::multi_threaded!() { "worker threads" } else { "the calling thread" };
//! assert!(!kind.is_empty());
//!
//! cfg::std! {
//!     if { fn has_std() -> bool { true } } else { fn has_std() -> bool { false } }
//! }
//! assert!(has_std());
//! ```

/// The condition holds: the code is kept.
#[doc(hidden)]
#[macro_export]
macro_rules! __condition_holds {
    () => { true };
    (if { $($yes:tt)* } else { $($no:tt)* }) => { $($yes)* };
    ($($code:tt)*) => { $($code)* };
}

/// The condition does not hold: the code is left out.
#[doc(hidden)]
#[macro_export]
macro_rules! __condition_fails {
    () => { false };
    (if { $($yes:tt)* } else { $($no:tt)* }) => { $($no)* };
    ($($code:tt)*) => {};
}

/// The `alloc` crate is available: always.
pub use __condition_holds as alloc;

/// The standard library is available: feature `std`.
#[cfg(not(feature = "std"))]
pub use __condition_fails as std;
/// The standard library is available: feature `std`.
#[cfg(feature = "std")]
pub use __condition_holds as std;

/// The browser's APIs are available: never, for now.
pub use __condition_fails as web;

/// Feature `async_executor` is on.
#[cfg(not(feature = "async_executor"))]
pub use __condition_fails as async_executor;
/// Feature `async_executor` is on.
#[cfg(feature = "async_executor")]
pub use __condition_holds as async_executor;

/// Pools have worker threads: feature `multi_threaded`, on a target that has threads.
#[cfg(not(all(not(target_arch = "wasm32"), feature = "multi_threaded")))]
pub use __condition_fails as multi_threaded;
/// Pools have worker threads: feature `multi_threaded`, on a target that has threads.
#[cfg(all(not(target_arch = "wasm32"), feature = "multi_threaded"))]
pub use __condition_holds as multi_threaded;

/// The target's futures are often not `Send`, and [`ConditionalSend`](crate::ConditionalSend) asks nothing.
#[cfg(not(target_arch = "wasm32"))]
pub use __condition_fails as conditional_send;
/// The target's futures are often not `Send`, and [`ConditionalSend`](crate::ConditionalSend) asks nothing.
#[cfg(target_arch = "wasm32")]
pub use __condition_holds as conditional_send;
