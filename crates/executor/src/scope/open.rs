//! A scope that is open on a pool: spawning into it, and waiting for its end.

use std::cell::Cell;
use std::future::Future;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

use terrace_local::task::{self, CoreRef, Runnable, Schedule};
use terrace_sync::time::Instant;

use super::pacing::Stopwatch;
use super::slot::Slot;
use crate::pool::outside::Workerless;
use crate::pool::wait::{Own, wait};
use crate::pool::worker::run_task;
use crate::pool::{Shared, context};
use crate::thread_executor::ThreadQueue;
use crate::{Executor, Payload};

terrace_sync::thread_local! {
    /// The pool of this thread's innermost open scope; compared, never followed.
    static DRIVING: Cell<*const Shared> = const { Cell::new(std::ptr::null()) };
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
    slot: &'p Slot,
}

/// A child's future: dropped in place when it is done, and counted out after that.
struct Child<F> {
    slot: NonNull<Slot>,
    future: ManuallyDrop<F>,
    live: bool,
}

// SAFETY: the slot is shared state made for all threads; the future is only moved with `F: Send`.
unsafe impl<F: Send> Send for Child<F> {}

impl<F> Child<F> {
    /// Drops the user's future; a panic in its destructor counts as the child's.
    fn finish(&mut self) {
        if !self.live {
            return;
        }
        self.live = false;
        let future = &mut self.future;
        let dropped = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: `live` was true, so the future has not been dropped, and is false from now
            // on. It is dropped where it was pinned.
            unsafe { ManuallyDrop::drop(future) }
        }));
        if let Err(payload) = dropped {
            self.slot().child_panicked(payload);
        }
    }

    fn slot(&self) -> &Slot {
        // SAFETY: this child has not been counted out before `drop` ends, so the scope is open.
        unsafe { self.slot.as_ref() }
    }
}

impl<F: Future<Output = ()>> Future for Child<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // SAFETY: the future is pinned with `self`: it is polled and dropped in place only.
        let this = unsafe { self.get_unchecked_mut() };
        if !this.live {
            return Poll::Ready(());
        }
        // SAFETY: as above.
        let future = unsafe { Pin::new_unchecked(&mut *this.future) };
        match catch_unwind(AssertUnwindSafe(|| future.poll(context))) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(())) => {}
            Err(payload) => this.slot().child_panicked(payload),
        }
        this.finish();
        Poll::Ready(())
    }
}

impl<F> Drop for Child<F> {
    fn drop(&mut self) {
        self.finish();
        // The scope may be gone after this.
        self.slot().child_ended();
    }
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
        let index = pool.board.acquire();
        let scope = Self {
            pool,
            index,
            since: Instant::now(),
            outer: DRIVING.with(|driving| driving.replace(pool)),
            _not_send: PhantomData,
        };
        // SAFETY: the board just handed this slot out, so it is closed and ours; it is the pool's.
        unsafe { scope.slot().open(pool) };
        if scope.is_outermost() {
            pool.driver_enters();
        }
        scope
    }

    /// Whether the thread counts as a driver because of this scope: a worker counts as awake anyway, and a scope nested
    /// in another of the same pool is on the same thread.
    fn is_outermost(&self) -> bool {
        !std::ptr::eq(self.outer, self.pool) && !context::is_worker_of(self.pool)
    }

    fn slot(&self) -> &'p Slot {
        self.pool
            .board
            .get(self.index)
            .expect("an acquired slot exists")
    }

    /// What children use to spawn.
    pub fn handle(&self) -> ScopeHandle<'p> {
        ScopeHandle { slot: self.slot() }
    }

    /// Ends the body and waits until every child has ended, running children meanwhile, the
    /// thread's pinned tasks, and the tasks of those of `executors` that this thread owns.
    /// Returns the first panic of a child.
    pub fn wait(self, executors: &[&ThreadQueue]) -> Option<Payload> {
        let slot = self.slot();
        self.pool.pacing.observe_body(self.since);
        // A wait that unwound would free what children borrow.
        let bomb = AbortOnUnwind;
        slot.core().body_ended();
        if !slot.core().has_ended() {
            self.pool.publish_batch(slot);
            let mut own = ScopeWait {
                pool: self.pool,
                slot,
                executors,
                on_worker: context::is_worker_of(self.pool),
                turn: 0,
                watch: Stopwatch::start(),
            };
            wait(&mut own, Workerless::only(self.pool));
        }
        std::mem::forget(bomb);
        let panic = slot.core().take_panic();
        // SAFETY: the scope has ended, and its slot is given back below.
        let waiter = unsafe { slot.core().close() };
        drop(waiter);
        if self.is_outermost() {
            self.pool.driver_leaves();
        }
        DRIVING.with(|driving| driving.set(self.outer));
        self.pool.board.release(self.index);
        panic
    }
}

impl ScopeHandle<'_> {
    fn child<F>(&self, future: F) -> Child<F> {
        self.slot.core().add_child();
        Child {
            slot: NonNull::from(self.slot),
            future: ManuallyDrop::new(future),
            live: true,
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
        // SAFETY: the future is Send; it is dropped before the scope ends, which its owner waits
        // for before anything that it borrows ends.
        let (runnable, task) = unsafe { task::build(core, self.child(future)) };
        task.detach();
        terrace_trace::spawn(context::index());
        runnable
    }

    /// Spawns a child that any worker may run. One allocation.
    ///
    /// # Safety
    /// The scope is open during the call (the caller is its body or one of its living children),
    /// it is waited for in every case, and what the future borrows lives until then.
    #[inline]
    pub unsafe fn spawn<F>(&self, future: F)
    where
        F: Future<Output = ()> + Send,
    {
        let core = self.slot;
        if task::is_large(&future) {
            // SAFETY: as below.
            let child = unsafe { self.build(core, task::boxed(future)) };
            // SAFETY: as below.
            return unsafe { self.slot.push_spawned(child) };
        }
        // SAFETY: the slot lives as long as the pool; the rest is forwarded.
        let child = unsafe { self.build(core, future) };
        // SAFETY: forwarded to the caller.
        unsafe { self.slot.push_spawned(child) };
    }

    /// Spawns a child that only the waiting thread runs.
    ///
    /// # Safety
    /// As [`spawn`](Self::spawn).
    pub unsafe fn spawn_pinned<F>(&self, future: F)
    where
        F: Future<Output = ()> + Send,
    {
        let core = self.slot.pinned();
        // SAFETY: as in `spawn`.
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
        // SAFETY: the future is dropped before the scope ends (the caller's promise), so that its
        // lifetime may be hidden from the executor.
        unsafe { queue.spawn_erased(self.child(future)) }.detach();
        terrace_trace::spawn(context::index());
    }
}

/// A scope's waiter.
struct ScopeWait<'a> {
    pool: &'a Shared,
    slot: &'a Slot,
    executors: &'a [&'a ThreadQueue],
    on_worker: bool,
    turn: u32,
    watch: Stopwatch,
}

impl Own for ScopeWait<'_> {
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
        if self.watch.child_ran(&self.pool.pacing) {
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
            self.pool.driver_leaves();
        }
        self.slot.core().announce_sleep();
    }

    fn end_sleep(&mut self) {
        self.slot.core().end_sleep();
        if !self.on_worker {
            self.pool.driver_enters();
        }
        self.watch = Stopwatch::start();
    }
}
