//! The executor that the facade stands on: one a thread, or one of the whole program.

#[cfg(not(feature = "std"))]
mod bare;
#[cfg(feature = "std")]
mod hosted;

#[cfg(not(feature = "std"))]
pub use bare::block_on;
#[cfg(not(feature = "std"))]
pub(crate) use bare::{nested_spawns, set_nested_spawns, spawn_local, tick, with_local_executor};
#[cfg(feature = "std")]
pub use hosted::block_on;
#[cfg(feature = "std")]
pub(crate) use hosted::with_local_executor;
#[cfg(all(
    feature = "std",
    not(all(not(target_arch = "wasm32"), feature = "multi_threaded"))
))]
pub(crate) use hosted::{nested_spawns, set_nested_spawns, spawn_local, tick};
