//! Plain `std` reference counts, for what a checker's own cannot do.
//!
//! loom's `Arc` neither coerces to `Arc<dyn Trait>` nor has a `Weak`. Code that needs one of them takes
//! these under every cfg; loom then sees neither the count's orderings nor a leak of it.

pub use std::sync::{Arc, Weak};
