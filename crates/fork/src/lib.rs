//! Fork-join over borrowed data on the workers of `terrace-executor`.
#![doc = include_str!("../README.md")]
#![cfg_attr(
    docsrs,
    feature(doc_cfg),
    doc(auto_cfg(hide(terrace_loom, terrace_shuttle, terrace_count)))
)]
#![cfg(not(terrace_loom))]

pub mod here;
mod keep;
mod outputs;
mod pool;
mod scope;
mod spawner;
#[cfg(doctest)]
mod types;
mod work;

pub use here::{broadcast, num_members, spawn, spawn_broadcast, spawn_local, spawn_on};
pub use outputs::outputs;
pub use pool::{Membership, ThreadPool};
pub use scope::{Config, MemberScope, Scope, scope, scope_with};
pub use spawner::Spawner;
pub use terrace_executor::{
    Broadcast, ExecutorId, Half, Payload, RawJob, Spawnable, SpawnableLocal, Task, Worker, Yield,
    block_on, join, yield_local, yield_now,
};
pub use work::SpawnScoped;
