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
#[doc(hidden)]
pub mod cells;
#[cfg(any(not(feature = "std"), doc))]
pub mod context;
mod core;
mod drive;
mod executor;
#[doc(hidden)]
pub mod group;
#[doc(hidden)]
pub mod mailbox;
#[cfg(feature = "std")]
mod name;
mod on_owner;
#[doc(hidden)]
pub mod registry;
#[doc(hidden)]
pub mod relay;
#[doc(hidden)]
pub mod settle;
mod spawn;
mod static_executor;
#[doc(hidden)]
pub mod task;
mod thread_id;
#[cfg(doctest)]
mod types;
mod unwind;
#[doc(hidden)]
pub mod wait_list;

#[cfg(feature = "std")]
pub use crate::{
    abort::{AbortHandle, Abortable, abortable},
    name::{Named, TaskName, named},
};
pub use crate::{
    core::LocalMetrics,
    executor::LocalExecutor,
    group::{Spawn, TaskError, TaskGroup, TaskSet},
    spawn::{LocalScheduler, LocalSpawner},
    static_executor::StaticLocalExecutor,
    task::{FallibleTask, Task, TaskId},
    thread_id::{ThreadNumber, thread_id},
    unwind::Payload,
};
#[doc(hidden)]
pub use crate::{
    core::eager,
    on_owner::OnOwner,
    task::local::cell::LocalCore,
    unwind::{contain, drop_payload},
};
