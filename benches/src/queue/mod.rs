//! Queues: the ring of one worker, the shared queue, the inbox of one thread, the deque of one that forks.

mod contenders;
mod fork;
mod inbox;
mod owned;
mod shared;
mod steal_order;

pub use contenders::{CrossbeamFifo, Mutexed, Own, St3Fifo, St3Lifo};
pub use fork::{CrossbeamLifo, FORKS, Fork, Forks, St3Forks, asked, deep, flat, forced, nested};
pub use inbox::{Mail, inbox, inbox_remote};
pub use owned::{BATCH, Deque, Thief, push_pop, remote_busy, remote_idle, steal};
pub use shared::{Batched, Shared, batch, contended, shared_push_pop};
pub use steal_order::{HalfAfterGlobal, OneBeforeGlobal, Order, RoundThenHalf, Start, steal_order};

/// The items of the queues: one word, as a task is.
pub type Item = usize;
