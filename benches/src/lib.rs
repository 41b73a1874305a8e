//! The workloads of the benchmarks, generic over a contender, so that ours and the peers run the same code.
//!
//! A module per layer holds the traits, the contenders and the workloads. A workload is a function that takes a
//! contender and returns a closure: one call of it is one iteration. `benches/LAYER.rs` runs the closures under
//! criterion, `benches/instr_LAYER.rs` once under callgrind, `benches/latency.rs` has workloads of its own. The
//! README says how rows are named and added.
#![expect(
    clippy::missing_panics_doc,
    reason = "a workload panics where a pool loses work, and says so by its message"
)]

#[cfg(feature = "awaits")]
pub mod awaits;
pub mod counted;
#[cfg(feature = "local")]
pub mod eager;
#[cfg(feature = "executor")]
pub mod executor;
#[cfg(feature = "fork")]
pub mod fork;
#[cfg(feature = "latency")]
pub mod latency;
#[cfg(feature = "local")]
pub mod local;
#[cfg(feature = "park")]
pub mod park;
#[cfg(feature = "queue")]
pub mod queue;
#[cfg(feature = "spawn")]
pub mod spawn;
#[cfg(feature = "sync")]
pub mod sync;
#[cfg(feature = "tasks")]
pub mod tasks;
#[cfg(feature = "thread")]
pub mod thread;

mod crew;
mod gate;
#[cfg(any(feature = "local", feature = "thread"))]
mod joined;
#[cfg(any(feature = "awaits", feature = "local"))]
mod lent;
mod rows;

pub use crew::Crew;
pub use gate::Gate;
#[cfg(any(feature = "local", feature = "thread"))]
pub use joined::Joined;
#[cfg(any(feature = "awaits", feature = "local"))]
pub use lent::Lent;
#[cfg(feature = "local")]
pub use lent::Owned;
pub use rows::Rows;

/// Worker counts of the pools that are benched.
pub const WORKERS: [usize; 4] = [1, 2, 4, 8];
