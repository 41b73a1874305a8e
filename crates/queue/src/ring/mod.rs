//! [`Ring`]: a bounded queue with one producer, stealable in batches.
//!
//! The two-position head is Go's scheduler queue as tokio refined it (`runtime/scheduler/multi_thread/queue.rs`). A thief copies a
//! batch after one compare-exchange, while the owner goes on popping. DESIGN.md of the crate has the state table.

mod body;
mod head;
mod owned;
mod owner;
mod thief;

pub use body::Ring;
pub use owned::OwnedRing;
pub use owner::{Overflow, Owner};

#[cfg(all(test, not(any(terrace_loom, terrace_shuttle))))]
mod tests;
