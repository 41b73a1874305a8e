//! A scope's slot on the board of its pool: the core that schedules the scope's children, and what
//! a push of a child means for the pool's sleepers.

use std::ptr::NonNull;

use terrace_local::task::{Core, Runnable, Schedule};
use terrace_sync::atomic::{AtomicPtr, Ordering};
use terrace_sync::light;
use terrace_thread::ThreadSpawner;

use super::core::{ChildEnd, ScopeCore};
use crate::Payload;
use crate::pool::Shared;
use crate::pool::context;

/// One scope on one pool. Children reach it through `CoreRef::Borrowed`: a child that has not
/// ended keeps the scope open, an open scope borrows its pool, and the pool owns the slot.
pub(crate) struct Slot {
    core: ScopeCore<Runnable, ThreadSpawner>,
    /// The pool; set by `open`, the same for the slot's whole life.
    pool: AtomicPtr<Shared>,
}

/// The same slot, seen by children that only the waiter's thread may run.
#[repr(transparent)]
pub(crate) struct PinnedLane(Slot);

/// Who pushed a child.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pusher {
    /// The scope's own thread, which will look at the list before it sleeps.
    Waiter,
    /// A worker of the pool, which will look at the list when its present work is done.
    Worker,
    /// Any other thread.
    Foreign,
}

/// Whom a push wakes.
#[derive(Clone, Copy, PartialEq, Eq)]
#[must_use = "a push that wakes nobody it should is a lost wake"]
enum Wakes {
    /// Somebody who is awake will take the child, and a guard watches.
    Nobody,
    /// The scope's sleeping waiter.
    Waiter,
    /// A worker, as the sleeping protocol chooses.
    Worker,
}

impl Default for Slot {
    fn default() -> Self {
        Self {
            core: ScopeCore::new(),
            pool: AtomicPtr::new(std::ptr::null_mut()),
        }
    }
}

impl Slot {
    /// Opens the scope for the calling thread.
    ///
    /// # Safety
    /// As [`ScopeCore::open`]; and `pool` owns this slot.
    pub(crate) unsafe fn open(&self, pool: &Shared) {
        // Ordering: Relaxed, children learn of it through the push that publishes them.
        self.pool
            .store(std::ptr::from_ref(pool).cast_mut(), Ordering::Relaxed);
        // SAFETY: forwarded to the caller.
        unsafe {
            self.core
                .open(terrace_thread::id().get(), ThreadSpawner::current())
        };
    }

    /// The scope's generic part.
    #[inline]
    pub(crate) fn core(&self) -> &ScopeCore<Runnable, ThreadSpawner> {
        &self.core
    }

    /// This slot as the core of children that only the waiter's thread may run.
    pub(crate) fn pinned(&self) -> &PinnedLane {
        // SAFETY: `PinnedLane` is a transparent wrapper of `Slot`.
        unsafe { &*std::ptr::from_ref(self).cast::<PinnedLane>() }
    }

    /// Counts a child out and wakes the waiter if it was the last. The slot must be taken for
    /// gone afterwards.
    #[inline]
    pub(crate) fn child_ended(&self) {
        let here = self.core.is_owner(terrace_thread::id().get());
        match self.core.child_ended() {
            ChildEnd::Others => {}
            // The waiter's own thread needs no wake: it looks at the count next.
            ChildEnd::Last(_) if here => {}
            ChildEnd::Last(waiter) => {
                light();
                waiter.notify();
            }
        }
    }

    /// Keeps the panic of a child for the scope to rethrow.
    pub(crate) fn child_panicked(&self, payload: Payload) {
        if let Some(later) = self.core.store_panic(payload) {
            // Only the first panic is rethrown; the others have been reported by the panic hook.
            crate::drop_payload(later);
        }
    }

    fn pool_ptr(&self) -> *const Shared {
        // Ordering: Relaxed, see `open`.
        self.pool.load(Ordering::Relaxed)
    }

