//! A scope that is open on a pool: spawning into it, and waiting for its end.

use std::future::Future;
use std::marker::PhantomData;
use std::ptr::NonNull;

use terrace_local::Payload;
use terrace_local::task::{self, CoreRef, Runnable, Schedule};
use terrace_sync::time::Instant;

use super::child::Child;
use super::push;
use crate::executor::Executor;
use crate::parts::pacing::Stopwatch;
use crate::parts::scope_slot::Slot;
use crate::parts::trace_index;
use crate::pool::runner::{self, run_task};
use crate::pool::shared::Shared;
use crate::run::threadless::ThreadlessPools;
use crate::run::wait::{WaitFor, wait};
use crate::thread_executor::ThreadQueue;

/// Records on the thread the pool of its innermost open scope. Returns the pool that was recorded
/// before.
#[inline]
fn driving(pool: *const Shared) -> *const Shared {
    terrace_thread::internal::replace_scope(pool.cast()).cast()
}

/// An open scope: the unsafe half of `terrace_fork::scope`, which adds the lifetimes.
///
/// Costs one uncontended lock to open and one to close, no allocation once the pool has had as
/// many scopes open before.
pub struct OpenScope<'p> {
    pool: &'p Shared,
    index: usize,
    /// When the body began.
    since: Instant,
    /// The pool whose scope this one is nested in, on a thread that is no worker of that pool; or null.
    outer: *const Shared,
    /// Opened and waited for on one thread.
    _not_send: PhantomData<*const ()>,
}

/// The part of an open scope that its children may use from any thread.
#[derive(Clone, Copy)]
pub struct ScopeHandle<'p> {
    slot: &'p Slot<Shared>,
}

/// Ends the process when dropped.
struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        eprintln!("terrace: a panic came out of a scope's wait; this is a bug of terrace");
        std::process::abort();
    }
}

impl<'p> OpenScope<'p> {
    /// Opens a scope on `executor` for the current thread.
    #[must_use]
    pub fn open(executor: &'p Executor<'static>) -> Self {
        let pool = executor.shared();
        let index = pool.scopes.table.acquire();
        let scope = Self {
            pool,
            index,
            since: Instant::now(),
            outer: driving(pool),
            _not_send: PhantomData,
        };
        // SAFETY: the table has just handed out this slot of `pool`, so it is closed, and no other
        // thread opens it.
        unsafe { scope.slot().open(pool) };
        if scope.is_outermost() {
            pool.scopes.driver_enters();
        }
        scope
    }

    /// Whether the thread counts as a driver because of this scope. A worker counts as awake anyway. A scope nested in
    /// another of the same pool adds no thread.
    fn is_outermost(&self) -> bool {
        !std::ptr::eq(self.outer, self.pool) && !runner::is_worker_of(self.pool)
    }

    fn slot(&self) -> &'p Slot<Shared> {
        self.pool
            .scopes
            .table
            .get(self.index)
            .expect("an acquired slot exists")
    }

    /// What children use to spawn.
    pub fn handle(&self) -> ScopeHandle<'p> {
        ScopeHandle { slot: self.slot() }
    }

    /// Cancels all children: the body panicked.
    pub fn cancel(&self) {
        self.slot().core().cancel().cancel(0);
    }

    /// Ends the body and waits until every child has ended. Until then it runs children, the
    /// thread's pinned tasks, and the tasks of the `executors` that this thread owns. Of the
    /// children that panicked, returns the panic of the one that was spawned first.
    pub fn wait(self, executors: &[&ThreadQueue]) -> Option<Payload> {
        let slot = self.slot();
        let began = self.pool.scopes.pacing.observe_body(self.since);
        // A wait that unwound would free what children borrow.
        let bomb = AbortOnUnwind;
        slot.core().body_ended();
        if !slot.core().has_ended() {
            self.pool.publish_children(slot);
            let mut own = ScopeWait {
                pool: self.pool,
                slot,
                executors,
                on_worker: runner::is_worker_of(self.pool),
                turn: 0,
                watch: Stopwatch::start_at(began),
            };
            wait(&mut own, ThreadlessPools::only(self.pool));
            self.pool.scopes.pacing.observe_wait(began);
        }
        std::mem::forget(bomb);
        let panic = slot.core().take_panic();
        // SAFETY: the scope has ended, and its slot is given back below.
        let waiter = unsafe { slot.core().close() };
        drop(waiter);
        if self.is_outermost() {
            self.pool.scopes.driver_leaves();
        }
        driving(self.outer);
        self.pool.scopes.table.release(self.index);
        panic
    }
}

