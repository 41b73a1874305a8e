//! Single-thread executors without locks or queue atomics on their own thread, sound under wakes from any
//! other; and the task cell that all Terrace executors share.
#![doc = include_str!("../README.md")]

#[cfg(not(terrace_loom))]
mod core;
#[cfg(not(terrace_loom))]
mod drive;
pub mod driver;
#[cfg(not(terrace_loom))]
mod executor;
pub mod mailbox;
pub mod registry;
#[cfg(not(terrace_loom))]
mod static_executor;
#[cfg(not(terrace_loom))]
pub mod task;
#[cfg(not(terrace_loom))]
mod thread_id;

#[cfg(not(terrace_loom))]
pub use crate::{
    core::{LocalCore, WakeHook},
    executor::LocalExecutor,
    static_executor::StaticLocalExecutor,
    task::{FallibleTask, Task},
    thread_id::thread_id,
};

/// What a panic carries.
pub type Payload = Box<dyn std::any::Any + Send>;

/// Drops a payload that nobody is interested in. Its destructor may panic in turn; that panic's payload is
/// leaked rather than dropped, which ends the chain.
pub fn drop_payload(payload: Payload) {
    if let Err(payload) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(payload);
    }
}
