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

use terrace_local::task::FallibleTask;
use terrace_local::{Payload, contain, drop_payload};
use terrace_sync::{Arc, Mutex};
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

/// A part, as its worker runs it.
type Part<'f> = Box<dyn FnOnce() + Send + 'f>;

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
    let results: Vec<_> = workers.iter().map(|_| Mutex::new(None)).collect();
    let bomb = Bomb("in the wait of a broadcast, while workers use its frame");
    let mut sent: Vec<FallibleTask<()>> = Vec::with_capacity(participants);
    let spawns = Caller::here().spawns();
    broadcast_to(&workers, pool, &results, |index, worker, result| {
        let part: Part<'_> = Box::new(move || {
            let part = || fork::with_worker(pool, |worker| part_of(f, worker, index, participants));
            let ended = catch_unwind(AssertUnwindSafe(part));
            *result.lock() = Some(ended);
        });
        // SAFETY: only the lifetime changes. This frame does not go before the part is gone: it awaits each handle, and a handle
        // is done when its task's future has been dropped, run or not. A panic in between ends the process.
        let part: Part<'static> = unsafe { std::mem::transmute::<Part<'_>, Part<'static>>(part) };
        let (name, part) = (type_name_of_val(f), async move { part() });
        let part = inspect::child(|| &pool.records, name, ptr::null(), part);
        sent.push(worker.queue_call(part).fallible());
    });
    drop(spawns);
    block_on(async {
        for part in sent {
            // None if the worker has ended.
            let _ran = part.await;
        }
    });
    std::mem::forget(bomb);
    collect(results)
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
        let participants = workers.len();
        if participants == 0 {
            return self.spawn_work(move |worker: &Worker| part_of(&f, worker, 0, 1));
        }
        let (name, records) = (type_name_of_val(&f), || &self.pool.records);
        // The last part gets the original. So a part is what drops the closure, never this call: a panic of its destructor is the part's.
        let owned = repeat_n(Arc::new(f), participants);
        broadcast_to(&workers, &self.pool, owned, |index, worker, f| {
            let pool = Arc::clone(&self.pool);
            let part = move |worker: &Worker| part_of(&*f, worker, index, participants);
            let part = async move { fork::with_worker_contained(&pool, part) };
            let part = inspect::child(records, name, ptr::null(), part);
            worker.queue_call(part).detach();
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
    /// Cost: two allocations a worker, and a few and a lock a call.
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
pub(crate) fn part_of<T>(
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

/// The results of the parts that ran.
fn collect<T>(results: Vec<Mutex<Option<Result<T, Payload>>>>) -> Vec<T> {
    let mut values = Vec::with_capacity(results.len());
    let mut first = None;
    for ended in results.into_iter().filter_map(Mutex::into_inner) {
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

/// Calls `queue`, which queues a part of a broadcast, with each of the workers, its number and its one of the `parts`. All workers get any two
/// broadcasts in the same order.
pub(crate) fn broadcast_to<P>(
    workers: &[ThreadSpawner],
    pool: &Shared,
    parts: impl IntoIterator<Item = P>,
    mut queue: impl FnMut(usize, &ThreadSpawner, P),
) {
    let turn = pool.threads.broadcasts.lock();
    for ((index, worker), part) in workers.iter().enumerate().zip(parts) {
        queue(index, worker, part);
    }
    drop(turn);
    workers.iter().for_each(ThreadSpawner::tell_of_calls);
}
