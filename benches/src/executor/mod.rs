//! Executors with several threads: the contenders, and the workloads that only they have.

mod current;
mod drivers;
mod ours;
mod services;
mod tokio;
mod workloads;

pub use self::tokio::Tokio;
pub use current::{Current, Lookup, RayonIndex, TokioHandle, lookup};
pub use drivers::{Driven, Threads};
pub use ours::{Executor, StaticExecutor, StaticExecutorAlone};
pub use services::{actors, cpu_bound, one_by_one};
pub use workloads::{
    Restless, burst_wake, fan_out_fan_in, ping_pong, spawn_many_busy, spawn_many_inside,
};

/// Ours, run by threads.
pub type ExecutorRun = Threads<terrace_executor::Executor<'static>>;
/// Ours, the static kind, run by threads.
pub type StaticExecutorRun = Threads<terrace_executor::StaticExecutor>;
/// `async_executor::Executor`.
pub type AsyncExecutor = Threads<async_executor::Executor<'static>>;
/// `async_executor::StaticExecutor`.
pub type AsyncExecutorStatic = Threads<async_executor::StaticExecutor>;
