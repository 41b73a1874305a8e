//! What tasks are made of, in every Terrace executor: the future with what guards it, its outcome, the handles; and the two
//! cells they are in.
//!
//! - `async-task`'s, for tasks that any thread may run and for runnables of other executors, with a schedule function of no size
//!   that finds the executor's core through the cell's metadata;
//! - `biased`'s own, for tasks that live on one thread.
//!
//! 1. [`build`], or `biased::build`, makes the cell, one allocation: an item for a queue, and a [`Task`] for the spawner.
//! 2. The executor pops the item and runs it: `cell::Guarded::poll`. At its first `Pending` the task registers its waker with
//!    the core, if that keeps a registry.
//! 3. A wake queues it again: through `schedule` and [`Schedule::schedule`], or `biased::waker` and `LocalCore`.
//! 4. When the future is done (`cell::Guarded::poll`), cancelled or has panicked (`cell::Guarded::finish`), it is dropped
//!    in place, a panic of its destructor caught, the task deregistered.
//! 5. The outcome waits in the cell for the [`Task`]; undelivered, `outcome::Outcome::drop` sees to it.

pub(crate) mod biased;
mod cell;
mod core;
mod either;
mod handle;
mod item;
mod outcome;
mod spawn_many;

pub use self::cell::{LARGE, boxed, build, is_large};
pub use self::core::{Core, CoreRef, Meta, PanicHandler, RunnableLinks, Schedule};
pub use self::handle::{FallibleTask, Task};
pub(crate) use self::item::Item;
pub use self::outcome::Outcome;
pub use self::spawn_many::spawn_many;
pub use crate::registry::Register;

/// A task on async-task's cell that is to be polled once: what executors of many threads queue. Dropping it cancels the task.
pub type Runnable = async_task::Runnable<Meta>;
