//! What fork-join scopes are made of; the safe API is `terrace-fork`.

mod child;
mod driving;
mod open;
mod push;
#[cfg(all(test, not(any(terrace_loom, terrace_shuttle))))]
mod tests;

pub use open::{OpenScope, ScopeHandle};
