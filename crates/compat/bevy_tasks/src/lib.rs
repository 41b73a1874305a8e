#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![no_std]

pub use terrace_tasks::{
    AsyncComputeTaskPool, BoxedFuture, ComputeTaskPool, ConditionalSend, ConditionalSendFuture,
    IoTaskPool, ParallelIterator, ParallelSlice, ParallelSliceMut, Scope, Task, TaskPool,
    TaskPoolBuilder, ThreadExecutor, available_parallelism, block_on, futures, futures_lite,
    poll_once, prelude, tick_global_task_pools_on_main_thread,
};

#[cfg(all(not(target_arch = "wasm32"), feature = "multi_threaded"))]
pub use terrace_tasks::ThreadExecutorTicker;

/// The crate that this one stands on, with the names that the published crate does not have. They are here alone: a program may import
/// this crate and others with a `*` each.
pub use terrace_tasks as terrace;

/// The configuration of this build of the crate, as macros; see `bevy_platform::cfg`.
///
/// This crate declares them and does not take them from `terrace_tasks`. The aliases answer for the features of the
/// crate that defines them, and those of `bevy_platform` are part of the published interface.
pub mod cfg {
    pub use bevy_platform::cfg::{alloc, std, web};

    bevy_platform::cfg::define_alias! {
        #[cfg(feature = "async_executor")] => {
            /// Feature `async_executor` is on.
            async_executor
        }

        #[cfg(all(not(target_arch = "wasm32"), feature = "multi_threaded"))] => {
            /// Pools have worker threads.
            multi_threaded
        }

        #[cfg(target_arch = "wasm32")] => {
            /// The target's futures are often not `Send`, and [`ConditionalSend`](crate::ConditionalSend) asks nothing.
            conditional_send
        }

        #[cfg(feature = "async-io")] => {
            /// Feature `async-io` is on. The published crate has this macro up to Bevy 0.18.
            async_io
        }

        #[cfg(feature = "futures-lite")] => {
            /// Feature `futures-lite` is on. The published crate has this macro up to Bevy 0.18.
            futures_lite
        }
    }
}
