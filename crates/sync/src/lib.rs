//! The one switch between the real primitives and the model checkers.
#![doc = include_str!("../README.md")]
#![cfg_attr(
    docsrs,
    feature(doc_cfg),
    doc(auto_cfg(hide(terrace_loom, terrace_shuttle, terrace_count)))
)]
#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

#[cfg(all(any(terrace_loom, terrace_shuttle), not(feature = "checkers")))]
compile_error!(
    "`cfg(terrace_loom)` and `cfg(terrace_shuttle)` need feature `checkers`: a package of models turns it on"
);
#[cfg(all(not(target_has_atomic = "ptr"), not(feature = "portable-atomic")))]
compile_error!(
    "this target has no compare-exchange: enable feature `portable-atomic`, and say how it may be emulated, see \
     portable-atomic's features `critical-section` and `unsafe-assume-single-core`"
);
#[cfg(all(terrace_loom, not(debug_assertions)))]
compile_error!(
    "terrace_loom models rely on debug assertions: build with `debug-assertions = true`"
);
#[cfg(all(terrace_keyed_tls, not(feature = "std")))]
compile_error!("`cfg(terrace_keyed_tls)` needs feature `std`, which has thread-locals");
#[cfg(all(terrace_loom, terrace_shuttle))]
compile_error!("terrace_loom and terrace_shuttle are two checkers: choose one");

#[macro_use]
mod macros;

pub mod atomic;
pub mod cell;
pub mod count;
mod fences;
pub mod hint;
#[cfg(all(terrace_jitter, feature = "std"))]
mod jitter;
#[cfg(feature = "std")]
mod model;
#[cfg(feature = "std")]
mod mutex;
mod once;
#[cfg(feature = "std")]
#[doc(hidden)]
pub mod report;
#[cfg(terrace_loom)]
mod tally;
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
pub use fences::{FenceKind, barriers, fence_kind, heavy, light, steal};
#[cfg(feature = "std")]
pub use model::model;
#[cfg(feature = "std")]
pub use mutex::{Mutex, MutexGuard};
pub use once::OnceLock;

#[cfg(all(
    feature = "std",
    not(any(terrace_loom, terrace_shuttle, terrace_keyed_tls))
))]
#[doc(no_inline)]
pub use std::thread_local;

by_thread_locals! {
    keyed {
        const TARGET_KEYS_LOCALS: bool = true;
    }
    native {
        const TARGET_KEYS_LOCALS: bool = false;
    }
}

/// Whether thread-locals are behind keys of the system, see [`by_thread_locals!`].
#[doc(hidden)]
pub const LOCALS_ARE_KEYED: bool = TARGET_KEYS_LOCALS || cfg!(terrace_keyed_tls);

/// For an allocator, which the other kinds of thread-locals would call.
#[cfg(feature = "std")]
#[doc(hidden)]
pub use std::thread_local as native_thread_local;

/// The expansion of [`const_fn!`] and of the modelled `thread_local!`; not an API.
#[doc(hidden)]
pub mod __private {
    #[cfg(any(terrace_loom, terrace_shuttle))]
    pub use crate::model::is_weakened;
    #[cfg(any(terrace_shuttle, terrace_keyed_tls))]
    pub use crate::thread::LocalKey;
    #[cfg(terrace_loom)]
    pub use loom::{lazy_static as modelled_lazy_static, thread_local as modelled_thread_local};
    #[cfg(terrace_shuttle)]
    pub use shuttle::{lazy_static as modelled_lazy_static, thread_local as modelled_thread_local};
}
