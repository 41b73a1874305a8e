#![doc = include_str!("../README.md")]
#![cfg_attr(
    docsrs,
    feature(doc_cfg),
    doc(auto_cfg(hide(terrace_loom, terrace_shuttle, terrace_count)))
)]
#![forbid(unsafe_code)]
#![cfg(not(terrace_loom))]
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

pub mod cfg;
mod conditional_send;
pub mod futures;
mod host;
pub mod iter;
mod local_executor;
#[cfg(all(not(target_arch = "wasm32"), feature = "multi_threaded"))]
mod multi;
pub mod par;
mod parallelism;
mod pools;
#[cfg(not(all(not(target_arch = "wasm32"), feature = "multi_threaded")))]
mod single;
mod slice;
#[cfg(doctest)]
mod types;
mod usages;

pub use conditional_send::{BoxedFuture, ConditionalSend, ConditionalSendFuture};
pub use futures_lite;
pub use futures_lite::future::poll_once;
pub use host::block_on;
pub use iter::ParallelIterator;
pub use local_executor::LocalExecutor;
pub use par::{Par, Source};
pub use parallelism::available_parallelism;
#[cfg(all(not(target_arch = "wasm32"), feature = "multi_threaded"))]
pub use pools::ThreadExecutorTicker;
pub use pools::{Scope, TaskPool, TaskPoolBuilder, ThreadExecutor};
pub use slice::{ParallelSlice, ParallelSliceMut};
#[cfg(all(not(target_arch = "wasm32"), feature = "multi_threaded"))]
pub use terrace_executor::{Dump, Metrics, RunnerMetrics, dump_all};
#[cfg(not(feature = "std"))]
pub use terrace_local::context;
#[cfg(feature = "std")]
pub use terrace_local::{AbortHandle, Abortable, Named, TaskName, abortable, named};
pub use terrace_local::{FallibleTask, Spawn, Task, TaskError, TaskGroup, TaskId, TaskSet};
#[cfg(feature = "std")]
pub use terrace_thread::ThreadSpawner;
pub use usages::{
    AsyncComputeTaskPool, ComputeTaskPool, IoTaskPool, tick_global_task_pools_on_main_thread,
};

/// The names that most users of this crate need, to be imported with a `*`.
pub mod prelude {
    pub use crate::{
        AsyncComputeTaskPool, ComputeTaskPool, IoTaskPool, ParallelIterator, ParallelSlice,
        ParallelSliceMut, block_on,
    };
}
