//! Lanes: tasks that go before others, and tasks that may never take all workers.
//!
//! Both are shared queues. The background lane has *permits*, one fewer than there are workers and at least one, each of
//! which a worker holds while it polls a background task:
//!
//! ```text
//! push:     item; F; a permit is free -> publish
//! take:     a permit by CAS, then pop; nothing there -> give it back
//! give back: taken - 1; F; something queued -> publish
//! park:     bit; F; something queued and a permit free -> takeable
//! ```
//!
//! Of a push that finds no permit and the one that gives a permit back, the later to fence sees the other. A worker that
//! polls a background task and waits (`super::wait`) gives its permit back for that time, and takes it again without
//! waiting, so that there may be one too many for a while.

use std::ptr::NonNull;

use terrace_local::task::{Core, PanicHandler, Register, Runnable, Schedule};
use terrace_queue::Injector;
use terrace_sync::Arc;

use super::Shared;
use super::search::Found;
use crate::permits::Permits;

/// Which tasks go first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// Before all others.
    High,
    /// What [`spawn`](crate::Executor::spawn) uses: the only lane whose tasks stay on the worker that spawns or wakes
    /// them.
    #[default]
    Normal,
    /// When there is nothing else to do, and on all workers but one at most, if there is more than one.
    Background,
}

/// The queues of the lanes that are not the normal one.
pub(crate) struct Lanes {
    pub(crate) high: Injector<Runnable>,
    pub(crate) background: Injector<Runnable>,
    /// Those of the background lane.
    permits: Permits,
}

impl Lanes {
    pub(crate) fn new() -> Self {
        Self {
            high: Injector::new(),
            background: Injector::new(),
            permits: Permits::new(),
        }
    }
}

impl Shared {
    /// Permits that there are: all workers but one; the same for drivers where they are more.
    fn permits(&self) -> usize {
        let drivers = self.driver_seats.high();
        self.workers().max(drivers).saturating_sub(1).max(1)
    }

    /// Whether a worker could take a background task now; valid after a fence.
    #[inline]
    pub(crate) fn has_background(&self) -> bool {
        !self.lanes.background.is_empty() && self.lanes.permits.is_free(self.permits())
    }

    /// A task of the high lane.
    #[inline]
    pub(crate) fn pop_high(&self) -> Option<Found<'_>> {
        if self.lanes.high.is_empty() {
            return None;
        }
        self.lanes
            .high
            .pop()
            .map(|task| Found::Lane(task, Lane::High))
    }

    /// A task of the background lane, and the permit for it.
    #[inline]
    pub(crate) fn pop_background(&self) -> Option<Found<'_>> {
        if !self.has_background() || !self.lanes.permits.take(self.permits()) {
            return None;
        }
        let task = self.lanes.background.pop();
        if task.is_none() {
            self.give_permit_back();
        }
        task.map(|task| Found::Lane(task, Lane::Background))
    }

    /// Takes a permit whether one is free or not.
    pub(crate) fn take_permit_again(&self) {
        self.lanes.permits.take_anyway();
    }

    /// Gives a permit back: a publish, if something is queued.
    pub(crate) fn give_permit_back(&self) {
        self.lanes.permits.give_back();
        if self.has_background() {
            self.publish();
        }
    }

    /// Queues a task of a lane that is not the normal one, from any thread that keeps the pool alive.
    fn push_on(&self, lane: Lane, task: Runnable) {
        terrace_trace::inject(terrace_trace::EXTERNAL, 1);
        if lane == Lane::High {
            self.lanes.high.push(task);
            return self.publish();
        }
        self.lanes.background.push(task);
        if self.lanes.permits.after_push(self.permits()) {
            self.publish();
        }
    }

    /// A task of any lane, to be dropped.
    pub(crate) fn pop_lanes(&self) -> Option<Runnable> {
        self.lanes
            .high
            .pop()
            .or_else(|| self.lanes.background.pop())
    }
}

/// The pool as the core of tasks that go to the high lane, or else to the background lane; `KEPT` if it can be dropped and
/// they register.
#[repr(transparent)]
pub(crate) struct OnLane<const HIGH: bool, const KEPT: bool>(Shared);

impl<const HIGH: bool> OnLane<HIGH, true> {
    /// A reference that counts.
    pub(crate) fn counted(pool: Arc<Shared>) -> Arc<Self> {
        let pool = Arc::into_raw(pool).cast::<Self>();
        // SAFETY: the pointer comes out of `into_raw`, of a type that this one wraps transparently.
        unsafe { Arc::from_raw(pool) }
    }
}

impl<const HIGH: bool> OnLane<HIGH, false> {
    /// The core of tasks that do not register.
    pub(crate) fn of(pool: &Shared) -> &Self {
        // SAFETY: this is a transparent wrapper of `Shared`.
        unsafe { &*std::ptr::from_ref(pool).cast::<Self>() }
    }
}

impl<const HIGH: bool, const KEPT: bool> Core for OnLane<HIGH, KEPT> {
    fn panic_handler(&self) -> Option<PanicHandler> {
        Core::panic_handler(&self.0)
    }

    fn registry(&self) -> Option<&dyn Register> {
        if KEPT { Core::registry(&self.0) } else { None }
    }

    const COUNTS: bool = true;

    #[inline]
    fn ended(&self) {
        self.0.count_end();
    }
}

impl<const HIGH: bool, const KEPT: bool> Schedule for OnLane<HIGH, KEPT> {
    unsafe fn schedule(this: NonNull<Self>, task: Runnable) {
        let lane = if HIGH { Lane::High } else { Lane::Background };
        // SAFETY: the task refers to its pool, which is alive up to the push, and longer as said below.
        let pool = unsafe { &this.as_ref().0 };
        if KEPT {
            // The task holds a reference to the pool, which goes with the push.
            pool.arc().push_on(lane, task);
        } else {
            pool.push_on(lane, task);
        }
    }
}
