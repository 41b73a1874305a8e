//! The push of a child, and which sleepers of its pool it wakes: the slot as the core of its children.

use std::ptr::NonNull;

use terrace_local::task::{Core, Runnable, Schedule};
use terrace_thread::ThreadSpawner;

use crate::parts::scopes::Slot;
use crate::pool::runner;
use crate::pool::shared::Shared;
use crate::protocol::scope::core::ScopeCore;

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

/// Which thread the pusher has to wake for a child that it has just pushed. `looks`: the pusher looks at the list when its present work
/// is done, as the scope's own thread and a worker of the pool do.
fn after_push(slot: &Slot<Shared>, pool: &Shared, looks: bool) -> Wakes {
    ScopeCore::<Runnable, ThreadSpawner>::after_push();
    let asleep = slot.core().is_asleep();
    let driven = looks || !asleep;
    if driven && pool.idle.has_sentinel() && !pool.scopes.worth_waking(slot, pool.crew()) {
        Wakes::None
    } else if asleep {
        Wakes::Waiter
    } else {
        Wakes::Worker
    }
}

/// Puts a child into the list of its scope, on the scope's own thread, which looks at the list before it sleeps.
///
/// # Safety
/// The calling thread is the scope's, and the scope is open.
#[inline]
unsafe fn push_own(slot: &Slot<Shared>, child: Runnable) {
    // SAFETY: an open scope borrows its pool.
    let pool = unsafe { &*slot.pool() };
    // SAFETY: this is the owner's thread.
    unsafe { slot.core().push_owner(child) };
    if after_push(slot, pool, true) != Wakes::None {
        pool.publish();
    }
}

/// Puts a child that was just made into the list of its scope.
///
/// # Safety
/// The caller is the scope's body or a living child, so the scope is open during the call.
#[inline]
pub(super) unsafe fn push_spawned(slot: &Slot<Shared>, child: Runnable) {
    let core = slot.core();
    if core.is_owner(terrace_thread::id().get()) {
        // SAFETY: the caller keeps the scope open.
        return unsafe { push_own(slot, child) };
    }
    // SAFETY: an open scope borrows its pool.
    let pool = unsafe { &*slot.pool() };
    core.push_remote(child);
    match after_push(slot, pool, runner::is_worker_of(pool)) {
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

impl Core for Slot<Shared> {}

impl Schedule for Slot<Shared> {
    unsafe fn schedule(this: NonNull<Self>, child: Runnable) {
        // SAFETY: the child's scope is open up to the push, and the slot lives as long as the pool.
        let slot = unsafe { this.as_ref() };
        let core = slot.core();
        if core.is_owner(terrace_thread::id().get()) {
            // SAFETY: this is the waiter's thread, inside of its scope.
            return unsafe { push_own(slot, child) };
        }
        // As soon as the child is pushed, it may run and end, and its scope may close. So this
        // clones the pool's reference and the waiter's handle before the push. The slot lives as
        // long as the pool.
        // SAFETY: the child that is being scheduled has not ended, so its scope is open and the
        // pool alive, up to the push.
        let pool = unsafe { &*slot.pool() }.arc();
        // SAFETY: the same child keeps the scope open up to the push.
        let waiter = unsafe { core.waiter() };
        core.push_remote(child);
        match after_push(slot, &pool, runner::is_worker_of(&*pool)) {
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
