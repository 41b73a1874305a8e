//! Every decision about sleeping and waking Terrace workers.
//!
//! [`Idle`] knows, for any number of workers, who is parked, who waits for its own work only, and
//! how many search. Whoever makes work visible calls [`Idle::publish`] (or one of its kin) and is
//! told what was done about it; whoever runs out of work calls [`Idle::park`] and comes back owning
//! a search [`Token`]. [`Parker`] is the plain one-token parker for threads that are no workers.
//!
//! # Guarantees
//!
//! - **No wake is lost.** Work made visible before `publish` is seen by a searching worker, by a
//!   worker that is woken for it, or by a worker that has not gone to sleep yet and looks again
//!   before it does. The README of this crate holds the state table, the protocol and the argument;
//!   loom models check every clause of it, and mutants show that each clause is needed.
//! - **A woken worker sees what it was woken for**: everything written before the `publish` or
//!   `targeted` that cleared its bit happens before its `park` returns.
//! - **At most one futex wake a claimed worker**, and none where the worker has not blocked yet.
//! - A publish that finds a searcher, or nobody asleep, costs one fence and no read-modify-write.
//!
//! # What it deliberately lacks
//!
//! It holds no work and knows no queue: what is "visible" is answered by the caller's [`Work`]. It
//! has no timers (the one timed sleep is [`Idle::park_as_guard`]) and never spins. Async drivers
//! ([`Driver`]) own no tokens: nobody relies on them while a worker can be woken.
//!
//! # Example
//!
//! ```
//! use std::sync::atomic::{AtomicUsize, Ordering};
//! use terrace_park::{Idle, Wake, Work};
//!
//! struct Queue(AtomicUsize);
//! impl Work for Queue {
//!     fn takeable(&self, _lanes: u32) -> bool {
//!         self.0.load(Ordering::Relaxed) > 0
//!     }
//!     fn inlet(&self, _worker: usize) -> bool {
//!         false
//!     }
//! }
//!
//! let (idle, queue) = (Idle::with_workers(1), Queue(AtomicUsize::new(0)));
//! std::thread::scope(|s| {
//!     s.spawn(|| {
//!         let mut token = idle.enter(0);
//!         while !queue.takeable(1) {
//!             token = idle.park(0, token, &queue);
//!         }
//!         queue.0.store(0, Ordering::Relaxed);
//!         idle.leave(0, token, &queue);
//!     });
//!     queue.0.store(1, Ordering::Relaxed);
//!     let wake = idle.publish(1);
//!     assert!(matches!(wake, Wake::Covered | Wake::Woke(0) | Wake::NoneParked));
//! });
//! ```

#[macro_use]
mod weaken;

mod awake;
mod call;
mod drivers;
mod group;
mod guard;
mod idle;
mod members;
mod outcome;
mod parker;
mod restricted;
mod search;
mod seat;
mod token;
mod wake;
mod word;

pub use drivers::Driver;
pub use group::{GROUP_CAPACITY, GroupConfig};
pub use idle::{Idle, Work};
pub use outcome::{Restricted, Wake, Woken};
pub use parker::{Parker, Unparker};
pub use token::Token;
