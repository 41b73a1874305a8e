//! Fork-join over borrowed data on the workers of `terrace-executor`.
#![doc = include_str!("../README.md")]
#![cfg(not(terrace_loom))]

mod keep;
mod scope;

pub use scope::{Config, Scope, scope, scope_with};
