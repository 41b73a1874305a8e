//! Async executors, fork-join and task pools for one set of threads. Each module is a crate of its own.
#![cfg_attr(feature = "fork", doc = include_str!("../README.md"))]
#![cfg_attr(
    docsrs,
    feature(doc_cfg),
    doc(auto_cfg(hide(terrace_loom, terrace_shuttle, terrace_count)))
)]
#![no_std]

pub use terrace_local as local;

#[cfg(feature = "executor")]
pub use terrace_executor as executor;
#[cfg(feature = "fork")]
pub use terrace_fork as fork;
#[cfg(feature = "park")]
pub use terrace_park as park;
#[cfg(feature = "queue")]
pub use terrace_queue as queue;
#[cfg(feature = "sync")]
pub use terrace_sync as sync;
#[cfg(feature = "tasks")]
pub use terrace_tasks as tasks;
#[cfg(feature = "std")]
pub use terrace_thread as thread;
#[cfg(any(feature = "trace", feature = "timeline"))]
pub use terrace_trace as trace;

// They use all modules.
#[cfg(all(
    doctest,
    feature = "blocking",
    feature = "fork",
    feature = "inspect",
    feature = "sync",
    feature = "tasks"
))]
mod book;
