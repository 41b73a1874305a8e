//! What fork-join scopes are made of; the safe API is `terrace-fork`. This file has a scope that is open on a pool: spawning into it, and
//! waiting for its end.
//!
//! # Children that one thread runs
//!
//! They are calls of that thread (`ThreadSpawner::queue_call`): it runs them between its tasks, and also where it waits. The thread may end first.
//! Then it drops them, which counts them out of their scope.

mod child;
#[cfg(all(test, not(any(terrace_loom, terrace_shuttle))))]
mod tests;
mod waiting;

pub use crate::parts::pacing::{ScopeKind, type_hash};

use std::any::type_name;
use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use terrace_local::task::{self, CoreRef, Runnable};
use terrace_local::{Payload, boxing_large, thread_id};
use terrace_sync::OnceLock;
use terrace_sync::atomic::{AtomicBool, Ordering};
use terrace_sync::time::Instant;
use terrace_thread::internal::{Lent, lend, replace_scope};
use terrace_thread::{ThreadId, ThreadSpawner};
use terrace_trace::inspect::{self, Began, Recorded};
use terrace_trace::{Span, inside};

use self::child::{Child, queued_call};
use self::waiting::{ScopeWait, push_spawned};
use crate::broadcast::{Broadcast, broadcast_to, parts_of, worker_spawner, worker_spawners};
use crate::executor::Executor;
use crate::guard::Bomb;
use crate::member::Half;
use crate::parts::current::current;
use crate::parts::scopes::Slot;
use crate::pool::Shared;
use crate::pool::fork::Worker;
use crate::pool::frames;
use crate::pool::runner::is_worker_of;
use crate::run::threadless::Drives;
use crate::run::wait::wait;
use crate::run::{fork, stand_in};
use crate::spawner::Spawner;
use crate::thread_executor::ThreadQueue;

/// An open scope: the unsafe half of `terrace_fork::scope`, which adds the lifetimes.
///
/// | a scope                 | costs                                                                       |
/// |-------------------------|-----------------------------------------------------------------------------|
/// | without a child         | a few loads and stores of its own thread, no atomic read-modify-write       |
/// | with children           | one uncontended lock to open and one to close, two readings of the clock    |
///
/// The pool learns of the scope at its first child. No allocation once the pool has had as many scopes open before, and a slot's
/// thread has spawned into it.
pub struct OpenScope<'p> {
    shared: ScopeShared<'p>,
    /// What the thread knows of the scope that this one is nested in.
    outer: *const (),
    waited: Cell<bool>,
    /// Opened and waited for on one thread.
    _not_send: PhantomData<*const ()>,
}

/// The part of an open scope that its children may use from any thread.
struct ScopeShared<'p> {
    pool: &'p Shared,
    kind: ScopeKind,
    owner: ThreadId,
    /// The owner's core. The scope keeps it in place from its opening to the end of its wait.
    lent: Lent,
    /// Empty up to the first child.
    slot: OnceLock<Taken>,
    /// Whether a closure was spawned.
    has_calls: AtomicBool,
    /// Where it was opened.
    opened: Began,
}

/// The slot that a scope has in its pool.
struct Taken {
    slot: NonNull<Slot<Shared>>,
    index: usize,
    /// When the first child was spawned.
    since: Instant,
}

// SAFETY: the pointer is a shared reference without its lifetime, and `Slot<Shared>` is Sync.
unsafe impl Send for Taken {}
// SAFETY: as for `Send`.
unsafe impl Sync for Taken {}

/// What an open scope's body and children spawn by, from any thread.
#[derive(Clone, Copy)]
pub struct ScopeHandle<'a> {
    scope: &'a ScopeShared<'a>,
}

/// The one thread that a child runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// The worker with this number, counted from 0. If it ends first, the child is dropped. Cost: a lock and two allocations for the list of
    /// workers.
    Worker(usize),
    /// The scope's own. That does not end before the scope does, so it polls and drops the child: it waits there, also inside of a task.
    Owner,
    /// The scope's own, which is the caller's: the child need not be `Send`.
    Here,
}

impl<'p> OpenScope<'p> {
    /// Opens a scope of this kind on `executor` for the current thread.
    #[inline]
    #[must_use = "the scope ends when it is dropped"]
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn open(executor: &'p Executor<'static>, kind: ScopeKind) -> Self {
        Self::open_in(executor.shared(), kind)
    }

