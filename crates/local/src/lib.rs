//! Single-thread executors without locks, sound under wakes from any thread; and the task handles of every Terrace executor.
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

// The layers above and the models use items that are `doc(hidden)`. They are no interface.

#[cfg(feature = "std")]
#[doc(hidden)]
pub mod abort;
#[doc(hidden)]
pub mod biased;
#[cfg(not(terrace_loom))]
#[doc(hidden)]
pub mod cells;
#[cfg(any(not(feature = "std"), doc))]
pub mod context;
#[cfg(not(terrace_loom))]
mod core;
#[cfg(not(terrace_loom))]
mod drive;
#[cfg(not(terrace_loom))]
mod executor;
#[doc(hidden)]
pub mod group;
#[doc(hidden)]
pub mod mailbox;
#[cfg(all(feature = "std", not(terrace_loom)))]
mod name;
mod on_owner;
#[doc(hidden)]
pub mod registry;
#[doc(hidden)]
pub mod relay;
#[cfg(not(terrace_loom))]
#[doc(hidden)]
pub mod settle;
#[cfg(not(terrace_loom))]
mod spawn;
#[cfg(not(terrace_loom))]
mod static_executor;
#[cfg(not(terrace_loom))]
#[doc(hidden)]
pub mod task;
#[cfg(not(terrace_loom))]
mod thread_id;
#[cfg(doctest)]
mod types;
mod unwind;
#[doc(hidden)]
pub mod wait_list;

#[doc(hidden)]
pub use crate::{
    on_owner::OnOwner,
    unwind::{contain, drop_payload},
};
pub use unwind::Payload;

#[cfg(feature = "std")]
pub use crate::abort::{AbortHandle, Abortable, abortable};
#[cfg(all(feature = "std", not(terrace_loom)))]
pub use crate::name::{Named, TaskName, named};

#[cfg(not(terrace_loom))]
pub use crate::{
    core::LocalMetrics,
    executor::LocalExecutor,
    group::{TaskError, TaskGroup, TaskSet},
    spawn::{LocalScheduler, LocalSpawner, Spawn},
    static_executor::StaticLocalExecutor,
    task::{FallibleTask, Task, TaskId},
    thread_id::{ThreadNumber, thread_id},
};
#[cfg(not(terrace_loom))]
#[doc(hidden)]
pub use crate::{core::eager, task::local::cell::LocalCore};
