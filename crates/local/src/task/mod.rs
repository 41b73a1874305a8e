//! The tasks of every Terrace executor: the guarded future, its outcome, the handles, and the two cells they are in.
//!
//! - async-task's cell (`shared`), for tasks that any thread may run. Its schedule function has no size: it finds the executor's
//!   core through the cell's metadata.
//! - a cell of this crate (`local`), for tasks that live on one thread.
//!
//! An eager child that is likely to end in its first poll gets the first of them only if it does not (`shared::poll_at_spawn`).
//!
//! 1. [`build`], or `local::build`, makes the cell, one allocation: an item for a queue, and a [`Task`] for the spawner.
//! 2. The executor pops the item and runs it: `guarded::Guarded::poll`. At its first `Pending` the task registers its waker
//!    with the core, if that keeps a registry.
//! 3. A wake queues it again: through `shared::schedule` and [`Schedule::schedule`], or the wakers of `local::cell` and `LocalCore`.
//! 4. The future is done (`Guarded::poll`), cancelled or has panicked (`Guarded::finish`). The executor drops it in
//!    place, catches a panic of its destructor, and deregisters the task.
//! 5. The outcome waits in the cell for the [`Task`]. If no handle takes it, `guarded::Outcome::drop` hands on its panic.

#[cfg(feature = "std")]
pub mod awaited;
pub(crate) mod core;
pub(crate) mod fallible;
pub(crate) mod guarded;
mod handle;
mod id;
pub(crate) mod local;
mod runnable;
mod shared;

pub use self::core::{Core, CoreRef, PanicHandler, Schedule};
pub use self::fallible::FallibleTask;
pub use self::guarded::{LARGE, Outcome, boxed, is_large};
pub use self::handle::Task;
pub use self::id::TaskId;
pub use self::runnable::{Meta, RawHeader, Runnable};
pub use self::shared::{First, build, has_room, poll_at_spawn, spawn_many};
pub use crate::registry::Register;
