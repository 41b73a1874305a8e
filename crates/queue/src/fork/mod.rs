//! The deque of a thread that forks and joins: [`ForkDeque`].
//!
//! Jobs lie at their depth, so nothing wraps. The asymmetric fences between owner and thieves are those of work-stealing
//! deques after Chase and Lev, without the owner's fence instruction. That an idle thread asks for a job before it takes
//! one comes from heartbeat schedulers, such as chili. DESIGN.md of the crate has the state table, and the argument that
//! no job is taken twice.
//!
//! ```
//! use terrace_queue::fork::{Considered, ForkDeque, Gives, Offer, Pace, Popped};
//!
//! let deque = ForkDeque::<usize>::boxed();
//! // SAFETY: one owner handle of this deque.
//! let me = unsafe { deque.owner() };
//! let share = |_: Considered| Pace { pushes: 32, offer: Offer::Open, gives: Gives::Asked };
//!
//! let outer = me.push(1, share).unwrap();
//! let inner = me.push(2, share).unwrap();
//! // Another thread takes the oldest job.
//! assert_eq!(deque.force(), Some(1));
//! // SAFETY: the jobs are popped in the reverse order of their pushes.
//! unsafe {
//!     assert_eq!(me.pop(inner), Popped::Mine);
//!     assert_eq!(me.pop(outer), Popped::Stolen);
//! }
//! ```

mod consider;
mod deque;
mod gift;
mod give;
mod latch;
mod nest;
mod owner;
mod said;
mod thief;
mod top;
mod word;

pub use consider::{Consider, Considered, Gives, Offer, Pace};
pub use deque::ForkDeque;
pub use latch::Latch;
pub use nest::{Nest, Root};
pub use owner::Owner;
pub use said::{Depth, Full, Popped};
pub use thief::Stolen;
pub use word::Word;
