//! What a task can ask about where it runs, as plain data.

use std::cell::Cell;
use std::num::NonZeroU64;

use terrace_local::thread_id;
use terrace_sync::atomic::{AtomicU64, Ordering};

use super::injector::Lane;
use crate::guard::OnDrop;

terrace_sync::thread_local! {
    /// Of the innermost worker, driver or visitor. A runner writes it when it is entered or left, and around tasks of other
    /// lanes than the normal one; a visitor around each task. Empty outside of polls, so that
    /// a destructor of another thread-local finds what is right, whether it was made anew or not.
    static CURRENT: Cell<Option<Current>> = const { Cell::new(None) };
}

/// Which executor an object belongs to. Never reused while the program runs.
///
/// # Examples
///
/// ```
/// use terrace_executor::Executor;
///
/// let (one, other) = (Executor::new(), Executor::new());
/// assert_eq!(one.id(), one.id());
/// assert_ne!(one.id(), other.id());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExecutorId(pub(crate) NonZeroU64);

impl ExecutorId {
    /// The id of a new pool.
    pub(crate) fn new() -> Self {
        terrace_sync::global! {
            static NEXT: AtomicU64 = AtomicU64::new(1);
        }
        // Ordering: Relaxed, a counter; it cannot wrap in the life of a machine.
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(NonZeroU64::new(id).expect("counted from 1"))
    }
}

/// What [`current`] tells about the worker, `run` future or visiting thread whose task is being polled.
///
/// # Examples
///
/// ```
/// use terrace_executor::{Builder, Lane, block_on, current};
///
/// let executor = Builder::new().workers(1).build();
/// let here = block_on(executor.spawn(async { current() })).expect("in a task of a pool");
/// assert_eq!((here.executor(), here.worker()), (executor.id(), 0));
/// assert!(here.lane() == Lane::Normal && !here.is_driver() && !here.is_visitor());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Current {
    executor: ExecutorId,
    worker: u32,
    lane: Lane,
}

impl Current {
    /// From here on [`worker`](Self::worker) counts async drivers.
    pub const FIRST_DRIVER: usize = 1 << 31;
    /// What [`worker`](Self::worker) returns for a visitor: a thread without a place in the executor. It polls the task in
    /// [`tick`](crate::Executor::tick) or [`try_tick`](crate::Executor::try_tick), in a wait, or as it spawns it eagerly.
    pub const VISITOR: usize = u32::MAX as usize;

    pub(crate) fn of(executor: ExecutorId, worker: usize) -> Self {
        Self {
            executor,
            worker: worker as u32,
            lane: Lane::Normal,
        }
    }

    fn visitor(executor: ExecutorId, lane: Lane) -> Self {
        Self {
            lane,
            ..Self::of(executor, Self::VISITOR)
        }
    }

