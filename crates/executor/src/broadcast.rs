//! The same closure on every worker, and which threads are the workers that a program may name.
//!
//! | a part of the broadcast | its closure                      | its result                    |
//! |-------------------------|----------------------------------|-------------------------------|
//! | sent                    | lies among the worker's children | none                          |
//! | running                 | is called by the worker          | none                          |
//! | done                    | is gone                          | written                       |
//! | dropped: the worker ends| is gone                          | none: the part is left out    |
//!
//! The caller waits until each part is done or dropped, so parts may borrow from its frame.
//!
//! Threads queue the parts of their broadcasts under one lock of the pool, and wake the workers after it. So all workers begin any two
//! broadcasts in the same order.

use std::any::type_name_of_val;
use std::iter::repeat_n;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;

use terrace_local::{Payload, contain, drop_payload};
use terrace_sync::Arc;
use terrace_thread::ThreadSpawner;
use terrace_trace::{Caller, inspect};

use crate::guard::Bomb;
use crate::parts::threads::Thread;
use crate::pool::Shared;
use crate::pool::fork::Worker;
use crate::run::block_on::block_on;
use crate::run::shutdown::wait_beside_tasks;
use crate::run::{fork, stand_in};
use crate::spawner::Spawner;

/// What a broadcast closure learns of its worker.
///
/// # Examples
///
/// ```
/// let executor = terrace_executor::Builder::new().workers(2).build();
/// let numbers: Vec<u32> = (0..10).collect();
/// // Each worker sums its share.
/// let sums = executor.broadcast(|part| numbers.iter().skip(part.index).step_by(part.participants).sum::<u32>());
/// assert_eq!(sums, [20, 25]);
/// ```
#[derive(Debug)]
pub struct Broadcast<'w> {
    /// The worker's handle.
    pub worker: &'w Worker,
    /// The number of this part, below `participants`.
    pub index: usize,
    /// To how many workers the closure was sent.
    pub participants: usize,
}

