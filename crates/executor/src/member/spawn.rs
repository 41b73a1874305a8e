//! Spawning out of a member's closure, and waiting there. Also which threads are the workers that a member may name.

use std::future::Future;

use terrace_thread::ThreadSpawner;

use super::spawnable::{Place, Spawnable, SpawnableLocal};
use crate::parts::current::ExecutorId;
use crate::parts::threads::Thread;
use crate::pool::fork::Worker;
use crate::pool::frames::with_pool;
use crate::pool::shared::Shared;
use crate::run::block_on::block_on;
use crate::run::shutdown::wait_beside_tasks;
use crate::spawner::Spawner;

impl Spawner {
    /// Spawns a closure or a future, as [`Worker::spawn`] does.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    /// use terrace_executor::{Builder, block_on};
    ///
    /// let executor = Builder::new().workers(1).build();
    /// let spawner = executor.spawner();
    /// let (sender, words) = channel();
    /// spawner.spawn_work(move || sender.send("a closure").unwrap());
    /// assert_eq!(words.recv(), Ok("a closure"));
    /// assert_eq!(block_on(spawner.spawn_work(async { "a future" })), "a future");
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_work<M, S: Spawnable<M>>(&self, work: S) -> S::Output {
        work.spawn(Place {
            spawner: self,
            worker: None,
        })
    }

    /// Spawns a closure or a future that runs on the worker with this number only, as [`Worker::spawn_on`] does.
    ///
    /// # Panics
    /// If there is no worker with this number.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, block_on, current};
    ///
    /// let executor = Builder::new().workers(2).build();
    /// let worker = executor.spawner().spawn_work_on(1, async { current().map(|current| current.worker()) });
    /// assert_eq!(block_on(worker), Some(1));
    /// ```
    #[track_caller]
    pub fn spawn_work_on<M, S: Spawnable<M>>(&self, worker: usize, work: S) -> S::Output {
        let worker = worker_spawner(&self.pool, worker);
        work.spawn(Place {
            spawner: self,
            worker: Some(worker),
        })
    }
}

impl Worker {
    /// A handle that spawns onto the pool from anywhere. `None` where the handle knows no pool: see [`is_in_pool`](Self::is_in_pool). A
    /// task that a `run` future polls has the pool of that.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, Worker, block_on};
    ///
    /// let executor = Builder::new().workers(1).build();
    /// let spawner = executor.with_worker(Worker::spawner).expect("it knows the pool");
    /// assert_eq!(block_on(spawner.spawn(async { 6 * 7 })), 42);
    /// assert!(Worker::with_current(Worker::spawner).is_none(), "this thread is in no pool");
    /// ```
    #[must_use = "a handle spawns nothing by itself"]
    pub fn spawner(&self) -> Option<Spawner> {
        self.map_pool(|pool| Spawner { pool: pool.arc() })
    }

    /// The executor that the handle spawns on. `None` where it knows none, as for [`spawner`](Self::spawner).
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Builder::new().workers(1).build();
    /// executor.with_worker(|worker| assert_eq!(worker.executor(), Some(executor.id())));
    /// ```
    #[must_use = "the call only reads a value"]
    pub fn executor(&self) -> Option<ExecutorId> {
        self.map_pool(|pool| pool.id)
    }

    /// The number of workers of the pool; 0 where the handle knows none. Guests are not counted.
    ///
    /// Cost: one relaxed load.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Builder::new().workers(2).build();
    /// assert_eq!(executor.with_worker(|worker| worker.num_members()), 2);
    /// ```
    #[doc(alias = "current_num_threads")]
    #[must_use = "the call only reads a count"]
    pub fn num_members(&self) -> usize {
        self.map_pool(Shared::workers).unwrap_or(0)
    }

    fn map_pool<T>(&self, f: impl FnOnce(&Shared) -> T) -> Option<T> {
        match self.seat() {
            Some(seat) => Some(f(seat.pool())),
            None => with_pool(|pool| pool.map(f)),
        }
    }

    #[track_caller]
    pub(super) fn spawner_for(&self, verb: &str) -> Spawner {
        match self.spawner() {
            Some(spawner) => spawner,
            None => panic!(
                "{verb}: this thread takes part in no pool. Call it in a task of a pool, or inside of `with_worker`, or on the pool itself"
            ),
        }
    }

