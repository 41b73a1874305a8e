//! A pool of threads, and what a thread can ask about its own.

use std::fmt;
use std::sync::Arc;

use crate::broadcast::{self, BroadcastContext};
use crate::call::with_current;
use crate::job::Job;
use crate::join::join;
use crate::member::Member;
use crate::registry::Registry;
use crate::scope::{self, Scope, ScopeFifo};
use crate::spawn;

/// A pool of threads. When it is dropped, its threads finish the jobs that were spawned, and end; the drop does not wait for them.
pub struct ThreadPool {
    registry: Arc<Registry>,
}

impl ThreadPool {
    pub(crate) fn of(registry: Arc<Registry>) -> Self {
        Self { registry }
    }

    /// Calls `op` on a thread of the pool, and returns its result. A thread of the pool calls it itself. Any other sleeps until then; a
    /// thread of another pool runs jobs of its own pool only where all threads of that pool wait.
    ///
    /// # Panics
    /// If `op` panics.
    ///
    /// ```
    /// # use rayon_core as rayon;
    /// let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let (index, count) = pool.install(|| (rayon::current_thread_index(), rayon::current_num_threads()));
    /// assert!(index < Some(2) && count == 2);
    /// # Ok::<(), rayon::ThreadPoolBuildError>(())
    /// ```
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        self.registry.install(op)
    }

    /// [`broadcast`](fn@crate::broadcast) in this pool.
    ///
    /// # Panics
    /// As there.
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        broadcast::broadcast_in(&self.registry, op)
    }

    /// The number of threads.
    #[inline]
    pub fn current_num_threads(&self) -> usize {
        self.registry.threads()
    }

    /// The index of this thread, if it is in this pool.
    #[inline]
    pub fn current_thread_index(&self) -> Option<usize> {
        self.registry
            .here(|member| member.map(|member| member.index))
    }

    /// [`current_thread_has_pending_tasks`], if this thread is in this pool.
    #[inline]
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        self.registry.here(|member| member.map(Member::has_pending))
    }

    /// [`join`](fn@crate::join) in this pool.
    ///
    /// # Panics
    /// As there.
    pub fn join<A, B, RA, RB>(&self, oper_a: A, oper_b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.install(|| join(oper_a, oper_b))
    }

    /// [`scope`](fn@crate::scope) in this pool.
    ///
    /// # Panics
    /// As there.
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| scope::scope(op))
    }

    /// [`scope_fifo`](fn@crate::scope_fifo) in this pool.
    ///
    /// # Panics
    /// As there.
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| scope::scope_fifo(op))
    }

    /// [`in_place_scope`](fn@crate::in_place_scope), whose children run in this pool.
    ///
    /// # Panics
    /// As there.
    pub fn in_place_scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        scope::in_place_scope_in(&self.registry, op)
    }

    /// [`in_place_scope_fifo`](fn@crate::in_place_scope_fifo), whose children run in this pool.
    ///
    /// # Panics
    /// As there.
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        scope::in_place_scope_fifo_in(&self.registry, op)
    }

    /// [`spawn`](fn@crate::spawn) in this pool.
    pub fn spawn<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        spawn::spawn_in(&self.registry, op);
    }

    /// [`spawn_fifo`](fn@crate::spawn_fifo) in this pool.
    pub fn spawn_fifo<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        spawn::spawn_fifo_in(&self.registry, op);
    }

    /// [`spawn_broadcast`](fn@crate::spawn_broadcast) in this pool.
    pub fn spawn_broadcast<OP>(&self, op: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        broadcast::spawn_broadcast_in(&self.registry, op);
    }

    /// [`yield_now`], if this thread is in this pool.
    pub fn yield_now(&self) -> Option<Yield> {
        self.registry.here(|member| member.map(Member::yield_now))
    }

    /// [`yield_local`], if this thread is in this pool.
    pub fn yield_local(&self) -> Option<Yield> {
        self.registry.here(|member| member.map(Member::yield_local))
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.registry.close();
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool")
            .field("num_threads", &self.current_num_threads())
            .field("id", &self.registry.id())
            .finish()
    }
}

/// What [`yield_now`] or [`yield_local`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// It ran a job.
    Executed,
    /// It found none.
    Idle,
}

impl Member {
    fn has_pending(&self) -> bool {
        self.place().queue.is_filled()
    }

    fn yield_now(&self) -> Yield {
        executed(self.run_local() || Job::run_some(self.take_any()))
    }

    fn yield_local(&self) -> Yield {
        executed(self.run_local())
    }

    fn run_local(&self) -> bool {
        Job::run_some(self.take_own(0)) || self.run_sent()
    }
}

fn executed(ran: bool) -> Yield {
    if ran { Yield::Executed } else { Yield::Idle }
}

/// The number of threads of this thread's pool, or of the global one.
#[inline]
pub fn current_num_threads() -> usize {
    with_current(|registry| registry.threads())
}

/// The index of this thread in its pool: below the number of threads, and of this thread alone. `None` if it is in no pool.
#[inline]
pub fn current_thread_index() -> Option<usize> {
    Member::with(|member| member.map(|member| member.index))
}

/// Whether jobs lie in the queue of this thread. `None` if it is in no pool.
#[inline]
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    Member::with(|member| member.map(Member::has_pending))
}

/// Runs one job of this thread's pool, if one is queued. `None` if the thread is in no pool.
pub fn yield_now() -> Option<Yield> {
    Member::with(|member| member.map(Member::yield_now))
}

/// Runs one job of this thread's queue, if there is one. `None` if the thread is in no pool.
pub fn yield_local() -> Option<Yield> {
    Member::with(|member| member.map(Member::yield_local))
}
