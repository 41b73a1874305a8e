//! What fork-join scopes are made of; the safe API is `terrace-fork`.

mod child;
mod open;
mod push;

pub use open::{OpenScope, ScopeHandle};