    /// Opens a scope of this kind on the executor of `spawner` for the current thread. If the executor has ended, the children run in the wait.
    #[must_use = "the scope ends when it is dropped"]
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn open_by(spawner: &'p Spawner, kind: ScopeKind) -> Self {
        Self::open_in(&spawner.pool, kind)
    }

    #[inline]
    #[cfg_attr(feature = "inspect", track_caller)]
    fn open_in(pool: &'p Shared, kind: ScopeKind) -> Self {
        // Before the core is lent: from now on it stays.
        let outer = replace_scope(ptr::from_ref(pool).cast());
        Self {
            shared: ScopeShared {
                pool,
                kind,
                owner: terrace_thread::id(),
                lent: lend(),
                slot: OnceLock::new(),
                has_calls: AtomicBool::new(false),
                opened: Began::here(thread_id),
            },
            outer,
            waited: Cell::new(false),
            _not_send: PhantomData,
        }
    }

    /// What the body and the children use to spawn.
    #[inline]
    pub fn handle(&self) -> ScopeHandle<'_> {
        ScopeHandle {
            scope: &self.shared,
        }
    }

    /// Cancels all children: the body panicked.
    ///
    /// # Panics
    /// If the scope was waited for before: another scope may have its place in the pool by then.
    pub fn cancel(&self) {
        assert!(
            !self.waited.get(),
            "a scope is cancelled before it is waited for"
        );
        if let Some(taken) = self.shared.slot.get() {
            self.shared.slot_of(taken).core.cancel().cancel(0);
        }
    }

    /// Ends the body and waits until every child has ended. Until then it runs children, the
    /// thread's pinned tasks, and the tasks of the `executors` that this thread owns. Of the
    /// children that panicked, returns the panic of the one that was spawned first.
    ///
    /// # Panics
    /// If the scope was waited for before.
    #[inline]
    pub fn wait(&self, executors: &[&ThreadQueue]) -> Option<Payload> {
        assert!(!self.waited.replace(true), "a scope is waited for once");
        // The body has ended, and without a child no code is left that could spawn the first.
        let taken = self.shared.slot.get();
        let panic = taken.and_then(|taken| self.shared.wait(taken, executors));
        replace_scope(self.outer);
        panic
    }
}

impl<'p> ScopeShared<'p> {
    fn slot_of(&self, taken: &Taken) -> &'p Slot<Shared> {
        // SAFETY: the slot lies in the table of the pool, which is borrowed for as long and frees no slot.
        unsafe { taken.slot.as_ref() }
    }

    /// The scope's slot. The first caller takes one from the pool. Others wait for that caller, which runs no users' code.
    ///
    /// # Safety
    /// The scope is open during the call: the caller is its body or one of its living children.
    #[inline]
    unsafe fn slot(&self) -> &'p Slot<Shared> {
        // SAFETY: the caller's promise.
        self.slot_of(self.slot.get_or_init(|| unsafe { self.take_slot() }))
    }

    /// # Safety
    /// As [`slot`](Self::slot).
    #[cold]
    unsafe fn take_slot(&self) -> Taken {
        let pool = self.pool;
        // SAFETY: the scope is open, and its owner lent the core after it had opened the scope.
        let waiter = unsafe { ThreadSpawner::of(self.lent) };
        let index = pool.scopes.table.acquire();
        let slot = pool.scopes.table.get(index);
        let slot = slot.expect("an acquired slot exists");
        // SAFETY: the table has just handed out this slot of `pool`, so it is closed, and no other
        // thread opens it.
        unsafe { slot.open(pool, self.kind, self.owner, waiter) };
        slot.opened.set(self.opened);
        if terrace_thread::id() == self.owner {
            self.count_driver(slot);
        }
        Taken {
            slot: NonNull::from(slot),
            index,
            since: Instant::now(),
        }
    }

    /// Counts the scope's thread, which is the current one, as a driver. A worker counts as awake anyway.
    fn count_driver(&self, slot: &Slot<Shared>) {
        if !is_worker_of(self.pool) {
            self.pool.scopes.count_driver(slot, self.owner);
        }
    }

    /// The wait of a scope that has had children, and the return of its slot.
    fn wait(&self, taken: &Taken, executors: &[&ThreadQueue]) -> Option<Payload> {
        let (pool, slot) = (self.pool, self.slot_of(taken));
        let pacing = pool.scopes.pacing(slot);
        let began = pacing.observe_body(taken.since);
        // A wait that unwound would free what children borrow.
        let bomb = Bomb("came out of a scope's wait; this is a bug of terrace");
        slot.core.body_ended();
        if !slot.core.has_ended() {
            let _inside = inside(Span::Scope);
            pool.publish_children(slot);
            self.count_driver(slot);
            let mut own = ScopeWait::new(pool, slot, executors, began);
            let mut wait = || wait(&mut own, Drives::Only(pool));
            let mut wait = || match current() {
                Some(current) if current.executor() == pool.id => wait(),
                _ => frames::visiting(pool, &mut wait),
            };
            // Ordering: Relaxed, a hint.
            if self.has_calls.load(Ordering::Relaxed) {
                // One place for all closures that the wait runs, in lieu of one each.
                fork::with_worker(pool, |_| wait());
            } else {
                wait();
            }
        }
        std::mem::forget(bomb);
        let panic = slot.core.take_panic();
        // SAFETY: the scope has ended, and its slot is given back below.
        let waiter = unsafe { slot.core.close() };
        drop(waiter);
        pool.scopes.forget_driver(slot);
        pool.scopes.table.release(taken.index);
        panic
    }
}

