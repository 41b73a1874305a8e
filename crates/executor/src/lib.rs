//! A work-stealing executor of `Send` futures with its own worker threads, and what fork-join
//! scopes stand on.
#![doc = include_str!("../README.md")]

#[doc(hidden)]
pub mod again;
#[cfg(not(terrace_loom))]
mod block_on;
#[cfg(not(terrace_loom))]
mod builder;
#[doc(hidden)]
pub mod bulletin;
#[cfg(not(terrace_loom))]
mod executor;
#[doc(hidden)]
pub mod permits;
#[cfg(not(terrace_loom))]
mod pool;
#[doc(hidden)]
pub mod scope;
#[cfg(not(terrace_loom))]
mod shutdown;
#[cfg(not(terrace_loom))]
mod static_executor;
#[cfg(not(terrace_loom))]
mod thread_executor;
#[doc(hidden)]
pub mod woken;

#[cfg(not(terrace_loom))]
pub use crate::{
    block_on::block_on,
    builder::Builder,
    executor::Executor,
    pool::current::{Current, ExecutorId, current},
    pool::lanes::Lane,
    shutdown::{Shutdown, StillRunning},
    static_executor::StaticExecutor,
    thread_executor::{ThreadExecutor, ThreadQueue, Ticker},
};
#[cfg(not(terrace_loom))]
pub use terrace_local::task::{FallibleTask, Task};

pub use terrace_local::Payload;
#[cfg(not(terrace_loom))]
pub(crate) use terrace_local::drop_payload;
