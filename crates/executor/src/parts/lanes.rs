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
use crate::protocol::publish::Publish;

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
    permits: Permits,
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

    /// Whether a worker could take a background task now, where there are so many permits; valid after a fence.
    #[inline]
    pub(crate) fn has_background(&self, permits: impl FnOnce() -> usize) -> bool {
        !self.background.is_empty() && self.permits.is_free(permits())
    }

    /// Takes a permit and a background task.
    #[inline]
    pub(crate) fn take_background(&self, permits: impl Fn() -> usize) -> Background {
        if !self.has_background(&permits) || !self.permits.take(permits()) {
            return Background::Nothing;
        }
        match self.background.pop() {
            Some(task) => Background::Task(task),
            None => Background::PermitAlone,
        }
    }

    /// Takes a permit whether one is free or not.
    pub(crate) fn take_permit_again(&self) {
        self.permits.take_anyway();
    }

    /// Gives a permit back. The caller publishes if there is a background task then.
    pub(crate) fn give_permit_back(&self) {
        self.permits.give_back();
    }

    /// Queues a background task, where there are so many permits. Says whether the caller publishes it.
    pub(crate) fn push_background(
        &self,
        task: Runnable,
        permits: impl FnOnce() -> usize,
    ) -> Publish {
        self.background.push(task);
        self.permits.after_push(permits())
    }

    /// A task of any lane, to be dropped.
    pub(crate) fn drain_one(&self) -> Option<Runnable> {
        self.high.pop().or_else(|| self.background.pop())
    }
}

/// What [`Lanes::take_background`] took.
#[must_use = "a permit that was taken is given back"]
pub(crate) enum Background {
    /// Neither a task nor a permit.
    Nothing,
    /// A permit; another thread took the last task. The caller gives it back.
    PermitAlone,
    /// A task, with the permit to poll it.
    Task(Runnable),
}