/// [`Worker::broadcast`] on `pool`.
#[cfg_attr(feature = "timeline", track_caller)]
pub(crate) fn broadcast<T: Send>(
    pool: &Shared,
    f: &(impl Fn(Broadcast<'_>) -> T + Sync),
) -> Vec<T> {
    stand_in::give_way(pool);
    let workers = worker_spawners(pool);
    let participants = workers.len();
    if participants == 0 {
        return vec![fork::with_worker(pool, |worker| part_of(f, worker, 0, 1))];
    }
    let spawns = Caller::here().spawns();
    let part = |index| {
        let part =
            move || fork::with_worker(pool, |worker| part_of(f, worker, index, participants));
        let part = async move { catch_unwind(AssertUnwindSafe(part)) };
        inspect::child(|| &pool.records, type_name_of_val(f), ptr::null(), part)
    };
    let parts = (0..participants).map(part).collect();
    let bomb = Bomb("in the wait of a broadcast, while workers use its frame");
    let mut sent = Vec::with_capacity(participants);
    broadcast_to(&workers, pool, parts, |worker, part| {
        // SAFETY: the part is `Send`: it has references to `Sync` values. This frame does not go before the part is gone: it awaits each
        // handle, and a handle is done when its task's future has been dropped, run or not. A panic in between ends the process.
        sent.push(unsafe { worker.queue_call(part) }.fallible());
    });
    drop(spawns);
    let ended = block_on(async {
        let mut ended = Vec::with_capacity(participants);
        for part in sent {
            // None if the worker has ended.
            ended.extend(part.await);
        }
        ended
    });
    std::mem::forget(bomb);
    collect(ended)
}

impl Spawner {
    /// As [`Worker::spawn_broadcast`].
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    ///
    /// let executor = terrace_executor::Builder::new().workers(2).build();
    /// let (sender, parts) = channel();
    /// executor.spawner().spawn_broadcast(move |part| sender.send(part.participants).unwrap());
    /// assert!(parts.iter().eq([2, 2]));
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_broadcast(&self, f: impl Fn(Broadcast<'_>) + Send + Sync + 'static) {
        let _spawns = Caller::here().spawns();
        let workers = worker_spawners(&self.pool);
        let (name, records) = (type_name_of_val(&f), || &self.pool.records);
        let parts = parts_of(f, workers.len());
        if workers.is_empty() {
            return parts.for_each(|part| self.spawn_work(part));
        }
        let part = |part| {
            let pool = Arc::clone(&self.pool);
            let part = async move { fork::with_worker_contained(&pool, part) };
            inspect::child(records, name, ptr::null(), part)
        };
        let parts = parts.map(part).collect();
        broadcast_to(&workers, &self.pool, parts, |worker, part| {
            // SAFETY: the part is `Send`, and borrows nothing.
            unsafe { worker.queue_call(part) }.detach();
        });
    }
}

impl Worker {
    /// Calls `f` once on each worker of the pool, before the tasks that wait there and also while the worker waits. Returns the results in
    /// the order of the workers. A worker that ends before its turn is left out. Workers that are started after the call has
    /// begun take no part. While there are no workers, or no pool, the caller is the one that takes part.
    ///
    /// All workers begin any two broadcasts of a pool in the same order.
    ///
    /// A worker that calls it takes part like the others, during the wait. A worker in the middle of a task, pinned or not, runs its
    /// part when that task waits or ends. So any number of workers may broadcast at once. A broadcast under a lock that a worker wants
    /// waits without end.
    ///
    /// Cost: one allocation a worker, and a few and a lock a call.
    ///
    /// # Panics
    /// If a call panics, when all have ended: with the payload of the first worker.
    ///
    /// # Aborts
    /// If a waker of another crate panics in the wait.
    ///
    /// # Examples
    ///
    /// ```
    /// let greeting = String::from("borrowed");
    /// for workers in [0, 1, 2] {
    ///     let executor = terrace_executor::Builder::new().workers(workers).build();
    ///     let parts = executor
    ///         .with_worker(|worker| worker.broadcast(|part| (part.index, part.participants, greeting.len())));
    ///     let expected: Vec<_> = (0..workers.max(1)).map(|index| (index, workers.max(1), 8)).collect();
    ///     assert_eq!(parts, expected);
    /// }
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn broadcast<T: Send>(&self, f: impl Fn(Broadcast<'_>) -> T + Sync) -> Vec<T> {
        match self.spawner() {
            Some(spawner) => broadcast(&spawner.pool, &f),
            None => vec![part_of(&f, self, 0, 1)],
        }
    }

    /// Calls `f` once on each worker of the pool, some time later. A worker that ends first leaves its call out. While the pool has no
    /// workers, the call waits for a thread that waits, as [`spawn`](Self::spawn) says. Panics go to the pool's panic handler.
    ///
    /// # Panics
    /// If the handle knows no pool.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Builder::new().workers(2).build();
    /// let (sender, parts) = std::sync::mpsc::channel();
    /// executor.with_worker(|worker| worker.spawn_broadcast(move |part| sender.send(part.index).unwrap()));
    /// let mut parts: Vec<_> = parts.iter().collect();
    /// parts.sort();
    /// assert_eq!(parts, [0, 1]);
    /// ```
    #[track_caller]
    pub fn spawn_broadcast(&self, f: impl Fn(Broadcast<'_>) + Send + Sync + 'static) {
        self.spawner_for("spawn_broadcast").spawn_broadcast(f);
    }
}

/// Calls `f` as a part of a broadcast.
fn part_of<T>(
    f: &impl Fn(Broadcast<'_>) -> T,
    worker: &Worker,
    index: usize,
    participants: usize,
) -> T {
    f(Broadcast {
        worker,
        index,
        participants,
    })
}

/// The parts of a broadcast to so many workers; one if there are none. The last part gets the original of the closure. So a part is what
/// drops it, never the broadcaster: a panic of its destructor is the part's.
pub(crate) fn parts_of<F: Fn(Broadcast<'_>)>(
    f: F,
    workers: usize,
) -> impl Iterator<Item = impl FnOnce(&Worker) + use<F>> + use<F> {
    let participants = workers.max(1);
    let owned = repeat_n(Arc::new(f), participants).enumerate();
    owned.map(move |(index, f)| move |worker: &Worker| part_of(&*f, worker, index, participants))
}

/// The results of the parts that ran.
fn collect<T>(results: Vec<Result<T, Payload>>) -> Vec<T> {
    let mut values = Vec::with_capacity(results.len());
    let mut first = None;
    for ended in results {
        match ended {
            Ok(value) => values.push(value),
            Err(payload) if first.is_none() => first = Some(payload),
            Err(payload) => drop_payload(payload),
        }
    }
    match first {
        Some(payload) => {
            // Panics of the values' destructors must not take the place of this one, nor meet each other.
            for value in values {
                contain(|| drop(value));
            }
            resume_unwind(payload)
        }
        None => values,
    }
}

/// A spawner for each worker that was not asked to end, in the order of their places. Waits for those that were started and have not
/// begun yet; a place that the program keeps for a thread of its own counts from that thread's beginning on.
pub(crate) fn worker_spawners(pool: &Shared) -> Vec<ThreadSpawner> {
    loop {
        let arrival = pool.threads.ended.listen();
        let mut spawners: Vec<_> = {
            let list = pool.threads.list.lock();
            let stays = |thread: &&Arc<Thread>| {
                thread.is_worker()
                    && thread.thread.get().is_some()
                    && !thread.has_ended()
                    && !pool.is_asked_to_end(thread.seat)
            };
            let place = |thread: &Arc<Thread>| (thread.seat, thread.spawner.get().cloned());
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

/// Calls `queue`, which queues a part of a broadcast, with each of the workers and its one of the `parts`. All workers get any two
/// broadcasts in the same order. What is not queued is dropped after the lock: it is code of the program.
pub(crate) fn broadcast_to<P: Send>(
    workers: &[ThreadSpawner],
    pool: &Shared,
    parts: Vec<P>,
    mut queue: impl FnMut(&ThreadSpawner, P),
) {
    let mut parts = parts.into_iter();
    let turn = pool.threads.broadcasts.lock();
    for (worker, part) in workers.iter().zip(&mut parts) {
        queue(worker, part);
    }
    drop(turn);
    workers.iter().for_each(ThreadSpawner::tell_of_calls);
}
