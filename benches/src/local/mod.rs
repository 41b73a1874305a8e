//! Executors of one thread: the contenders, and the workloads that only they have.
//!
//! The workloads of [`spawn`](crate::spawn) run inside `block_on(executor.run(…))`.

mod contenders;
mod single;

pub use contenders::{AsyncExecutor, AsyncExecutorStatic, Local, StaticLocal, TokioLocal};
pub use single::{Ticked, spawn_run_detach, wake_owner, wake_self};
