//! Tasks that are pinned to one thread, and handles that spawn onto exactly that thread.
#![doc = include_str!("../README.md")]
#![cfg(not(terrace_loom))]

mod pinned;
mod spawner;

use std::fmt;

use terrace_sync::Arc;

pub use pinned::{
    close, has_work, notifier, park, set_notify, spawn_local, tick, with_local_executor,
};
pub use spawner::ThreadSpawner;
pub use terrace_local::{FallibleTask, LocalExecutor, Task};

/// A thread's identity: a number that no other thread of the process has or will have, unlike addresses and
/// what the operating system hands out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(u64);

impl ThreadId {
    /// The number, never 0.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Debug for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ThreadId({})", self.0)
    }
}

/// The current thread's id. One thread-local load after the first call.
#[inline]
#[must_use]
pub fn id() -> ThreadId {
    ThreadId(terrace_local::thread_id())
}

/// Wakes a thread where it waits.
pub trait Notify: Send + Sync {
    /// Makes the thread look at its queues again, now or before it sleeps next.
    fn notify(&self);
}

/// A shared [`Notify`].
pub type NotifyRef = Arc<dyn Notify>;
