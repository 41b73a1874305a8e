//! What fork-join scopes are made of; the safe API is `terrace-fork`.

mod child;
mod on_thread;
mod open;
#[cfg(all(test, not(any(terrace_loom, terrace_shuttle))))]
mod tests;
mod waiting;

pub use crate::parts::pacing::{ScopeKind, type_hash};
pub use open::{OpenScope, ScopeHandle};
