//! A work-stealing executor of `Send` futures with its own worker threads, and the base of
//! fork-join scopes.
#![doc = include_str!("../README.md")]
#![cfg_attr(
    docsrs,
    feature(doc_cfg),
    doc(auto_cfg(hide(terrace_loom, terrace_shuttle, terrace_count)))
)]

#[cfg(all(feature = "blocking", not(terrace_loom)))]
mod blocking;
#[cfg(not(terrace_loom))]
mod broadcast;
#[cfg(not(terrace_loom))]
mod builder;
#[cfg(not(terrace_loom))]
mod executor;
#[cfg(not(terrace_loom))]
mod foreign;
#[cfg(not(terrace_loom))]
mod fork_scope;
#[cfg(not(terrace_loom))]
mod guard;
#[cfg(not(terrace_loom))]
mod member;
#[cfg(not(terrace_loom))]
mod metrics;
#[cfg(not(terrace_loom))]
mod parts;
#[cfg(not(terrace_loom))]
mod pool;
#[doc(hidden)]
pub mod protocol;
#[cfg(not(terrace_loom))]
mod raw;
#[cfg(not(terrace_loom))]
mod run;
#[cfg(not(terrace_loom))]
#[doc(hidden)]
pub mod scope;
#[cfg(not(terrace_loom))]
mod spawner;
#[cfg(not(terrace_loom))]
mod static_executor;
#[cfg(not(terrace_loom))]
mod thread_executor;
#[cfg(not(terrace_loom))]
mod threads;
#[cfg(not(terrace_loom))]
mod tuned;
#[cfg(not(terrace_loom))]
mod work;

#[cfg(all(feature = "inspect", not(terrace_loom)))]
pub use crate::parts::long_polls::LongPoll;
#[cfg(all(feature = "signal", unix, not(terrace_loom)))]
pub use crate::pool::dump::dump_on_signal;
#[cfg(not(terrace_loom))]
pub use crate::{
    broadcast::Broadcast,
    builder::Builder,
    executor::Executor,
    foreign::{Scheduler, Starts, StaticScheduler, Tracked},
    member::{Half, Spawnable, SpawnableLocal, Yield, yield_local, yield_now},
    metrics::{Metrics, RunnerMetrics},
    parts::current::{Current, ExecutorId, current},
    parts::injector::Lane,
    parts::threads::WorkerLoop,
    pool::dump::{Dump, dump_all},
    pool::fork::Worker,
    raw::RawJob,
    run::block_on::block_on,
    run::owner::HostedWorker,
    run::shutdown::{Shutdown, StillRunning},
    spawner::Spawner,
    static_executor::StaticExecutor,
    thread_executor::{ThreadExecutor, ThreadQueue, Ticker},
    threads::join,
};
#[cfg(not(terrace_loom))]
pub use terrace_local::task::{FallibleTask, Task};
#[cfg(not(terrace_loom))]
pub use terrace_local::{
    AbortHandle, Abortable, Named, Spawn, TaskError, TaskGroup, TaskId, TaskName, TaskSet,
    abortable, named,
};

#[cfg(not(terrace_loom))]
#[doc(hidden)]
pub use crate::fork_scope::ForkScope;
pub use terrace_local::Payload;
#[cfg(not(terrace_loom))]
#[doc(hidden)]
pub use terrace_local::drop_payload;
