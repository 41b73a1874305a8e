//! Children that one thread runs: a worker of the pool, or the scope's own.
//!
//! They are calls of that thread (`ThreadSpawner::call_borrowing`): it runs them between its tasks, and also where it waits. The thread may end first.
//! Then it drops them, which counts them out of their scope.

use std::future::Future;
use std::iter::repeat_n;

use terrace_sync::Arc;
use terrace_thread::ThreadSpawner;

use super::open::{ScopeHandle, child};
use crate::member::broadcast::{Broadcast, part_of};
use crate::member::spawn::{broadcast_to, worker_spawner, worker_spawners};
use crate::parts::scopes::Slot;
use crate::pool::fork::Worker;
use crate::pool::shared::Shared;
use crate::run::{fork, stand_in};

impl ScopeHandle<'_> {
    /// Counts a child in, and sends it to `thread`.
    ///
    /// # Safety
    /// As [`spawn`](Self::spawn). The future is `Send`, or `thread` is the calling one.
    #[cfg_attr(feature = "timeline", track_caller)]
    unsafe fn send<F>(&self, slot: &Slot<Shared>, thread: &ThreadSpawner, future: F)
    where
        F: Future<Output = ()>,
    {
        // SAFETY: a child is its future, and a reference to its slot, which is `Sync`. The scope waits until it is counted out, which drops its future before. What that borrows lives until then (the
        // caller's promise).
        unsafe { thread.call_borrowing(child(slot, future)) }.detach();
        terrace_trace::spawn();
    }

    /// Counts a child in, and sends it to the scope's own thread. That does not end before the scope does, so it polls and drops the child:
    /// it waits there, also inside of a task.
    ///
    /// # Safety
    /// As [`spawn`](Self::spawn). The future is `Send`, or the calling thread is the scope's.
    #[cfg_attr(feature = "timeline", track_caller)]
    unsafe fn send_home<F: Future<Output = ()>>(&self, future: F) {
        // SAFETY: the caller's promise.
        let slot = unsafe { self.slot() };
        // SAFETY: the caller keeps the scope open.
        let own = unsafe { slot.core().waiter() };
        // SAFETY: the caller's promise.
        unsafe { self.send(slot, &own, future) };
    }

    /// Spawns a child that runs on the worker with this number, counted from 0. If the worker ends first, the child is dropped. Cost: one
    /// allocation, and a lock and two allocations for the list of workers.
    ///
    /// # Safety
    /// As [`spawn`](Self::spawn).
    ///
    /// # Panics
    /// If there is no worker with this number.
    #[track_caller]
    pub unsafe fn spawn_on_worker<F>(&self, worker: usize, future: F)
    where
        F: Future<Output = ()> + Send,
    {
        stand_in::give_way(self.pool());
        let thread = worker_spawner(self.pool(), worker);
        // SAFETY: the caller's promise.
        let slot = unsafe { self.slot() };
        // SAFETY: the caller's promise.
        unsafe { self.send(slot, &thread, future) };
    }

    /// As [`spawn_on_worker`](Self::spawn_on_worker), for a closure.
    ///
    /// # Safety
    /// As [`spawn`](Self::spawn).
    ///
    /// # Panics
    /// If there is no worker with this number.
    #[track_caller]
    pub unsafe fn spawn_call_on_worker<F>(&self, worker: usize, call: F)
    where
        F: FnOnce(&Worker) + Send,
    {
        let pool = self.pool();
        // SAFETY: the caller's promise. The scope borrows the pool.
        unsafe { self.spawn_on_worker(worker, async move { fork::with_worker(pool, call) }) };
    }

    /// Spawns a child that only the scope's own thread runs, from any thread. One allocation.
    ///
    /// # Safety
    /// As [`spawn`](Self::spawn).
    #[cfg_attr(feature = "timeline", track_caller)]
    pub unsafe fn spawn_pinned<F>(&self, future: F)
    where
        F: Future<Output = ()> + Send,
    {
        // SAFETY: the caller's promise.
        unsafe { self.send_home(future) };
    }

    /// Spawns a child that stays on the scope's own thread, which calls this. It need not be `Send`. One allocation.
    ///
    /// # Safety
    /// As [`spawn`](Self::spawn).
    ///
    /// # Panics
    /// On any other thread: nothing would make sure that it comes to the child before it ends.
    #[track_caller]
    pub unsafe fn spawn_local<F: Future<Output = ()>>(&self, future: F) {
        assert!(
            self.is_on_own_thread(),
            "spawn_local: this is not the thread of the scope. Call it in the body of the scope, or in a child that stays on its thread"
        );
        // SAFETY: the caller's promise, on the scope's own thread.
        unsafe { self.send_home(future) };
    }

    /// As [`spawn_local`](Self::spawn_local), for a closure.
    ///
    /// # Safety
    /// As [`spawn`](Self::spawn).
    ///
    /// # Panics
    /// On any other thread than the scope's.
    #[track_caller]
    pub unsafe fn spawn_call_local<F: FnOnce(&Worker)>(&self, call: F) {
        let pool = self.pool();
        // SAFETY: the caller's promise. The scope borrows the pool.
        unsafe { self.spawn_local(async move { fork::with_worker(pool, call) }) };
    }

    /// Spawns a child on each worker of the pool that calls `f`. A worker that ends first leaves its call out. While there are no workers,
    /// one child makes one call. Cost: three allocations, and one for each worker.
    ///
    /// # Safety
    /// As [`spawn`](Self::spawn).
    pub unsafe fn broadcast<F>(&self, f: F)
    where
        F: Fn(Broadcast<'_>) + Send + Sync,
    {
        let pool = self.pool();
        stand_in::give_way(pool);
        let workers = worker_spawners(pool);
        let participants = workers.len();
        if participants == 0 {
            // SAFETY: the caller's promise.
            return unsafe { self.spawn_call(move |worker| part_of(&f, worker, 0, 1)) };
        }
        // SAFETY: the caller's promise.
        let slot = unsafe { self.slot() };
        // The last child gets the original: a child is what drops the closure, never this call.
        let mut owned = repeat_n(Arc::new(f), participants);
        broadcast_to(&workers, pool, |(index, thread)| {
            let Some(f) = owned.next() else { return };
            let part = async move {
                fork::with_worker(pool, |worker| part_of(&*f, worker, index, participants));
            };
            let part = child(slot, part);
            // SAFETY: as in `send`. Each child has its part of the closure, which it drops before it is counted out.
            unsafe { thread.queue_borrowing(part) }.detach();
            terrace_trace::spawn();
        });
    }
}
