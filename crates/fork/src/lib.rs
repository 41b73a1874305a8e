//! Fork-join over borrowed data on the workers of `terrace-executor`.
#![doc = include_str!("../README.md")]
#![cfg(not(terrace_loom))]

mod keep;
mod outputs;
mod scope;
#[cfg(doctest)]
mod types;

pub use outputs::outputs;
pub use scope::{Config, Scope, Spawner, scope, scope_with};
