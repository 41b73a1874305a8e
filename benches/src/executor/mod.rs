//! Executors with several threads: the contenders, and the workloads that only they have.

mod current;
mod drivers;
mod echo;
mod ours;
mod services;
mod tokio;
mod workloads;

pub use self::tokio::{Tokio, TokioIo};
pub use current::{Current, Lookup, RayonIndex, TokioHandle, lookup};
pub use drivers::{Driven, InReactor, Parked, Threads};
pub use echo::{AsyncIo, Net, TokioNet, echo};
pub use ours::{Executor, ExecutorMain, ExecutorMainTokio, StaticExecutor, StaticExecutorAlone};
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
/// Ours, run by threads that wait for sockets.
pub type ExecutorRunIo = Threads<terrace_executor::Executor<'static>, InReactor>;
/// `async_executor::Executor`, run by threads that wait for sockets.
pub type AsyncExecutorIo = Threads<async_executor::Executor<'static>, InReactor>;
