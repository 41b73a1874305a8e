//! What a task can ask about where it runs, as plain data.

use std::cell::Cell;
use std::num::NonZeroU64;

use super::Shared;
use super::lanes::Lane;

terrace_sync::thread_local! {
    /// Of the innermost worker or driver; written when one is entered or left, and around tasks of other lanes than the
    /// normal one. Plain data without a destructor, so that it can be read at any time in the thread's life.
    static CURRENT: Cell<Option<Current>> = const { Cell::new(None) };
}

/// Which executor an object belongs to. Never reused while the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExecutorId(pub(crate) NonZeroU64);

/// What [`current`] tells about the worker or driver whose task is being polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Current {
    executor: ExecutorId,
    worker: u32,
    lane: Lane,
}

impl Current {
    /// From here on [`worker`](Self::worker) counts async drivers.
    pub const FIRST_DRIVER: usize = 1 << 31;

    pub(super) fn of(executor: ExecutorId, worker: usize) -> Self {
        Self {
            executor,
            worker: worker as u32,
            lane: Lane::Normal,
        }
    }

    /// The same, while a task of `lane` is polled.
    pub(super) fn on(self, lane: Lane) -> Self {
        Self { lane, ..self }
    }

    /// The worker's index in its executor, counted from 0, spare workers included; a `run` future has an index from
    /// [`FIRST_DRIVER`](Self::FIRST_DRIVER) on. No two that run at the same time have the same one.
    #[inline]
    #[must_use]
    pub const fn worker(&self) -> usize {
        self.worker as usize
    }

    /// Whether this is a `run` future rather than a worker thread.
    #[inline]
    #[must_use]
    pub const fn is_driver(&self) -> bool {
        self.worker() >= Self::FIRST_DRIVER
    }

    /// The lane of the task.
    #[inline]
    #[must_use]
    pub const fn lane(&self) -> Lane {
        self.lane
    }

    /// The executor.
    #[inline]
    #[must_use]
    pub const fn executor(&self) -> ExecutorId {
        self.executor
    }
}

impl Shared {
    /// See [`Executor::current_or_any`](crate::Executor::current_or_any).
    #[inline]
    pub(crate) fn current_or_any(&self) -> Option<Current> {
        match current() {
            Some(current) if current.executor == self.id => Some(current),
            _ => self.any_worker(),
        }
    }

    fn any_worker(&self) -> Option<Current> {
        let workers = self.workers();
        let thread = terrace_thread::id().get() as usize;
        (workers > 0).then(|| Current::of(self.id, thread % workers))
    }
}

/// The worker, or `run` future, whose tasks the current thread polls; of several that are nested, the innermost.
///
/// Cost: one thread-local load of two words, on a worker and off.
#[inline]
#[must_use]
pub fn current() -> Option<Current> {
    CURRENT.with(Cell::get)
}

/// Changes what [`current`] tells; what it was before.
pub(super) fn tell(current: Option<Current>) -> Option<Current> {
    CURRENT.with(|told| told.replace(current))
}
