//! The pools of this build: with threads, or without.

#[cfg(all(not(target_arch = "wasm32"), feature = "multi_threaded"))]
pub use crate::multi::{Scope, TaskPool, TaskPoolBuilder, ThreadExecutor, ThreadExecutorTicker};
#[cfg(not(all(not(target_arch = "wasm32"), feature = "multi_threaded")))]
pub use crate::single::{Scope, TaskPool, TaskPoolBuilder, ThreadExecutor};
