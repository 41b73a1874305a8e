//! The cell of tasks that live on one thread. It has a [`State`](crate::biased::State) instead of async-task's word, so
//! the owner's thread takes few read-modify-writes. It takes one at the end of a task that a handle waits for, and
//! mostly one at the first poll of a handle. It takes one for an item that comes from another thread.
//!
//! Only a [`LocalCore`](crate::LocalCore) has such tasks. Its close drops each future on the owner's thread, so the owner's
//! count may be plain, see [`biased`](crate::biased).

pub(crate) mod build;
pub(crate) mod cell;
mod turn;
