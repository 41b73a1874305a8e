//! One behaviour suite for every Terrace executor, natively and on wasm32.
#![doc = include_str!("../README.md")]
#![cfg(not(terrace_loom))]

mod behaviours;
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod front_page {}
pub mod kind;
pub mod kinds;
pub mod suite;
pub mod tools;
#[cfg(target_arch = "wasm32")]
mod wasm;

pub use kind::{Caps, Handle, Kind, Make, Maker};
pub use suite::{
    Behaviour, Case, behaviours, cases, driven_behaviours, exact_behaviours, pool_behaviours,
};
