//! The queues of the Terrace executors, generic over what they hold.
//!
//! | queue | producers | consumers | for |
//! |---|---|---|---|
//! | [`RunQueue`] | its owner | its owner | tasks of one thread: no synchronisation at all |
//! | [`Ring`] | its owner | its owner, and thieves in batches | a worker's stealable tasks |
//! | [`Injector`] | any | any | tasks from outside, overflow of a ring |
//! | [`Inbox`] | any, interrupts too | its owner | foreign wakes and spawns for one thread |
//!
//! **Guarantees.** Every item comes out exactly once, or is dropped with its queue. No code of the item
//! type runs inside an operation: no `drop`, no `clone`, no comparison. After a fence
//! ([`terrace_sync::light`] by the pusher, [`terrace_sync::heavy`] by the looker) `is_empty` cannot miss an
//! item whose push had returned before: parking protocols rely on it. The crate's README holds the state
//! tables.
//!
//! **What it lacks on purpose:** task knowledge, waking, blocking, bounded shared queues.
//!
//! ```
//! use terrace_queue::{Injector, Ring};
//!
//! let (mine, peer, shared) = (Ring::new(), Ring::new(), Injector::new());
//! // SAFETY: one owner handle a ring at a time.
//! let (me, other) = unsafe { (mine.owner(), peer.owner()) };
//! for n in 0..5 {
//!     me.push_or_overflow(n, &shared);
//! }
//! assert_eq!(me.pop(), Some(0));
//! // A thief gets one item to run at once and the rest of the half in its own ring.
//! assert_eq!(mine.steal_into(&other), Some(1));
//! assert_eq!((other.pop(), other.pop()), (Some(2), None));
//! assert_eq!(mine.len(), 2);
//! ```

#![no_std]

extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

mod inbox;
#[cfg(any(target_has_atomic = "64", feature = "portable-atomic"))]
mod injector;
mod links;
#[cfg(any(target_has_atomic = "64", feature = "portable-atomic"))]
mod ring;
mod run_queue;
#[cfg(any(target_has_atomic = "64", feature = "portable-atomic"))]
mod shared;

pub use inbox::{Inbox, Taken};
#[cfg(any(target_has_atomic = "64", feature = "portable-atomic"))]
pub use injector::{Injector, Spill};
pub use links::{Boxed, Link, Links, Node};
#[cfg(any(target_has_atomic = "64", feature = "portable-atomic"))]
pub use ring::{Overflow, Owner, Ring};
pub use run_queue::RunQueue;
