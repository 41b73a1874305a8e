//! [`State`]: the references to a task of a single-thread executor, and the owner's next step with it.
//!
//! A state has two words. The *local* word is plain and belongs to the owner, the thread of the executor. The *remote* word is
//! atomic and belongs to all other threads.
//!
//! This is biased reference counting (Choi, Shull, Torrellas, PACT 2018), with the state of a task beside the counts. The
//! owner drops every future, so the bias ends there, by one step: [`finish`](crate::OnOwner::finish) adds the local count to
//! the remote one and sets `ENDED`. From then on all threads are alike.
//!
//! | step              | on the owner's thread, before the end   | on another thread, before the end      | after the end    |
//! |-------------------|-----------------------------------------|----------------------------------------|------------------|
//! | clone a waker     | local count + 1                         | remote count + 1                       | remote count + 1 |
//! | drop a waker      | local count - 1; the last one has the future dropped | remote count - 1; one that may be the last: `NOTIFIED`, pushes | remote count - 1; the last frees |
//! | wake              | `QUEUED`, to the run queue              | `NOTIFIED`, `WOKEN`, to the inbox      | nothing          |
//! | cancel            | `CANCELLED`, to the run queue           | `NOTIFIED`, `CANCELLED`, to the inbox  | nothing          |
//! | drop the handle   | cancels, and `DETACHED`                 | cancels, and `DETACHED`                | takes the outcome |
//! | await             | writes the waker, `JOIN`                | writes the waker, `JOIN`               | takes the outcome |
//!
//! Invariants:
//! - The number of references is the sum of the two counts. The local count is never negative, so a remote count above 0
//!   proves a reference. Otherwise only the owner can tell whether there is one.
//! - An item in the run queue (`QUEUED`), a turn (`RUNNING`) and an item in the inbox (`NOTIFIED`) are a reference each. A task
//!   has at most one of each. The owner clears `NOTIFIED` when the item arrives.
//! - The remote count may be below 0: other threads give back what the owner counted. An arriving item balances the two
//!   counts, or else the local one would grow with each wake. So does a clone that finds the local count at its limit.
//! - A thread that sees, with Acquire, that the only reference is its own has the cell for itself: no other reference is left
//!   to clone. (This does not hold during a poll. The task may have lent its waker to another thread, uncounted.)
//! - A `finish` that finds `NOTIFIED` has found an item in the inbox, or a thread that pushes one. It arrives later, and the
//!   owner drops it.
//! - The awaiter is the handle's while `JOIN` is clear, and the owner's while it is set. A handle on another thread clears
//!   `JOIN` before it touches the awaiter. A handle on the owner's thread need not, because the owner is the same thread.
//!
//! The only users' code that runs in here is that of wakers, in [`join`](State::join), while nothing is borrowed. So
//! loom models all of it: `loom-tests/tests/local_task`.

mod owner;
mod state;
#[cfg(all(test, feature = "std", not(any(terrace_loom, terrace_shuttle))))]
#[path = "../../tests/biased/mod.rs"]
mod tests;

pub use self::owner::{Arrival, Finished, Left, Pended};
pub use self::state::{HandleEnd, Joined, Reference, Side, State, Step};
