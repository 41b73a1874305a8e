//! A job for each thread of a pool.

use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex};

use crate::call::with_current;
use crate::job::Job;
use crate::locked::lock;
use crate::member::Member;
use crate::registry::{Place, Registry};
use crate::spawn::job;
use crate::wait::{Left, wait};

/// What a broadcast closure learns of its thread.
pub struct BroadcastContext<'a> {
    member: &'a Member,
    on_thread: PhantomData<&'a mut dyn Fn()>,
}

impl BroadcastContext<'_> {
    /// Calls `f` with the context of this thread, which is in a pool.
    pub(crate) fn with<R>(f: impl FnOnce(BroadcastContext<'_>) -> R) -> R {
        Member::with(|member| {
            f(BroadcastContext {
                member: member.expect("a broadcast runs in a pool"),
                on_thread: PhantomData,
            })
        })
    }

    /// The index of the thread, below [`num_threads`](Self::num_threads).
    #[inline]
    pub fn index(&self) -> usize {
        self.member.index
    }

    /// The number of threads that run the closure.
    #[inline]
    pub fn num_threads(&self) -> usize {
        self.member.registry.threads()
    }
}

impl fmt::Debug for BroadcastContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastContext")
            .field("index", &self.index())
            .field("num_threads", &self.num_threads())
            .field("pool_id", &self.member.registry.id())
            .finish()
    }
}

/// Calls `op` on each thread of this thread's pool, or of the global one, and returns the results in the order of the threads. A
/// thread runs `op` after the jobs in its own queue, also while it waits.
///
/// # Panics
/// If one of the calls panics, when all have ended.
///
/// ```
/// # use rayon_core as rayon;
/// let squares = rayon::broadcast(|context| context.index() * context.index());
/// assert_eq!(squares.len(), rayon::current_num_threads());
/// ```
pub fn broadcast<OP, R>(op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    with_current(|registry| broadcast_in(registry, op))
}

/// Calls `op` on each thread of this thread's pool, or of the global one, some time later.
///
/// A panic goes to the handler of the pool. If there is none, the process ends.
pub fn spawn_broadcast<OP>(op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    with_current(|registry| spawn_broadcast_in(registry, op));
}

impl Registry {
    /// Gives each thread its job of a broadcast. All threads get any two broadcasts in the same order.
    pub(crate) fn send_to_all(&self, jobs: impl IntoIterator<Item = Job>) {
        let jobs: Vec<Job> = jobs.into_iter().collect();
        let turn = lock(&self.broadcasts);
        for (place, job) in self.places.iter().zip(jobs) {
            place.put(job);
        }
        drop(turn);
        self.places.iter().for_each(Place::tell);
    }
}

pub(crate) fn broadcast_in<OP, R>(registry: &Registry, op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    let results: Vec<Mutex<_>> = registry.places.iter().map(|_| Mutex::new(None)).collect();
    Member::with(|member| {
        let left = Left::new(registry.threads(), Member::bell(member));
        let jobs = results.iter().map(|result| {
            let (op, left) = (&op, Arc::clone(&left));
            let run = move || {
                let value = catch_unwind(AssertUnwindSafe(|| BroadcastContext::with(op)));
                *lock(result) = Some(value);
            };
            let ended = move || left.count_out();
            // SAFETY: this frame waits until each `run` has returned: `wait` does not unwind, and each thread runs what it was sent.
            unsafe { Job::borrowing(run, ended) }
        });
        registry.send_to_all(jobs);
        wait(&left.bell, &*left, |_| member.is_some_and(Member::help));
    });
    let values = results.into_iter().map(|result| {
        let value = lock(&result).take().expect("each job has run");
        value.unwrap_or_else(|payload| resume_unwind(payload))
    });
    values.collect()
}

pub(crate) fn spawn_broadcast_in<OP>(registry: &Arc<Registry>, op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    let op = Arc::new(op);
    registry.send_to_all(registry.places.iter().map(|_| {
        let op = Arc::clone(&op);
        job(registry, move || BroadcastContext::with(&*op))
    }));
}
