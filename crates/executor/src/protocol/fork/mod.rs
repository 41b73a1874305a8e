//! Fork-join: the joining frame, its latch, and which roots a thread is inside of. DESIGN.md of the crate has the tables.

pub mod job;
pub mod latch;
pub mod nest;