/// A child of the open scope in this slot, counted in.
#[inline]
#[cfg_attr(feature = "timeline", track_caller)]
fn child<F>(slot: &Slot<Shared>, future: F) -> Child<Recorded<F>> {
    // SAFETY: the scope is open, and borrows its pool.
    let records = || unsafe { &(*slot.pool()).records };
    let name = type_name::<F>();
    let future = inspect::child(records, name, ptr::from_ref(slot).cast(), future);
    // SAFETY: the child is spawned on an open scope, which its own count keeps open.
    unsafe { Child::new(slot, future) }
}

/// Makes the task of a child of the scope in `slot`.
///
/// # Safety
/// As [`ScopeHandle::spawn`].
#[cfg_attr(feature = "timeline", track_caller)]
unsafe fn build<F>(slot: &Slot<Shared>, future: F) -> Runnable
where
    F: Future<Output = ()> + Send,
{
    // SAFETY: the slot lives as long as the pool, which the open scope borrows, and the scope outlives the child (the caller's promise).
    let core = unsafe { CoreRef::borrowed(NonNull::from(slot)) };
    // SAFETY: the future is Send. It is dropped before the scope ends, and the owner waits for
    // that end before the borrows end.
    let (runnable, task) = unsafe { task::build(core, child(slot, future)) };
    task.detach();
    terrace_trace::spawn();
    runnable
}

/// How many of its children are pending; the body is one while it runs.
impl fmt::Debug for ScopeHandle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ScopeShared { pool, owner, .. } = self.scope;
        let taken = self.scope.slot.get();
        let pending = taken.map_or(1, |taken| self.scope.slot_of(taken).core.pending());
        f.debug_struct("Scope")
            .field("executor", &pool.id)
            .field("thread", owner)
            .field("pending", &pending)
            .finish()
    }
}