    /// The worker's index in its executor, counted from 0, spare workers included; a `run` future has an index from
    /// [`FIRST_DRIVER`](Self::FIRST_DRIVER) on. No two that run at the same time have the same one, but for visitors, which all have
    /// [`VISITOR`](Self::VISITOR).
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, Current, block_on, current};
    ///
    /// let executor = Builder::new().workers(1).build();
    /// let index = || async { current().as_ref().map(Current::worker) };
    /// assert_eq!(block_on(executor.spawn(index())), Some(0));
    /// assert!(block_on(executor.run(index())) >= Some(Current::FIRST_DRIVER));
    /// ```
    #[doc(alias = "current_thread_index")]
    #[inline]
    #[must_use = "the call only reads a value"]
    pub const fn worker(&self) -> usize {
        self.worker as usize
    }

    /// Whether this is a `run` future.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Executor, block_on, current};
    ///
    /// let executor = Executor::new();
    /// let task = executor.spawn(async { current().is_some_and(|current| current.is_driver()) });
    /// assert!(block_on(executor.run(task)));
    /// ```
    #[inline]
    #[must_use = "the call only answers a question"]
    pub const fn is_driver(&self) -> bool {
        self.worker() >= Self::FIRST_DRIVER && !self.is_visitor()
    }

    /// Whether this is a thread without a place in the executor, see [`VISITOR`](Self::VISITOR).
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Executor, block_on, current};
    ///
    /// let executor = Executor::new();
    /// let task = executor.spawn(async { current().is_some_and(|current| current.is_visitor()) });
    /// executor.try_tick();
    /// assert!(block_on(task));
    /// ```
    #[inline]
    #[must_use = "the call only answers a question"]
    pub const fn is_visitor(&self) -> bool {
        self.worker() == Self::VISITOR
    }

    /// The lane of the task.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, Current, Lane, block_on, current};
    ///
    /// let executor = Builder::new().workers(1).build();
    /// let lane = executor.spawn_on(Lane::High, async { current().as_ref().map(Current::lane) });
    /// assert_eq!(block_on(lane), Some(Lane::High));
    /// ```
    #[inline]
    #[must_use = "the call only reads a value"]
    pub const fn lane(&self) -> Lane {
        self.lane
    }

    /// The executor.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, Current, block_on, current};
    ///
    /// let executor = Builder::new().workers(1).build();
    /// let id = executor.spawn(async { current().as_ref().map(Current::executor) });
    /// assert_eq!(block_on(id), Some(executor.id()));
    /// ```
    #[inline]
    #[must_use = "the call only reads a value"]
    pub const fn executor(&self) -> ExecutorId {
        self.executor
    }
}

/// The worker, `run` future or visiting thread whose task the current thread polls; of several that are nested, the innermost. So it
/// always names the executor of the task. `None` outside of tasks, and in tasks of executors of one thread.
///
/// Cost: one thread-local load of two words, on a worker and off.
///
/// # Examples
///
/// ```
/// use terrace_executor::{Builder, block_on, current};
///
/// assert!(current().is_none(), "this thread polls no task");
/// let executor = Builder::new().workers(1).build();
/// assert!(block_on(executor.spawn(async { current().is_some() })));
/// ```
#[doc(alias = "current_thread_index")]
#[inline]
#[must_use = "the call only reads a value"]
pub fn current() -> Option<Current> {
    CURRENT.with(Cell::get)
}

/// The number of the calling thread, and which worker of the pool with this number polls on it, if one.
pub(crate) fn polls_here(pool: u64) -> (u64, Option<usize>) {
    let place = current().filter(|place| place.executor().0.get() == pool);
    let worker = place.map(|place| place.worker());
    let worker = worker.filter(|worker| *worker < Current::FIRST_DRIVER);
    (thread_id(), worker)
}

/// [`current`] returns this until the guard is dropped.
#[inline]
pub(crate) fn replace_current(current: Option<Current>) -> OnDrop<impl FnMut()> {
    let before = CURRENT.with(|cell| cell.replace(current));
    OnDrop(move || CURRENT.with(|cell| cell.set(before)))
}

/// [`current`] returns a visitor of this executor, which polls a task of this lane, until the guard is dropped.
#[inline]
pub(crate) fn visit(executor: ExecutorId, lane: Lane) -> OnDrop<impl FnMut()> {
    replace_current(Some(Current::visitor(executor, lane)))
}

/// As [`visit`], on the normal lane of a thread that is in no poll: there is nothing to put back.
#[inline]
pub(crate) fn visit_from_outside(executor: ExecutorId) -> OnDrop<impl FnMut()> {
    debug_assert!(current().is_none(), "in the middle of a poll");
    CURRENT.with(|cell| cell.set(Some(Current::visitor(executor, Lane::Normal))));
    OnDrop(|| CURRENT.with(|cell| cell.set(None)))
}

/// [`current`] returns the same worker or driver with this lane, until the guard is dropped.
pub(crate) fn replace_lane(lane: Lane) -> OnDrop<impl FnMut()> {
    replace_current(current().map(|current| Current { lane, ..current }))
}
