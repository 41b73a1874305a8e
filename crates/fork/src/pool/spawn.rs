//! Work that outlives its caller: closures, and futures with a handle.

use std::future::Future;

use terrace_executor::{Task, Worker};

use super::thread_pool::ThreadPool;

/// Work for [`ThreadPool::spawn`]: a closure that takes `&Worker`, whose output is `()`, or a future, whose output is its handle.
/// Sealed.
pub trait Spawn<M>: sealed::Sealed<M> + Send + 'static {
    /// What the spawner gets.
    type Output;

    /// Calls `spawn` with the work as a future, and keeps the handle or detaches it.
    #[doc(hidden)]
    fn spawn(self, spawn: impl SpawnFuture) -> Self::Output;
}

/// Where a future goes.
#[doc(hidden)]
pub trait SpawnFuture {
    /// Spawns it.
    fn spawn<T: Send + 'static>(self, future: impl Future<Output = T> + Send + 'static) -> Task<T>;
}

mod sealed {
    use std::future::Future;

    use terrace_executor::Worker;

    /// Tells closures from futures.
    pub struct OfClosure;
    /// Tells futures from closures.
    pub struct OfFuture;

    pub trait Sealed<M> {}

    impl<F: FnOnce(&Worker)> Sealed<OfClosure> for F {}
    impl<F: Future> Sealed<OfFuture> for F {}
}

impl<F: FnOnce(&Worker) + Send + 'static> Spawn<sealed::OfClosure> for F {
    type Output = ();

    fn spawn(self, spawn: impl SpawnFuture) {
        spawn
            .spawn(async move { Worker::with_current(self) })
            .detach();
    }
}

impl<F> Spawn<sealed::OfFuture> for F
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    type Output = Task<F::Output>;

    fn spawn(self, spawn: impl SpawnFuture) -> Task<F::Output> {
        spawn.spawn(self)
    }
}

/// To any worker.
struct ToAny<'p>(&'p ThreadPool);

impl SpawnFuture for ToAny<'_> {
    fn spawn<T: Send + 'static>(self, future: impl Future<Output = T> + Send + 'static) -> Task<T> {
        self.0.executor().spawn(future)
    }
}

/// To the worker with this number.
struct ToWorker<'p>(&'p ThreadPool, usize);

impl SpawnFuture for ToWorker<'_> {
    fn spawn<T: Send + 'static>(self, future: impl Future<Output = T> + Send + 'static) -> Task<T> {
        let Self(pool, number) = self;
        let workers = pool.executor().worker_spawners();
        let Some(worker) = workers.get(number) else {
            panic!(
                "spawn_on: there is no worker {number}, the pool has {}; see num_members",
                workers.len()
            );
        };
        worker.spawn(future)
    }
}

impl ThreadPool {
    /// Spawns a closure or a future. A future's handle can be awaited, detached or cancelled; a dropped handle cancels. While the
    /// pool has no workers, the work waits for a thread that waits, or for [`yield_now`](Self::yield_now).
    ///
    /// A panic of a closure goes to the [panic handler](Self::set_panic_handler), that of a future to its handle.
    ///
    /// ```
    /// use terrace_fork::ThreadPool;
    ///
    /// static POOL: ThreadPool = ThreadPool::new();
    ///
    /// fn checksum(block: Vec<u8>) -> u32 {
    ///     block.iter().fold(1, |sum, byte| sum * 31 % 65_521 + u32::from(*byte))
    /// }
    ///
    /// for workers in [0, 1, 2] {
    ///     POOL.resize_to(workers);
    ///     let one = POOL.spawn(async { checksum(vec![1; 1_000]) });
    ///     let other = POOL.spawn(async { checksum(vec![1; 1_000]) });
    ///     POOL.spawn(async { checksum(vec![2; 1_000]) }).detach();
    ///     drop(POOL.spawn(async { checksum(vec![3; 1_000]) }));
    ///     let both = async { (one.await, other.await) };
    ///     let (one, other) = POOL.block_on(both);
    ///     assert_eq!(one, other);
    /// }
    /// POOL.depopulate();
    /// ```
    pub fn spawn<M, S: Spawn<M>>(&self, work: S) -> S::Output {
        work.spawn(ToAny(self))
    }

    /// Spawns a closure or a future that runs on the worker with this number only, counted from 0. If the worker ends first, the
    /// work is dropped.
    ///
    /// # Panics
    /// If there is no worker with this number.
    ///
    /// ```
    /// let pool = terrace_fork::ThreadPool::new();
    /// pool.resize_to(2);
    /// let thread = || async { std::thread::current().id() };
    /// let (one, same) = (pool.spawn_on(1, thread()), pool.spawn_on(1, thread()));
    /// assert_eq!(pool.block_on(one), pool.block_on(same));
    /// ```
    pub fn spawn_on<M, S: Spawn<M>>(&self, worker: usize, work: S) -> S::Output {
        work.spawn(ToWorker(self, worker))
    }
}
