//! The verbs of a pool, in the place of the current thread: that of the worker whose task it polls, or of the innermost
//! [`with_worker`](crate::ThreadPool::with_worker). For libraries that know no pool.
//!
//! | the thread              | `join`, `scope`, `broadcast`, `block_on`, `spawn_local`, yields | `spawn`, `spawn_on`, `spawn_broadcast` |
//! |-------------------------|-----------------------------------------------------------------|----------------------------------------|
//! | takes part in a pool    | on that pool                                                    | on that pool                           |
//! | takes part in none      | on this thread alone                                            | panic                                  |
//!
//! A future that was spawned on a pool without workers may be polled by any thread that waits: it finds that thread's place. A closure
//! gets a handle of the pool that it was spawned on.

use terrace_executor::{Broadcast, Spawnable, SpawnableLocal, Worker};
pub use terrace_executor::{block_on, join, yield_local, yield_now};

use crate::scope::{self, Scope};

/// [`MemberScope::scope`](crate::MemberScope::scope) in the current thread's place.
///
/// # Panics
/// With the panic of `body`, else with that of a child, when all have ended.
///
/// # Examples
///
/// ```
/// let mut numbers = [1, 2, 3];
/// terrace_fork::here::scope(|scope| {
///     for number in &mut numbers {
///         scope.spawn(async move { *number *= 2 });
///     }
/// });
/// assert_eq!(numbers, [2, 4, 6]);
/// ```
#[doc(alias = "in_place_scope")]
pub fn scope<'env, T>(body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T) -> T {
    Worker::with_current(|worker| scope::scope_of(worker, body))
}

/// [`Worker::num_members`] in the current thread's place: 0 on a thread that takes part in no pool.
///
/// # Examples
///
/// ```
/// use terrace_fork::{ThreadPool, here};
///
/// let pool = ThreadPool::new();
/// pool.resize_to(2);
/// assert_eq!(pool.with_worker(|_| here::num_members()), 2);
/// assert_eq!(here::num_members(), 0);
/// ```
#[doc(alias = "current_num_threads")]
#[must_use = "the call only reads a count"]
pub fn num_members() -> usize {
    Worker::with_current(Worker::num_members)
}

/// [`Worker::spawn`] in the current thread's place.
///
/// # Panics
/// If the thread takes part in no pool.
///
/// # Examples
///
/// ```
/// use terrace_fork::{ThreadPool, here};
///
/// let pool = ThreadPool::new();
/// pool.populate();
/// let task = pool.with_worker(|_| here::spawn(async { 42 }));
/// assert_eq!(pool.block_on(task), 42);
/// ```
#[track_caller]
pub fn spawn<M, S: Spawnable<M>>(work: S) -> S::Output {
    Worker::with_current(|worker| worker.spawn(work))
}

/// [`Worker::spawn_on`] in the current thread's place.
///
/// # Panics
/// If there is no worker with this number, or the thread takes part in no pool.
///
/// # Examples
///
/// ```
/// use terrace_fork::{ThreadPool, here};
///
/// let pool = ThreadPool::new();
/// pool.resize_to(2);
/// let name = || async { std::thread::current().name().map(String::from) };
/// let task = pool.with_worker(|_| here::spawn_on(1, name()));
/// assert_eq!(pool.block_on(task).as_deref(), Some("terrace-1"));
/// ```
#[track_caller]
pub fn spawn_on<M, S: Spawnable<M>>(worker: usize, work: S) -> S::Output {
    Worker::with_current(|current| current.spawn_on(worker, work))
}

/// [`Worker::spawn_local`] in the current thread's place.
///
/// # Examples
///
/// ```
/// use std::rc::Rc;
/// use terrace_fork::here;
///
/// // It needs no pool.
/// let seven = Rc::new(7);
/// let task = here::spawn_local(async move { *seven * 6 });
/// assert_eq!(here::block_on(task), 42);
/// ```
#[cfg_attr(feature = "timeline", track_caller)]
pub fn spawn_local<M, S: SpawnableLocal<M>>(work: S) -> S::Output {
    Worker::with_current(|worker| worker.spawn_local(work))
}

/// [`Worker::broadcast`] in the current thread's place.
///
/// # Panics
/// If a call panics, when all have ended: with the payload of the first worker.
///
/// # Examples
///
/// ```
/// use terrace_fork::{ThreadPool, here};
///
/// let pool = ThreadPool::new();
/// pool.resize_to(2);
/// assert_eq!(pool.with_worker(|_| here::broadcast(|part| part.index)), [0, 1]);
/// // A thread in no pool is the one that takes part.
/// assert_eq!(here::broadcast(|part| part.participants), [1]);
/// ```
pub fn broadcast<T: Send>(f: impl Fn(Broadcast<'_>) -> T + Sync) -> Vec<T> {
    Worker::with_current(|worker| worker.broadcast(f))
}

/// [`Worker::spawn_broadcast`] in the current thread's place.
///
/// # Panics
/// If the thread takes part in no pool.
///
/// # Examples
///
/// ```
/// use terrace_fork::{ThreadPool, here};
///
/// let pool = ThreadPool::new();
/// pool.resize_to(2);
/// let (sender, parts) = std::sync::mpsc::channel();
/// pool.with_worker(|_| here::spawn_broadcast(move |part| sender.send(part.index + 1).unwrap()));
/// assert_eq!(parts.iter().sum::<usize>(), 1 + 2);
/// ```
#[track_caller]
pub fn spawn_broadcast(f: impl Fn(Broadcast<'_>) + Send + Sync + 'static) {
    Worker::with_current(|worker| worker.spawn_broadcast(f));
}
