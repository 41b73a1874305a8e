//! The slot of one scope in the table of its pool.

use terrace_local::Payload;
use terrace_local::task::Runnable;
use terrace_sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use terrace_sync::light;
use terrace_thread::{ThreadId, ThreadSpawner};

use super::inspect::Site;
use super::scope_kind::ScopeKind;
use super::spin::spin_for;
use crate::protocol::scope::core::ScopeCore;
use crate::tuned::CALL;

/// One scope on one pool `P`. Children reach it through `CoreRef::Borrowed`. A child that has not
/// ended keeps the scope open. An open scope borrows its pool, and the pool owns the slot.
pub(crate) struct Slot<P> {
    core: ScopeCore<Runnable, ThreadSpawner>,
    /// The pool; set by `open`, the same for the slot's whole life.
    pool: AtomicPtr<P>,
    /// The number of the scope's kind.
    kind: AtomicU32,
    /// Where the scope was opened.
    pub(crate) site: Site,
}

impl<P> Default for Slot<P> {
    fn default() -> Self {
        Self {
            core: ScopeCore::default(),
            pool: AtomicPtr::new(std::ptr::null_mut()),
            kind: AtomicU32::new(0),
            site: Default::default(),
        }
    }
}

impl<P> Slot<P> {
    /// Opens a scope of this kind, of the thread `owner`, which `waiter` wakes.
    ///
    /// # Safety
    /// As [`ScopeCore::open`]; and `pool` owns this slot.
    pub(crate) unsafe fn open(
        &self,
        pool: &P,
        kind: ScopeKind,
        owner: ThreadId,
        waiter: ThreadSpawner,
    ) {
        // Ordering: Relaxed, a hint for pacing.
        self.kind.store(kind.number(), Ordering::Relaxed);
        // Ordering: Relaxed, children learn of it through the push that publishes them.
        self.pool
            .store(std::ptr::from_ref(pool).cast_mut(), Ordering::Relaxed);
        // SAFETY: the caller got the slot of a closed scope from the table, and no other thread opens it.
        unsafe { self.core.open(owner.get(), waiter) };
    }

    /// The scope's generic part.
    #[inline]
    pub(crate) fn core(&self) -> &ScopeCore<Runnable, ThreadSpawner> {
        &self.core
    }

    /// Whether children lie in the list, and the scope's thread takes none and spawns none for [`CALL`]: it runs a long
    /// child or a long piece of the body, or waits for a processor. Watches for that long if it is so, else until it sees
    /// the thread move.
    pub(crate) fn is_stuck(&self) -> bool {
        let core = &self.core;
        if core.is_empty() {
            return false;
        }
        let seen = core.progress();
        !spin_for(CALL, || core.progress() != seen || core.is_empty())
    }

    /// The kind of the scope, or of the last one in this slot.
    #[inline]
    pub(crate) fn kind(&self) -> ScopeKind {
        // Ordering: Relaxed, a hint for pacing.
        ScopeKind::from_number(self.kind.load(Ordering::Relaxed))
    }

    /// The pool that owns the slot. It lives at least as long as the scope is open.
    #[inline]
    pub(crate) fn pool(&self) -> *const P {
        // Ordering: Relaxed, see `open`.
        self.pool.load(Ordering::Relaxed)
    }

    /// Counts a child out and wakes the waiter if it was the last. The caller does not touch the slot afterwards.
    #[inline]
    pub(crate) fn child_ended(&self) {
        if let Some(waiter) = self.core.child_ended(|| terrace_thread::id().get()) {
            light();
            waiter.notify();
        }
    }

    /// Keeps the panic of a child for the scope to rethrow, and cancels its siblings.
    #[cold]
    pub(crate) fn child_panicked(&self, number: u32, payload: Payload) {
        if let Some(other) = self.core.store_panic(number, payload) {
            // The scope rethrows the panic of one child; the panic hook has reported the others.
            terrace_local::drop_payload(other);
        }
        self.core.cancel().cancel(number);
    }
}
