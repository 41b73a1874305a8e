//! Tasks that are pinned to one thread, and handles that spawn onto exactly that thread.
#![doc = include_str!("../README.md")]
#![cfg_attr(
    docsrs,
    feature(doc_cfg),
    doc(auto_cfg(hide(terrace_loom, terrace_shuttle, terrace_count)))
)]

#[cfg(not(terrace_loom))]
mod calls;
#[doc(hidden)]
pub mod closed;
#[cfg(not(terrace_loom))]
mod id;
mod notify;
#[cfg(not(terrace_loom))]
mod pinned;
#[cfg(not(terrace_loom))]
mod spawner;
#[doc(hidden)]
pub mod wakeup;
#[cfg(not(terrace_loom))]
mod waking;

#[cfg(not(terrace_loom))]
pub use id::{ThreadId, id};
pub use notify::{Notify, NotifyRef};
#[cfg(not(terrace_loom))]
pub use pinned::{close, has_work, run_for, set_on_ready, spawn_local, tick, with_local_executor};
#[cfg(not(terrace_loom))]
pub use spawner::ThreadSpawner;
#[cfg(not(terrace_loom))]
pub use terrace_local::{FallibleTask, LocalExecutor, Task};
#[cfg(not(terrace_loom))]
pub use waking::{notifier, park, set_notify};

/// What the executors of Terrace need of their threads. It is no interface.
#[cfg(not(terrace_loom))]
#[doc(hidden)]
pub mod internal {
    pub use crate::pinned::{
        Lent, Locals, bind_worker, has_tasks, has_work_for, inside_task, lend, make_way,
        replace_scope, tick_for,
    };
    pub use crate::waking::{shares_processor, thread_waker, unbind_worker};
}
