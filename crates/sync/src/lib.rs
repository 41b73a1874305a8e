//! The one switch between the real primitives and the model checkers.
//!
//! Every other Terrace layer takes its atomics, fences, cells, locks, threads and thread-locals from
//! here. Compiled plainly they are thin inlined wrappers around `std`; under a checker's cfg the same
//! names are that checker's instrumented versions, so the code that is modelled is the code that ships.
//!
//! | cfg | effect |
//! |---|---|
//! | *(none)* | `std`, or `core` and `alloc` without feature `std`; nothing added |
//! | `terrace_loom` | [loom](https://docs.rs/loom) explores every interleaving and every permitted stale read |
//! | `terrace_shuttle` | [shuttle](https://docs.rs/shuttle) explores random schedules, sequentially consistent |
//! | `terrace_count` | `std`, and every RMW, fence and lock adds to a thread-local counter ([`count`]) |
//! | `terrace_tsan` | `std`, and every fence also touches one global atomic: ThreadSanitizer ignores bare fences |
//!
//! Without feature `std` there are atomics, fences, cells, `Arc`, `OnceLock` and nothing that blocks: no lock, no thread,
//! no thread-local. All of it may be used in an interrupt.
//!
//! The API is the intersection of what the three backends can do; it is declared once, so code that
//! compiles on `std` compiles under the checkers.
//!
//! # Rules for users
//!
//! - No `SeqCst` *accesses*: loom treats them as `AcqRel`. Write handshakes with read-modify-write
//!   operations and the fences [`light`] and [`heavy`].
//! - `const` constructors do not exist under a checker: wrap them in [`const_fn!`], and statics in [`global!`].
//! - Shared data lives in [`cell::UnsafeCell`], which loom watches for races.
//!
//! # Example
//!
//! ```
//! use terrace_sync::atomic::{AtomicU32, Ordering};
//! use terrace_sync::{Arc, model, thread};
//!
//! // Under `terrace_loom` the body runs once for each distinguishable interleaving.
//! model(|| {
//!     let hits = Arc::new(AtomicU32::new(0));
//!     let other = hits.clone();
//!     let t = thread::spawn(move || other.fetch_add(1, Ordering::Relaxed));
//!     hits.fetch_add(1, Ordering::Relaxed);
//!     t.join().unwrap();
//!     assert_eq!(hits.load(Ordering::Relaxed), 2);
//! });
//! ```

#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

#[cfg(all(any(terrace_loom, terrace_shuttle), not(feature = "std")))]
compile_error!("the checkers need feature `std`");
#[cfg(all(not(target_has_atomic = "ptr"), not(feature = "portable-atomic")))]
compile_error!(
    "this target has no compare-exchange: enable feature `portable-atomic`, and say how it may be emulated, see \
     portable-atomic's features `critical-section` and `unsafe-assume-single-core`"
);
#[cfg(all(terrace_loom, not(debug_assertions)))]
compile_error!(
    "terrace_loom models rely on debug assertions: build with `debug-assertions = true`"
);
#[cfg(all(terrace_loom, terrace_shuttle))]
compile_error!("terrace_loom and terrace_shuttle are two checkers: choose one");

#[macro_use]
mod macros;

pub mod atomic;
pub mod cell;
pub mod count;
mod fences;
pub mod hint;
#[cfg(feature = "std")]
mod model;
#[cfg(feature = "std")]
mod mutex;
mod once;
pub mod thread;
#[cfg(feature = "std")]
pub mod time;
pub mod unmodelled;

#[cfg(terrace_loom)]
pub use loom::sync::Arc;
#[cfg(not(terrace_loom))]
pub use unmodelled::Arc;

pub use crossbeam_utils::CachePadded;
#[cfg(feature = "std")]
#[doc(hidden)]
pub use fences::Choice;
pub use fences::{FenceKind, fence_kind, heavy, light};
#[cfg(feature = "std")]
pub use model::model;
#[cfg(feature = "std")]
pub use mutex::{Mutex, MutexGuard};
pub use once::OnceLock;

#[cfg(all(feature = "std", not(any(terrace_loom, terrace_shuttle))))]
#[doc(no_inline)]
pub use std::thread_local;

/// What [`const_fn!`] and the modelled `thread_local!` expand to; not an API.
#[doc(hidden)]
pub mod __private {
    #[cfg(terrace_shuttle)]
    pub use crate::thread::LocalKey;
    #[cfg(terrace_loom)]
    pub use loom::{lazy_static as modelled_lazy_static, thread_local as modelled_thread_local};
    #[cfg(terrace_shuttle)]
    pub use shuttle::{lazy_static as modelled_lazy_static, thread_local as modelled_thread_local};
}
