#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg(not(terrace_loom))]
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

pub mod cfg;
mod conditional_send;
pub mod futures;
#[cfg_attr(feature = "std", path = "host/hosted.rs")]
#[cfg_attr(not(feature = "std"), path = "host/bare.rs")]
mod host;
pub mod iter;
mod local_executor;
#[cfg(all(not(target_arch = "wasm32"), feature = "multi_threaded"))]
mod multi;
#[cfg(not(all(not(target_arch = "wasm32"), feature = "multi_threaded")))]
mod single;
mod slice;
mod usages;

pub use conditional_send::{BoxedFuture, ConditionalSend, ConditionalSendFuture};
pub use futures_lite;
pub use futures_lite::future::poll_once;
pub use host::block_on;
pub use iter::ParallelIterator;
pub use local_executor::LocalExecutor;
#[cfg(all(not(target_arch = "wasm32"), feature = "multi_threaded"))]
pub use multi::{Scope, TaskPool, TaskPoolBuilder, ThreadExecutor, ThreadExecutorTicker};
#[cfg(not(all(not(target_arch = "wasm32"), feature = "multi_threaded")))]
pub use single::{Scope, TaskPool, TaskPoolBuilder, ThreadExecutor};
pub use slice::{ParallelSlice, ParallelSliceMut};
pub use terrace_local::{FallibleTask, Task};
#[cfg(feature = "std")]
pub use terrace_thread::ThreadSpawner;
pub use usages::{
    AsyncComputeTaskPool, ComputeTaskPool, IoTaskPool, tick_global_task_pools_on_main_thread,
};

/// What most users of this crate need, to be imported with a `*`.
pub mod prelude {
    pub use crate::{
        AsyncComputeTaskPool, ComputeTaskPool, IoTaskPool, ParallelIterator, ParallelSlice,
        ParallelSliceMut, block_on,
    };
}

/// How many threads the process can run at once, as the operating system says; 1 if it does not say.
///
/// Asks anew in every call, which takes some microseconds. Without feature `std` there is nobody to ask: 1.
pub fn available_parallelism() -> usize {
    #[cfg(feature = "std")]
    return std::thread::available_parallelism().map_or(1, usize::from);
    #[cfg(not(feature = "std"))]
    1
}
