//! The queues of the Terrace executors, generic over their items.
#![doc = include_str!("../README.md")]
#![cfg_attr(
    docsrs,
    feature(doc_cfg),
    doc(auto_cfg(hide(terrace_loom, terrace_shuttle, terrace_count)))
)]
#![no_std]

extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

#[cfg(any(target_has_atomic = "64", feature = "portable-atomic"))]
pub mod fork;
mod inbox;
#[cfg(any(target_has_atomic = "64", feature = "portable-atomic"))]
mod injector;
mod lifo_slot;
mod links;
#[cfg(any(target_has_atomic = "64", feature = "portable-atomic"))]
mod ring;
mod run_queue;
#[cfg(feature = "std")]
mod slot_table;
#[cfg(any(target_has_atomic = "64", feature = "portable-atomic"))]
mod spill;
#[cfg(doctest)]
mod types;

pub use inbox::{Inbox, Taken};
#[cfg(any(target_has_atomic = "64", feature = "portable-atomic"))]
pub use injector::Injector;
pub use lifo_slot::{LifoSlot, OwnedWord};
pub use links::{Boxed, Link, Links, Node};
#[cfg(any(target_has_atomic = "64", feature = "portable-atomic"))]
pub use ring::{Overflow, OwnedRing, Owner, Ring};
pub use run_queue::RunQueue;
#[cfg(feature = "std")]
pub use slot_table::SlotTable;
#[cfg(any(target_has_atomic = "64", feature = "portable-atomic"))]
pub use spill::Spill;
