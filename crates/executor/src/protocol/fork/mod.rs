//! Fork-join: the joining frame, its latch, which roots a thread is inside of, and a seat that is kept. DESIGN.md of the crate has the tables.

pub mod job;
pub mod kept;
pub mod latch;
pub mod nest;
