//! The push of a child, and which sleepers of its pool it wakes: the slot as the core of its children.

use std::ptr::NonNull;

use terrace_local::task::{Core, Runnable, Schedule};
use terrace_thread::ThreadSpawner;

use crate::parts::scope_slot::Slot;
use crate::pool::runner;
use crate::pool::shared::Shared;
use crate::protocol::scope::core::ScopeCore;

/// The same slot, seen by children that only the waiter's thread may run.
#[repr(transparent)]
pub(super) struct PinnedLane(Slot<Shared>);

/// Which thread pushed a child.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pusher {
    /// The scope's own thread, which will look at the list before it sleeps.
    Waiter,
    /// A worker of the pool, which will look at the list when its present work is done.
    Worker,
    /// Any other thread.
    Remote,
}

impl Pusher {
    /// The calling thread, which is not the waiter's.
    #[inline]
    fn remote(pool: &Shared) -> Self {
        if runner::is_worker_of(pool) {
            Self::Worker
        } else {
            Self::Remote
        }
    }
}

/// Which thread a push wakes.
#[derive(Clone, Copy, PartialEq, Eq)]
#[must_use = "a push that wakes no thread where it should is a lost wake"]
enum Wakes {
    /// No thread: an awake thread will take the child, and a sentinel watches.
    None,
    /// The scope's sleeping waiter.
    Waiter,
    /// A worker, as the sleeping protocol chooses.
    Worker,
}

/// `slot` as the core of children that only the waiter's thread may run.
pub(super) fn pinned(slot: &Slot<Shared>) -> &PinnedLane {
    // SAFETY: `PinnedLane` is a transparent wrapper of `Slot<Shared>`.
    unsafe { &*std::ptr::from_ref(slot).cast::<PinnedLane>() }
}

/// Puts a child that was just made into the list of its scope.
///
/// # Safety
/// The caller is the scope's body or a living child, so the scope is open during the call.
#[inline]
pub(super) unsafe fn push_spawned(slot: &Slot<Shared>, child: Runnable) {
    let core = slot.core();
    // SAFETY: an open scope borrows its pool.
    let pool = unsafe { &*slot.pool() };
    let by = if core.is_owner(terrace_thread::id().get()) {
        // SAFETY: this is the owner's thread.
        unsafe { core.push_owner(child) };
        Pusher::Waiter
    } else {
        core.push_remote(child);
        Pusher::remote(pool)
    };
    match after_push(slot, pool, by) {
        Wakes::None => {}
        Wakes::Worker => pool.publish(),
        Wakes::Waiter => {
            if core.claim_wake() {
                // SAFETY: the caller keeps the scope open.
                unsafe { core.waiter() }.notify();
            }
        }
    }
}

/// Which thread the pusher has to wake for a child that it has just pushed.
fn after_push(slot: &Slot<Shared>, pool: &Shared, by: Pusher) -> Wakes {
    ScopeCore::<Runnable, ThreadSpawner>::after_push();
    let asleep = slot.core().is_asleep();
    let driven = by != Pusher::Remote || !asleep;
    if driven && pool.idle.has_sentinel() && !pool.scopes.worth_waking(slot, pool.crew()) {
        Wakes::None
    } else if asleep {
        Wakes::Waiter
    } else {
        Wakes::Worker
    }
}

impl Core for Slot<Shared> {}

impl Schedule for Slot<Shared> {
    unsafe fn schedule(this: NonNull<Self>, child: Runnable) {
        // SAFETY: the child's scope is open up to the push, and the slot lives as long as the pool.
        let slot = unsafe { this.as_ref() };
        let core = slot.core();
        if core.is_owner(terrace_thread::id().get()) {
            // SAFETY: this is the waiter's thread, inside its scope: the scope borrows the pool.
            let pool = unsafe { &*slot.pool() };
            // SAFETY: this is the owner's thread.
            unsafe { core.push_owner(child) };
            if after_push(slot, pool, Pusher::Waiter) != Wakes::None {
                pool.publish();
            }
            return;
        }
        // As soon as the child is pushed, it may run and end, and its scope may close. So this
        // clones the pool's reference and the waiter's handle before the push. The slot lives as
        // long as the pool.
        // SAFETY: the child that is being scheduled has not ended, so its scope is open and the
        // pool alive, up to the push.
        let pool = unsafe { &*slot.pool() }.arc();
        // SAFETY: the same child keeps the scope open up to the push.
        let waiter = unsafe { core.waiter() };
        let by = Pusher::remote(&pool);
        core.push_remote(child);
        match after_push(slot, &pool, by) {
            Wakes::None => {}
            Wakes::Worker => pool.publish(),
            Wakes::Waiter => {
                // The pusher does not claim the flag. It may belong to the slot's next scope by
                // now, whose waiter would then sleep on. One wake too many does no harm.
                waiter.notify();
            }
        }
    }
}

impl Core for PinnedLane {}

impl Schedule for PinnedLane {
    unsafe fn schedule(this: NonNull<Self>, child: Runnable) {
        // SAFETY: the child's scope is open up to the push, and the slot lives as long as the pool.
        let this = unsafe { this.as_ref() };
        // The child goes into the thread's own queue of pinned work: the innermost wait on that
        // thread must run it. A list of the scope would not do.
        // SAFETY: the child that is being scheduled has not ended, so its scope is open.
        let waiter = unsafe { this.0.core().waiter() };
        // SAFETY: children are Send. The child ends on the waiter's thread before its scope ends,
        // and the waiter is still in that scope.
        unsafe { waiter.push(child) };
    }
}
