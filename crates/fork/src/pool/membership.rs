//! The right of a thread to take part in a pool's fork-join.

use terrace_executor::Worker;

use super::thread_pool::ThreadPool;

/// A membership of a [`ThreadPool`], for engines that hand memberships to threads of their own. A pool has as many as are asked for:
/// it refuses none. A thread takes part while it is [active](Self::activate).
///
/// There is no raw form, since nothing is left to be done by hand: a membership is `Copy` and `Send`, is good for any number of calls, also nested and
/// on several threads at once, and costs nothing between them. An engine that wants to be a worker, which also runs tasks between its
/// jobs, takes a [`HostedWorker`](terrace_executor::HostedWorker).
/// [`ThreadPool::enroll`] has an example.
#[derive(Clone, Copy, Debug)]
#[must_use = "a membership takes part only while it is active"]
pub struct Membership<'pool> {
    pool: &'pool ThreadPool,
}

impl ThreadPool {
    /// A membership. It costs nothing until it is active.
    ///
    /// # Examples
    ///
    /// ```
    /// static POOL: terrace_fork::ThreadPool = terrace_fork::ThreadPool::new();
    ///
    /// POOL.populate();
    /// let membership = POOL.enroll();
    /// let engine = std::thread::spawn(move || {
    ///     membership.activate(|worker| worker.join(|_| 1, |_| 2))
    /// });
    /// assert_eq!(engine.join().unwrap(), (1, 2));
    /// # POOL.depopulate();
    /// ```
    pub fn enroll(&self) -> Membership<'_> {
        Membership { pool: self }
    }

    /// As [`enroll`](Self::enroll): always `Some`. For programs that know pools with a limit.
    #[must_use]
    pub fn try_enroll(&self) -> Option<Membership<'_>> {
        Some(self.enroll())
    }
}

impl Membership<'_> {
    /// Calls `f` as a member of the pool, on this thread, as [`ThreadPool::with_worker`] does. Panics of `f` go through.
    pub fn activate<T>(self, f: impl FnOnce(&Worker) -> T) -> T {
        self.pool.with_worker(f)
    }
}