    /// Puts a child that was just made into the list.
    ///
    /// # Safety
    /// The caller is the scope's body or a living child, so the scope is open during the call.
    #[inline]
    pub(crate) unsafe fn push_spawned(&self, child: Runnable) {
        // SAFETY: an open scope borrows its pool.
        let pool = unsafe { &*self.pool_ptr() };
        let by = if self.core.is_owner(terrace_thread::id().get()) {
            // SAFETY: this is the owner's thread.
            unsafe { self.core.push_owner(child) };
            Pusher::Waiter
        } else {
            self.core.push_foreign(child);
            if context::is_worker_of(pool) {
                Pusher::Worker
            } else {
                Pusher::Foreign
            }
        };
        match self.after_push(pool, by) {
            Wakes::Nobody => {}
            Wakes::Worker => pool.publish(),
            Wakes::Waiter => {
                if self.core.claim_wake() {
                    terrace_trace::wake(terrace_trace::EXTERNAL);
                    // SAFETY: the caller keeps the scope open.
                    unsafe { self.core.waiter() }.notify();
                }
            }
        }
    }

    /// Who is to be woken for a child that was just pushed.
    fn after_push(&self, pool: &Shared, by: Pusher) -> Wakes {
        ScopeCore::<Runnable, ThreadSpawner>::after_push();
        let asleep = self.core.is_asleep();
        let driven = by != Pusher::Foreign || !asleep;
        if driven && pool.idle.has_guard() && !pool.worth_waking(self, driven) {
            Wakes::Nobody
        } else if asleep {
            Wakes::Waiter
        } else {
            Wakes::Worker
        }
    }
}

impl Core for Slot {}

impl Schedule for Slot {
    unsafe fn schedule(this: NonNull<Self>, child: Runnable) {
        // SAFETY: the child's scope is open up to the push, and the slot lives as long as the pool.
        let this = unsafe { this.as_ref() };
        if this.core.is_owner(terrace_thread::id().get()) {
            // SAFETY: this is the waiter's thread, inside its scope: the scope borrows the pool.
            let pool = unsafe { &*this.pool_ptr() };
            // SAFETY: this is the owner's thread.
            unsafe { this.core.push_owner(child) };
            if this.after_push(pool, Pusher::Waiter) != Wakes::Nobody {
                pool.publish();
            }
            return;
        }
        // The child may run and end, and its scope close, as soon as it is pushed: what is needed
        // afterwards is copied out before. The slot lives as long as the pool.
        // SAFETY: the child that is being scheduled has not ended, so its scope is open and the
        // pool alive, up to the push.
        let pool = unsafe { &*this.pool_ptr() }.arc();
        // SAFETY: as above.
        let waiter = unsafe { this.core.waiter() };
        let by = if context::is_worker_of(&*pool) {
            Pusher::Worker
        } else {
            Pusher::Foreign
        };
        this.core.push_foreign(child);
        match this.after_push(&pool, by) {
            Wakes::Nobody => {}
            Wakes::Worker => pool.publish(),
            Wakes::Waiter => {
                // The flag is not claimed: it may be that of the slot's next scope by now, whose
                // waiter would then sleep on. One wake too many does no harm.
                terrace_trace::wake(terrace_trace::EXTERNAL);
                waiter.notify();
            }
        }
    }
}

impl Core for PinnedLane {}

impl Schedule for PinnedLane {
    unsafe fn schedule(this: NonNull<Self>, child: Runnable) {
        // SAFETY: as for `Slot`.
        let this = unsafe { this.as_ref() };
        // Into the thread's own queue of pinned work and not into one of the scope: whichever wait
        // is the innermost on that thread must run it.
        // SAFETY: the child that is being scheduled has not ended, so its scope is open.
        let waiter = unsafe { this.0.core.waiter() };
        // SAFETY: children are Send; they end on the waiter's thread before its scope does.
        unsafe { waiter.push(child) };
    }
}