impl<'a> ScopeHandle<'a> {
    /// The scope's slot.
    ///
    /// # Safety
    /// As [`spawn`](Self::spawn).
    unsafe fn slot(&self) -> &'a Slot<Shared> {
        // SAFETY: the caller's promise.
        unsafe { self.scope.slot() }
    }

    /// Spawns a child that any worker may run. One allocation.
    ///
    /// # Safety
    /// The scope is open during the call: the caller is its body or one of its living children. Its
    /// owner waits for it in every case. What the future borrows, which may be this handle, lives until then.
    #[inline]
    #[cfg_attr(feature = "timeline", track_caller)]
    pub unsafe fn spawn<F>(&self, future: F)
    where
        F: Future<Output = ()> + Send,
    {
        // SAFETY: the caller's promise.
        let slot = unsafe { self.slot() };
        let child = boxing_large!(|future| {
            // SAFETY: the caller's promise.
            unsafe { build(slot, future) }
        });
        // SAFETY: the caller is the scope's body or a living child.
        unsafe { push_spawned(slot, child) };
    }

    /// Spawns a child that calls `call` once, on any worker or on the scope's thread, with its place in the pool. One allocation.
    ///
    /// # Safety
    /// As [`spawn`](Self::spawn).
    #[inline]
    #[cfg_attr(feature = "timeline", track_caller)]
    pub unsafe fn spawn_call<M, F: Half<M, ()> + Send>(&self, call: F) {
        // SAFETY: the caller's promise.
        let slot = unsafe { self.slot() };
        let (name, scope) = (type_name::<F>(), ptr::from_ref(slot).cast());
        let call = |worker: &Worker| call.call(worker);
        let call = inspect::call(&self.scope.pool.records, name, scope, call);
        // SAFETY: the slot lives as long as the pool, which the open scope borrows. The caller promises that the scope is waited for.
        let child = unsafe { queued_call(slot, call) };
        // Ordering: Relaxed, a hint.
        if !self.scope.has_calls.load(Ordering::Relaxed) {
            self.scope.has_calls.store(true, Ordering::Relaxed);
        }
        terrace_trace::spawn();
        // SAFETY: the caller is the scope's body or a living child.
        unsafe { push_spawned(slot, child) };
    }

    /// Spawns a child onto the thread that ticks `queue`.
    ///
    /// # Safety
    /// As [`spawn`](Self::spawn).
    #[cfg_attr(feature = "timeline", track_caller)]
    pub unsafe fn spawn_on<F>(&self, queue: &ThreadQueue, future: F)
    where
        F: Future<Output = ()> + Send,
    {
        // SAFETY: the caller's promise.
        let slot = unsafe { self.slot() };
        // SAFETY: the caller promises that the scope is waited for, and it ends after the future is
        // dropped. So all that the future borrows outlives it.
        unsafe { queue.spawn_erased(child(slot, future)) }.detach();
        terrace_trace::spawn();
    }

    /// Spawns a child that runs on one thread only. One allocation.
    ///
    /// # Safety
    /// As [`spawn`](Self::spawn). The future is `Send`, or `to` is [`To::Here`].
    ///
    /// # Panics
    /// If there is no worker with this number; for [`To::Here`], on any other thread than the scope's.
    #[track_caller]
    pub unsafe fn send<F: Future<Output = ()>>(&self, to: To, future: F) {
        // SAFETY: the caller's promise.
        let slot = unsafe { self.slot() };
        let thread = match to {
            To::Worker(number) => {
                stand_in::give_way(self.scope.pool);
                worker_spawner(self.scope.pool, number)
            }
            To::Owner | To::Here => {
                assert!(
                    to == To::Owner || terrace_thread::id() == self.scope.owner,
                    "spawn_local: this is not the thread of the scope. Call it in the body of the scope, or in a child that stays on its thread"
                );
                // SAFETY: the caller keeps the scope open.
                unsafe { slot.core.waiter() }
            }
        };
        // SAFETY: a child is its future, and a reference to its slot, which is `Sync`. The scope waits until it is counted out, which drops its
        // future before. What that borrows lives until then (the caller's promise).
        unsafe { thread.queue_call(child(slot, future)) }.detach();
        thread.tell_of_calls();
        terrace_trace::spawn();
    }

    /// As [`send`](Self::send), for a closure.
    ///
    /// # Safety
    /// As [`send`](Self::send).
    ///
    /// # Panics
    /// As [`send`](Self::send).
    #[track_caller]
    pub unsafe fn send_call<M>(&self, to: To, call: impl Half<M, ()>) {
        let pool = self.scope.pool;
        let future = async move { fork::with_worker(pool, |worker| call.call(worker)) };
        // SAFETY: the caller's promise. The scope borrows the pool.
        unsafe { self.send(to, future) };
    }

    /// Spawns a child on each worker of the pool that calls `f`. A worker that ends first leaves its call out. While there are no workers,
    /// one child makes one call. Cost: four allocations, and one for each worker.
    ///
    /// # Safety
    /// As [`spawn`](Self::spawn).
    pub unsafe fn broadcast<F>(&self, f: F)
    where
        F: Fn(Broadcast<'_>) + Send + Sync,
    {
        let pool = self.scope.pool;
        stand_in::give_way(pool);
        let workers = worker_spawners(pool);
        let parts = parts_of(f, workers.len());
        if workers.is_empty() {
            // SAFETY: the caller's promise.
            return parts.for_each(|part| unsafe { self.spawn_call(part) });
        }
        // SAFETY: the caller's promise.
        let slot = unsafe { self.slot() };
        let part = |part| child(slot, async move { fork::with_worker(pool, part) });
        let parts = parts.map(part).collect();
        broadcast_to(&workers, pool, parts, |thread, part| {
            // SAFETY: as in `send`. Each child has its part of the closure, which it drops before it is counted out.
            unsafe { thread.queue_call(part) }.detach();
            terrace_trace::spawn();
        });
    }
}
