//! The task cell of every Terrace executor: `async-task` with a schedule function of no size that finds the
//! executor's core through the cell's metadata.
//!
//! 1. [`build`] makes the cell, one allocation: a [`Runnable`] for the queue, a [`Task`] for the spawner.
//! 2. The executor pops the runnable and runs it: `cell::Guarded::poll`. At its first `Pending` the task
//!    registers its waker with the core, if that keeps a registry.
//! 3. A wake goes through `schedule` to [`Core::schedule`], which queues the runnable again.
//! 4. When the future is done (`cell::Guarded::poll`), cancelled or has panicked (`cell::Guarded::finish`), it is dropped
//!    in place, a panic of its destructor caught, the task deregistered.
//! 5. The outcome waits in the cell for the [`Task`]; undelivered, `outcome::Outcome::drop` sees to it.

mod cell;
mod core;
mod handle;
mod outcome;
mod spawn_many;

pub use self::cell::{LARGE, boxed, build, is_large};
pub use self::core::{Core, CoreRef, Meta, PanicHandler, RunnableLinks};
pub use self::handle::{FallibleTask, Task};
pub use self::outcome::Outcome;
pub use self::spawn_many::spawn_many;
pub use crate::registry::Register;

/// A task that is to be polled once: what executors queue. Dropping it cancels the task.
pub type Runnable = async_task::Runnable<Meta>;
