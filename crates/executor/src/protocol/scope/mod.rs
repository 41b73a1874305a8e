//! What one fork-join scope is made of.

pub mod cancel;
pub mod core;
