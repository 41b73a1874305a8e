//! Helpers that the tests of several layers share.
#![doc = include_str!("../README.md")]

mod alloc;
mod futures;
mod panics;
#[cfg(target_os = "linux")]
mod processor;
mod program;
mod random;
mod report;
#[cfg(target_os = "linux")]
mod sandbox;
mod values;
mod wakers;
pub mod watchdog;

pub use alloc::{CountingAllocator, allocations, freed};
pub use futures::{Polled, Signal, WakerSlot, Yields, completed_elsewhere, poll_once, signal};
pub use panics::{payload_of, text, text_of};
#[cfg(target_os = "linux")]
pub use processor::{processors, stay_on};
pub use program::{succeeds, this_program};
pub use random::Random;
#[cfg(target_os = "linux")]
pub use sandbox::refuse_membarrier;
pub use values::{Dropped, Drops, Homebody, OnDrop, least, sole};
pub use wakers::Wakes;
pub use watchdog::{
    Watchdog, in_own_process, limit, on_own_thread, on_stack_of, show, show_static, watchdog,
};
