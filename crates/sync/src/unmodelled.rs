//! Plain reference counts, where a checker's own are not enough.
//!
//! loom's `Arc` neither coerces to `Arc<dyn Trait>` nor has a `Weak`. Code that needs one of them takes
//! these under every cfg; loom then sees neither the count's orderings nor a leak of it.

#[cfg(target_has_atomic = "ptr")]
pub use alloc::sync::{Arc, Weak};
#[cfg(not(target_has_atomic = "ptr"))]
pub use portable_atomic_util::{Arc, Weak};