impl ScopeHandle<'_> {
    fn child<F>(&self, future: F) -> Child<F> {
        // SAFETY: the child is spawned on an open scope, which its own count keeps open.
        unsafe {
            Child::new(
                NonNull::from(self.slot),
                self.slot.core().add_child(),
                future,
            )
        }
    }

    /// Makes the task of a child whose wakes go to `core`.
    ///
    /// # Safety
    /// As [`spawn`](Self::spawn); and `core` lives until the scope has ended.
    unsafe fn build<C, F>(&self, core: &C, future: F) -> Runnable
    where
        C: Schedule,
        F: Future<Output = ()> + Send,
    {
        // SAFETY: the core outlives the scope, which outlives the child (the caller's promise).
        let core = unsafe { CoreRef::borrowed(NonNull::from(core)) };
        // SAFETY: the future is Send. It is dropped before the scope ends, and the owner waits for
        // that end before the borrows end.
        let (runnable, task) = unsafe { task::build(core, self.child(future)) };
        task.detach();
        terrace_trace::spawn(trace_index::get());
        runnable
    }

    /// Spawns a child that any worker may run. One allocation.
    ///
    /// # Safety
    /// The scope is open during the call: the caller is its body or one of its living children. Its
    /// owner waits for it in every case, and what the future borrows lives until then.
    #[inline]
    pub unsafe fn spawn<F>(&self, future: F)
    where
        F: Future<Output = ()> + Send,
    {
        let core = self.slot;
        if task::is_large(&future) {
            // SAFETY: the slot lives as long as the pool, which the open scope borrows. The caller
            // promises that its owner waits for the scope.
            let child = unsafe { self.build(core, task::boxed(future)) };
            // SAFETY: the caller is the scope's body or a living child.
            return unsafe { push::push_spawned(self.slot, child) };
        }
        // SAFETY: the slot lives as long as the pool, which the open scope borrows. The caller promises that the scope is waited
        // for.
        let child = unsafe { self.build(core, future) };
        // SAFETY: the caller is the scope's body or a living child.
        unsafe { push::push_spawned(self.slot, child) };
    }

    /// Spawns a child that only the waiting thread runs.
    ///
    /// # Safety
    /// As [`spawn`](Self::spawn).
    pub unsafe fn spawn_pinned<F>(&self, future: F)
    where
        F: Future<Output = ()> + Send,
    {
        let core = push::pinned(self.slot);
        // SAFETY: the core is the slot, which lives as long as the pool that the open scope
        // borrows. The caller promises that the scope is waited for.
        unsafe { self.build(core, future) }.schedule();
    }

    /// Spawns a child onto the thread that ticks `queue`.
    ///
    /// # Safety
    /// As [`spawn`](Self::spawn).
    pub unsafe fn spawn_on<F>(&self, queue: &ThreadQueue, future: F)
    where
        F: Future<Output = ()> + Send,
    {
        // SAFETY: the caller promises that the scope is waited for, and it ends after the future is
        // dropped. So all that the future borrows outlives it.
        unsafe { queue.spawn_erased(self.child(future)) }.detach();
        terrace_trace::spawn(trace_index::get());
    }
}

/// A scope's waiter.
struct ScopeWait<'a> {
    pool: &'a Shared,
    slot: &'a Slot<Shared>,
    executors: &'a [&'a ThreadQueue],
    on_worker: bool,
    turn: u32,
    watch: Stopwatch,
}

impl WaitFor for ScopeWait<'_> {
    fn is_done(&self) -> bool {
        self.slot.core().has_ended()
    }

    fn run_one(&mut self) -> bool {
        if self
            .executors
            .iter()
            .any(|executor| executor.try_tick_here())
        {
            return true;
        }
        self.turn = self.turn.wrapping_add(1);
        // SAFETY: this thread opened the scope.
        let Some(child) = (unsafe { self.slot.core().pop_owner(self.turn) }) else {
            return false;
        };
        run_task(child);
        if self.watch.child_ran(&self.pool.scopes.pacing) {
            self.pool.reconsider(self.slot);
        }
        true
    }

    fn has_work(&self) -> bool {
        self.slot.core().waiter_has_work()
            || self
                .executors
                .iter()
                .any(|executor| executor.has_work_here())
    }

    fn announce_sleep(&mut self) {
        if !self.on_worker {
            self.pool.scopes.driver_leaves();
        }
        self.slot.core().announce_sleep();
    }

    fn end_sleep(&mut self) {
        self.slot.core().end_sleep();
        if !self.on_worker {
            self.pool.scopes.driver_enters();
        }
        self.watch = Stopwatch::start();
    }
}
