//! The workloads of the benchmarks, generic over a contender, so that ours and the peers run the same code.
//!
//! A module per layer holds the traits, the contenders and the workloads. A workload is a function that takes a
//! contender and returns a closure: one call of it is one iteration. `benches/LAYER.rs` runs the closures under
//! criterion, `benches/instr_LAYER.rs` once under callgrind, `benches/latency.rs` has workloads of its own. The
//! README says how rows are named and added.

pub mod counted;
pub mod eager;
pub mod executor;
pub mod fork;
pub mod latency;
pub mod local;
pub mod park;
pub mod queue;
pub mod spawn;
pub mod sync;
pub mod tasks;
pub mod thread;

mod crew;
mod gate;
mod joined;
mod lent;
mod rows;

pub use crew::Crew;
pub use gate::Gate;
pub use joined::Joined;
pub use lent::{Lent, Owned};
pub use rows::Rows;

/// Worker counts of the pools that are benched.
pub const WORKERS: [usize; 4] = [1, 2, 4, 8];