    /// Spawns a closure or a future on the pool. A future's handle can be awaited, detached or cancelled; a dropped handle cancels.
    /// While the pool has no workers, the work waits for a thread that waits or [yields](Self::yield_now).
    ///
    /// A panic of a closure goes to the pool's panic handler, that of a future to its handle.
    ///
    /// Cost: one allocation, and four read-modify-writes.
    ///
    /// # Panics
    /// If the handle knows no pool.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    /// use terrace_executor::{Builder, Worker, block_on};
    ///
    /// let executor = Builder::new().workers(1).build();
    /// let (sender, sums) = channel();
    /// let task = executor.with_worker(|worker| {
    ///     worker.spawn(move |worker: &Worker| {
    ///         let (a, b) = worker.join(|_| 1, |_| 2);
    ///         sender.send(a + b).unwrap();
    ///     });
    ///     worker.spawn(async { 4 })
    /// });
    /// assert_eq!(sums.recv(), Ok(3));
    /// assert_eq!(block_on(task), 4);
    /// ```
    #[track_caller]
    pub fn spawn<M, S: Spawnable<M>>(&self, work: S) -> S::Output {
        self.spawner_for("spawn").spawn_work(work)
    }

    /// Spawns a closure or a future that runs on the worker with this number only, counted from 0. If the worker ends first, the
    /// work is dropped.
    ///
    /// Cost: as [`spawn`](Self::spawn), and a lock and two allocations for the list of workers.
    ///
    /// # Panics
    /// If there is no worker with this number, or the handle knows no pool. A [hosted](crate::Builder::build_hosted) worker is there once its
    /// thread has begun.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Builder::new().workers(2).build();
    /// let thread = || async { std::thread::current().id() };
    /// let both = executor.with_worker(|worker| [worker.spawn_on(1, thread()), worker.spawn_on(1, thread())]);
    /// let [one, other] = both.map(terrace_executor::block_on);
    /// assert_eq!(one, other);
    /// ```
    #[track_caller]
    pub fn spawn_on<M, S: Spawnable<M>>(&self, worker: usize, work: S) -> S::Output {
        self.spawner_for("spawn_on").spawn_work_on(worker, work)
    }

    /// Spawns a closure or a future that stays on this thread, and need not be `Send`. A worker runs it between its tasks. Any thread runs it
    /// in its waits of Terrace, and by [`yield_now`](Self::yield_now). At the end of the thread what has not run is dropped.
    ///
    /// It needs no pool: it is `terrace_thread::spawn_local`, for closures too.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::rc::Rc;
    ///
    /// let executor = terrace_executor::Builder::new().workers(1).build();
    /// let seven = Rc::new(7);
    /// let doubled = executor.with_worker(|worker| {
    ///     let task = worker.spawn_local(async move { *seven * 2 });
    ///     worker.block_on(task)
    /// });
    /// assert_eq!(doubled, 14);
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_local<M, S: SpawnableLocal<M>>(&self, work: S) -> S::Output {
        work.spawn_local(self.spawner())
    }

    /// Blocks the thread until `future` is done: [`block_on`](fn@crate::block_on). It needs no pool.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Builder::new().workers(1).build();
    /// let answer = executor.with_worker(|worker| {
    ///     let task = worker.spawn(async { 6 * 7 });
    ///     worker.block_on(task)
    /// });
    /// assert_eq!(answer, 42);
    /// ```
    pub fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        block_on(future)
    }
}

/// A spawner for each worker that was not asked to end, in the order of their places. Waits for those that were started and have not
/// begun yet; a place that the program keeps for a thread of its own counts from that thread's beginning on.
pub(crate) fn worker_spawners(pool: &Shared) -> Vec<ThreadSpawner> {
    loop {
        let arrival = pool.threads.ended.listen();
        let mut spawners: Vec<_> = {
            let list = pool.threads.list.lock();
            let stays = |thread: &&Thread| {
                thread.is_worker()
                    && thread.thread.is_some()
                    && !thread.has_ended()
                    && !pool.is_asked_to_end(thread.seat)
            };
            let place = |thread: &Thread| (thread.seat, thread.signs.spawner.get().cloned());
            list.iter().filter(stays).map(place).collect()
        };
        spawners.sort_by_key(|(seat, _)| *seat);
        let arrived: Option<_> = spawners.into_iter().map(|(_, spawner)| spawner).collect();
        if let Some(arrived) = arrived {
            return arrived;
        }
        wait_beside_tasks(arrival);
    }
}

/// Calls `queue`, which queues a part of a broadcast, with each of the workers and its number. All workers get any two broadcasts in the same
/// order.
pub(crate) fn broadcast_to(
    workers: &[ThreadSpawner],
    pool: &Shared,
    queue: impl FnMut((usize, &ThreadSpawner)),
) {
    let turn = pool.threads.broadcasts.lock();
    workers.iter().enumerate().for_each(queue);
    drop(turn);
    workers.iter().for_each(ThreadSpawner::tell_of_calls);
}

/// The spawner of the worker with this number, counted from 0.
///
/// # Panics
/// If there is none.
#[track_caller]
pub(crate) fn worker_spawner(pool: &Shared, worker: usize) -> ThreadSpawner {
    let mut workers = worker_spawners(pool);
    let amount = workers.len();
    assert!(
        worker < amount,
        "spawn_on: there is no worker {worker}, the pool has {amount}"
    );
    workers.swap_remove(worker)
}
