//! The handle that closures of a join get: in which seat their thread forks.

use std::fmt;
use std::marker::PhantomData;
use std::ptr;

use terrace_queue::fork::Owner;

use super::here::{self, Seat};
use crate::parts::fork_seat::{Deque, JobWord};

/// The place of the current thread in a pool, for fork-join. It is lent to closures, on their thread.
///
/// [`join`](Self::join) forks in this place. A handle without a pool runs both halves in order: so does one of a pool that had
/// no workers when the thread came.
///
/// It stays on its thread, so a future that holds it is not `Send`:
///
/// ```compile_fail,E0277
/// use terrace_executor::{Builder, Worker};
///
/// async fn hold(worker: &Worker) {
///     std::future::ready(()).await;
///     worker.join(|_| (), |_| ());
/// }
///
/// fn is_send<T: Send>(_: T) {}
/// Worker::with_current(|worker| is_send(hold(worker)));
/// ```
///
/// # Examples
///
/// ```
/// let executor = terrace_executor::Builder::new().workers(1).build();
/// let sum = executor.with_worker(|worker| {
///     let (a, b) = worker.join(|_| 1, |worker| worker.join(|_| 2, |_| 3));
///     a + b.0 + b.1
/// });
/// assert_eq!(sum, 6);
/// ```
#[doc(alias = "FnContext")]
pub struct Worker {
    /// Null if there is none.
    seat: *const Seat,
    /// The deque of the seat, or null: a join needs no more, mostly.
    deque: *const Deque,
    on_thread: PhantomData<*const ()>,
}

impl Worker {
    /// A handle of `seat`, or of none.
    ///
    /// # Safety
    /// The seat is the calling thread's for as long as the handle lives, or null.
    #[inline(always)]
    pub(crate) unsafe fn in_seat(seat: *const Seat) -> Self {
        // SAFETY: the seat is the calling thread's (the caller's promise).
        let deque = unsafe { seat.as_ref() }.map_or(ptr::null(), |seat| &raw const *seat.deque);
        Self {
            seat,
            deque,
            on_thread: PhantomData,
        }
    }

    /// Calls `f` with the handle of the current thread: of the worker whose task it polls, or of the innermost
    /// [`Executor::with_worker`](crate::Executor::with_worker). On any other thread the handle is one without a pool.
    ///
    /// Cost: one thread-local load. The first call of a worker makes its deque.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::Worker;
    ///
    /// // This thread is in no pool: both halves run here.
    /// assert_eq!(Worker::with_current(|worker| worker.join(|_| 1, |_| 2)), (1, 2));
    /// ```
    #[doc(alias = "current_thread")]
    #[inline(always)]
    pub fn with_current<T>(f: impl FnOnce(&Self) -> T) -> T {
        // SAFETY: the seat is left by a frame further out on this stack, so not before `f` has ended.
        let worker = unsafe { Self::in_seat(here::innermost_or_new()) };
        f(&worker)
    }

    /// Whether it is the place of a thread in a pool.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, Worker};
    ///
    /// assert!(!Worker::with_current(Worker::is_in_pool));
    /// assert!(Builder::new().workers(1).build().with_worker(Worker::is_in_pool));
    /// ```
    #[inline]
    #[must_use]
    pub fn is_in_pool(&self) -> bool {
        !self.seat.is_null()
    }

    /// Whether the caller is inside of a half of a join that another thread has forked: then the data may lie in the other's cache, and
    /// splitting further pays.
    #[inline]
    #[must_use]
    pub fn migrated(&self) -> bool {
        self.seat().is_some_and(|seat| seat.mine.migrated.get())
    }

    /// The owner's side of the deque in its seat.
    #[inline(always)]
    pub(crate) fn owner(&self) -> Option<Owner<'_, JobWord>> {
        // SAFETY: the seat, and so its deque, is this thread's for as long as the handle lives.
        let deque = unsafe { self.deque.as_ref() }?;
        // SAFETY: one thread holds the seat, and handles are not `Sync`. `Forks::enter` orders threads that change.
        Some(unsafe { deque.owner() })
    }

    #[inline]
    pub(crate) fn seat(&self) -> Option<&Seat> {
        // SAFETY: the seat is this thread's for as long as the handle lives, so its pool lives.
        unsafe { self.seat.as_ref() }
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("is_in_pool", &self.is_in_pool())
            .field("executor", &self.executor())
            .field("migrated", &self.migrated())
            .finish()
    }
}
