//! The threads that take part in a pool: its workers, of which the program says how many, and threads that have a membership.

use std::thread::available_parallelism;

use terrace_executor::Worker;

use super::thread_pool::ThreadPool;

impl ThreadPool {
    /// Starts or ends workers until there are as many as `size` says, which is called with their number. Returns how many there
    /// are then: fewer than asked for if the system starts no more threads.
    ///
    /// Resizes of several threads come one after the other: if another one comes between the call of `size` and its effect, `size` is
    /// called again, with the new number. No lock is held during the call.
    ///
    /// Workers that end finish the polls that they are in; this does not wait for them. Their pinned tasks end with them, all
    /// others stay.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = terrace_fork::ThreadPool::new();
    /// assert_eq!(pool.resize(|workers| workers + 2), 2);
    /// assert_eq!(pool.resize(|workers| workers / 2), 1);
    /// ```
    pub fn resize(&self, mut size: impl FnMut(usize) -> usize) -> usize {
        let made = self.made();
        loop {
            let before = made.executor.workers();
            let wanted = size(before);
            let _alone = made.resizing.lock();
            if made.executor.workers() != before {
                continue;
            }
            return match made.executor.set_workers(wanted) {
                Ok(()) => wanted,
                // Those that were started stay.
                Err(_) => made.executor.workers(),
            };
        }
    }

    /// Starts or ends workers until there are so many: see [`resize`](Self::resize).
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = terrace_fork::ThreadPool::new();
    /// assert_eq!(pool.resize_to(2), 2);
    /// ```
    #[doc(alias = "num_threads")]
    pub fn resize_to(&self, workers: usize) -> usize {
        self.resize(|_| workers)
    }

    /// As many workers as processors, but for one: that is the caller's, which takes part in what it joins. At least one.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = terrace_fork::ThreadPool::new();
    /// assert!(pool.resize_to_available() >= 1);
    /// ```
    pub fn resize_to_available(&self) -> usize {
        let processors = available_parallelism().map_or(1, usize::from);
        self.resize_to((processors - 1).max(1))
    }

    /// Starts so many more workers: see [`resize`](Self::resize).
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = terrace_fork::ThreadPool::new();
    /// assert_eq!((pool.grow(2), pool.grow(1)), (2, 3));
    /// ```
    pub fn grow(&self, workers: usize) -> usize {
        self.resize(|before| before.saturating_add(workers))
    }

    /// Ends so many workers, or all: see [`resize`](Self::resize).
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = terrace_fork::ThreadPool::new();
    /// pool.resize_to(3);
    /// assert_eq!((pool.shrink(1), pool.shrink(5)), (2, 0));
    /// ```
    pub fn shrink(&self, workers: usize) -> usize {
        self.resize(|before| before.saturating_sub(workers))
    }

    /// Starts a worker if there is none.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = terrace_fork::ThreadPool::new();
    /// assert_eq!((pool.populate(), pool.populate()), (1, 1));
    /// ```
    pub fn populate(&self) -> usize {
        self.resize(|before| before.max(1))
    }

    /// Ends all workers. Work runs on threads that wait for it then.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = terrace_fork::ThreadPool::new();
    /// pool.resize_to(2);
    /// assert_eq!(pool.depopulate(), 0);
    /// ```
    pub fn depopulate(&self) -> usize {
        self.resize_to(0)
    }
}

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
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = terrace_fork::ThreadPool::new();
    /// pool.populate();
    /// let membership = pool.try_enroll().expect("a pool refuses no membership");
    /// assert!(membership.activate(|worker| worker.is_in_pool()));
    /// ```
    #[must_use = "the membership ends when it is dropped"]
    pub fn try_enroll(&self) -> Option<Membership<'_>> {
        Some(self.enroll())
    }
}

impl Membership<'_> {
    /// Calls `f` as a member of the pool, on this thread, as [`ThreadPool::with_worker`] does. Panics of `f` go through.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = terrace_fork::ThreadPool::new();
    /// pool.populate();
    /// let membership = pool.enroll();
    /// let sums = [1, 2].map(|n| membership.activate(|worker| worker.join(|_| n, |_| n)));
    /// assert_eq!(sums, [(1, 1), (2, 2)]);
    /// ```
    pub fn activate<T>(self, f: impl FnOnce(&Worker) -> T) -> T {
        self.pool.with_worker(f)
    }
}
