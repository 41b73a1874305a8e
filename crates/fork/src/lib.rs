//! Fork-join over borrowed data on the workers of `terrace-executor`.
#![doc = include_str!("../README.md")]
#![cfg(not(terrace_loom))]

mod keep;
mod outputs;
mod pool;
mod scope;
#[cfg(doctest)]
mod types;

pub use outputs::outputs;
pub use pool::{Broadcast, Membership, Spawn, ThreadPool};
pub use scope::{Config, Scope, Spawner, scope, scope_with};
pub use terrace_executor::{Worker, Yield, block_on, join, yield_local, yield_now};
