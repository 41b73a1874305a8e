//! Lanes: tasks that run before others, and tasks that may never occupy all workers.
//!
//! Both are shared queues. The background lane has *permits*: one fewer than there are workers, or seats of `run`
//! futures where these are more, and at least one. A worker holds one while it polls a background task:
//!
//! ```text
//! push:     item; F; a permit is free -> publish
//! take:     a permit by CAS, then pop; nothing there -> give it back
//! give back: taken - 1; F; something queued -> publish
//! park:     bit; F; something queued and a permit free -> takeable
//! ```
//!
//! Of a push that finds no permit and a worker that gives one back, the later to fence sees the other. A worker that
//! waits (`run::wait`) in a background task gives its permit back until the wait ends. It takes the permit again
//! without waiting, so more permits than exist may be taken for a while.

use terrace_local::task::Runnable;

use super::injector::Queue;
use crate::protocol::permits::Permits;

/// Which tasks go first.
///
/// # Examples
///
/// ```
/// use terrace_executor::{Executor, Lane, block_on};
///
/// let executor = Executor::new();
/// let (sender, order) = std::sync::mpsc::channel();
/// for lane in [Lane::Background, Lane::Normal, Lane::High] {
///     let sender = sender.clone();
///     executor.spawn_on(lane, async move { sender.send(lane).unwrap() }).detach();
/// }
/// while executor.try_tick() {}
/// assert!(order.try_iter().eq([Lane::High, Lane::Normal, Lane::Background]));
/// ```
#[doc(alias = "priority")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// Before all others.
    High,
    /// The lane of [`spawn`](crate::Executor::spawn). Only its tasks stay on the worker that spawns or wakes them.
    #[default]
    Normal,
    /// After all others. Its tasks leave one worker free, if there is more than one.
    Background,
}

/// The queues of the lanes that are not the normal one.
#[derive(Default)]
pub(crate) struct Lanes {
    pub(crate) high: Queue,
    pub(crate) background: Queue,
    /// Permits to poll background tasks.
    pub(crate) permits: Permits,
}

impl Lanes {
    /// Takes a task of the high lane.
    #[inline]
    pub(crate) fn take_high(&self) -> Option<Runnable> {
        if self.high.is_empty() {
            return None;
        }
        self.high.pop()
    }

    /// A task of any lane, to be dropped.
    pub(crate) fn drain_one(&self) -> Option<Runnable> {
        self.high.pop().or_else(|| self.background.pop())
    }
}
