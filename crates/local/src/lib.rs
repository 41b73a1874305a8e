//! Single-thread executors without locks, and on their own thread all but without read-modify-writes, sound under wakes from any
//! other; and the task handles that all Terrace executors share.
#![doc = include_str!("../README.md")]
#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod biased;
#[cfg(any(not(feature = "std"), doc))]
pub mod context;
#[cfg(not(terrace_loom))]
mod core;
#[cfg(not(terrace_loom))]
mod drive;
pub mod driver;
#[cfg(not(terrace_loom))]
mod executor;
#[cfg(not(terrace_loom))]
mod hook;
pub mod mailbox;
#[cfg(not(terrace_loom))]
mod owned;
pub mod registry;
mod sleepers;
#[cfg(not(terrace_loom))]
mod spawner;
#[cfg(not(terrace_loom))]
mod static_executor;
#[cfg(not(terrace_loom))]
pub mod task;
#[cfg(not(terrace_loom))]
mod thread_id;
mod unwind;

pub use unwind::{Payload, drop_payload};

#[cfg(not(terrace_loom))]
pub use crate::{
    core::LocalCore,
    executor::LocalExecutor,
    owned::OwnedCore,
    spawner::LocalSpawner,
    static_executor::StaticLocalExecutor,
    task::{FallibleTask, Task},
    thread_id::{ThreadNumber, thread_id},
};
