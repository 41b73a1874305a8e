//! The executor that the facade stands on: one a thread, or one of the whole program.

#[cfg_attr(feature = "std", path = "hosted.rs")]
#[cfg_attr(not(feature = "std"), path = "bare.rs")]
mod system;

pub use system::*;
