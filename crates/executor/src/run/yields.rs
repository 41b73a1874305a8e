//! A thread in the middle of its work lets one other piece of work run: on top of its stack.

use crate::pool::Shared;
use crate::pool::fork::Worker;
use crate::pool::frames::Borrows;
use crate::pool::runner::with_worker_of;
use crate::work::source::Look;
use crate::work::{self, Order};

/// What a [yield](Worker::yield_now) did.
/// [`Worker::yield_now`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// It ran a piece of work.
    Executed,
    /// It found none. Yield again when there may be more, or sleep.
    Idle,
}

impl Worker {
    /// Runs one piece of work of the pool, if there is one: a task that is pinned to this thread, a job that another thread has
    /// forked, a task, or a child of a scope. For loops that wait for something that the pool does not know of.
    ///
    /// The work runs on top of the caller's stack, whatever it is: a caller that holds a lock may run work that wants it. A wait
    /// of Terrace (`join`, a scope, [`block_on`](fn@crate::block_on)) runs only work that cannot do that, so prefer those.
    /// A handle without a pool runs pinned tasks only.
    ///
    /// # Panics
    /// It does not: panics of the work are caught, as elsewhere.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, Yield};
    ///
    /// let executor = Builder::new().workers(1).build();
    /// let task = executor.spawn(async {});
    /// executor.with_worker(|worker| {
    ///     while !task.is_finished() {
    ///         if worker.yield_now() == Yield::Idle {
    ///             std::thread::yield_now();
    ///         }
    ///     }
    /// });
    /// ```
    pub fn yield_now(&self) -> Yield {
        self.run_one(|pool| {
            let taken = work::last_resort_take(pool)?;
            with_worker_of(pool, |worker| match worker {
                Some(worker) => worker.enter(|| taken.found.run(pool)),
                // The thread is in a call of `with_worker`, which borrows the executor.
                None => taken.found.run_without_seat(pool, Borrows::Executor),
            });
            Some(())
        })
    }

    /// Runs one piece of the work that lies at this thread, if there is one: a task that is pinned to it, or one in the queue
    /// of the worker. As [`yield_now`](Self::yield_now) otherwise.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, Worker, Yield, block_on};
    ///
    /// let executor = Builder::new().workers(1).build();
    /// let spawner = executor.spawner();
    /// let yields = executor.spawn(async move {
    ///     spawner.spawn(async {}).detach();
    ///     Worker::with_current(|worker| [worker.yield_local(), worker.yield_local()])
    /// });
    /// assert_eq!(block_on(yields), [Yield::Executed, Yield::Idle]);
    /// ```
    pub fn yield_local(&self) -> Yield {
        self.run_one(|pool| {
            with_worker_of(pool, |worker| {
                let worker = worker?;
                worker.flush();
                let taken = work::OwnQueues::take(&Look::turn(worker))?;
                worker.enter(|| taken.found.run(pool));
                Some(())
            })
        })
    }

    /// Runs a task that is pinned to this thread, or a piece of work that `run_of` finds in the pool.
    fn run_one(&self, run_of: impl FnOnce(&Shared) -> Option<()>) -> Yield {
        let pinned = terrace_thread::has_work() && terrace_thread::tick();
        if pinned || self.seat().and_then(|seat| run_of(seat.pool())).is_some() {
            Yield::Executed
        } else {
            Yield::Idle
        }
    }
}

/// [`Worker::yield_now`] in the current thread's place.
///
/// # Examples
///
/// ```
/// use terrace_executor::{Yield, yield_now};
///
/// // This thread is in no pool, and has no pinned task.
/// assert_eq!(yield_now(), Yield::Idle);
/// ```
pub fn yield_now() -> Yield {
    Worker::with_current(Worker::yield_now)
}

/// [`Worker::yield_local`] in the current thread's place.
///
/// # Examples
///
/// ```
/// use terrace_executor::{Builder, Current, Yield, block_on, yield_local};
///
/// let executor = Builder::new().workers(1).build();
/// let yields = executor.spawn(async {
///     Current::spawn(async {}).detach();
///     [yield_local(), yield_local()]
/// });
/// assert_eq!(block_on(yields), [Yield::Executed, Yield::Idle]);
/// ```
pub fn yield_local() -> Yield {
    Worker::with_current(Worker::yield_local)
}
