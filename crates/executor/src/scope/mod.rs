//! What fork-join scopes are made of; the safe API is `terrace-fork`.

#[cfg(not(terrace_loom))]
pub(crate) mod board;
pub mod core;
#[cfg(not(terrace_loom))]
mod open;
#[cfg(not(terrace_loom))]
pub(crate) mod pacing;
#[cfg(not(terrace_loom))]
pub(crate) mod slot;

#[cfg(not(terrace_loom))]
pub use open::{OpenScope, ScopeHandle};
