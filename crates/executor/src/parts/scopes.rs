//! The open scopes of a pool, and what is known of their children and threads.

use terrace_local::task::Runnable;
use terrace_queue::SlotTable;
use terrace_sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use terrace_sync::light;
use terrace_thread::{ThreadId, ThreadSpawner};
use terrace_trace::inspect::Since;

use super::Level;
use super::pacing::{Beat, Pacing, ScopeKind};
use super::processor::spin;
use crate::protocol::scope::ScopeCore;
use crate::tuned::{BLOCKING_SCOPES, CALL, TOLD_APART};

/// One scope on one pool `P`. Children reach it through `CoreRef::Borrowed`. A child that has not
/// ended keeps the scope open. An open scope borrows its pool, and the pool owns the slot.
pub(crate) struct Slot<P> {
    pub(crate) core: ScopeCore<Runnable, ThreadSpawner>,
    /// The pool; set by `open`, the same for the slot's whole life.
    pool: AtomicPtr<P>,
    /// The number of the scope's kind.
    kind: AtomicU32,
    /// The number of the scope's thread, if this scope has counted it as a driver; else 0.
    driver: AtomicU64,
    /// Where the scope was opened, and when.
    pub(crate) opened: Since,
}

impl<P> Default for Slot<P> {
    fn default() -> Self {
        Self {
            core: ScopeCore::default(),
            pool: AtomicPtr::new(std::ptr::null_mut()),
            kind: AtomicU32::new(0),
            driver: AtomicU64::new(0),
            opened: Default::default(),
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
        self.kind.store(kind.0, Ordering::Relaxed);
        // Ordering: Relaxed, children learn of it through the push that publishes them.
        self.pool
            .store(std::ptr::from_ref(pool).cast_mut(), Ordering::Relaxed);
        // SAFETY: the caller got the slot of a closed scope from the table, and no other thread opens it.
        unsafe { self.core.open(owner.get(), waiter) };
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
        !spin(CALL, || core.progress() != seen || core.is_empty())
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
}

/// The thread for which work is looked at that has an owner.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Looking {
    /// A worker that is awake anyway, and counts as busy.
    Awake,
    /// A worker that has announced its sleep, and does not count as busy any more.
    Parking,
    /// A worker that may have to be woken.
    ToWake,
    /// Likewise in the middle of a job, where it cannot watch: a thread that may fork at any moment is no work.
    InWait,
}

/// The open scopes of a pool `P`.
pub(crate) struct Scopes<P> {
    /// Their slots.
    pub(crate) table: SlotTable<Slot<P>, 8>,
    /// How long their children take, for each kind of scope.
    pacing: [Pacing; TOLD_APART],
    /// How often a sentinel looks at them.
    pub(crate) beat: Beat,
    /// Threads off the pool that are driving a scope of it now.
    pub(crate) drivers: Level,
    /// The next so many scopes and stolen jobs may keep every thread busy at once, because a child or a job was seen to block its
    /// thread.
    blocking: AtomicU32,
}

impl<P> Scopes<P> {
    /// None is open.
    pub(crate) fn new() -> Self {
        Self {
            table: SlotTable::default(),
            pacing: std::array::from_fn(|_| Pacing::new()),
            beat: Beat::default(),
            drivers: Level::default(),
            blocking: AtomicU32::new(0),
        }
    }

    /// Whether a child lies in the list of any scope.
    pub(crate) fn has_any(&self) -> bool {
        self.table.scan().any(|slot| !slot.core.is_empty())
    }

    /// Whether a thread waits in a scope, or children lie in the list of one.
    pub(crate) fn has_waiter(&self) -> bool {
        let waits = |slot: &Slot<P>| slot.core.is_asleep() || !slot.core.is_empty();
        self.table.scan().any(waits)
    }

    /// A number that changes whenever a thread takes a child out of a list: a hash of hints.
    pub(crate) fn progress(&self) -> usize {
        self.table.scan().fold(0, |hash: usize, slot| {
            hash.wrapping_mul(1_000_003)
                .wrapping_add(slot.core.taken() as usize)
        })
    }

    /// A child, or a job of a join, stood still while no thread used the processor: the busy threads are blocked and leave their cores free.
    pub(crate) fn observe_blocking(&self) {
        // Ordering: Relaxed, a hint.
        self.blocking.store(BLOCKING_SCOPES, Ordering::Relaxed);
    }

    /// Whether a child, or a job of a join, was seen to block its thread lately. Then each gets a thread, however short they are:
    /// one may wait for the next. The mean does not tell: a child may block in one scope and be short in another.
    #[inline]
    pub(crate) fn is_blocking(&self) -> bool {
        // Ordering: Relaxed, a hint.
        self.blocking.load(Ordering::Relaxed) > 0
    }

    /// What is known of scopes of the kind of the one in `slot`.
    #[inline]
    pub(crate) fn pacing(&self, slot: &Slot<P>) -> &Pacing {
        // Ordering: Relaxed, a hint.
        &self.pacing[slot.kind.load(Ordering::Relaxed) as usize % TOLD_APART]
    }

    /// Whether an awake worker should take a child from a waiter that drives the scope in `slot`.
    #[inline]
    pub(crate) fn worth_taking(&self, slot: &Slot<P>) -> bool {
        self.pacing(slot).worth_taking() || self.is_blocking()
    }

    /// A scope's body has ended, or a worker has stolen a job of a join.
    pub(crate) fn forget_blocking(&self) {
        // Ordering: Relaxed, a hint; scopes that end at the same time may count as one.
        let left = self.blocking.load(Ordering::Relaxed);
        if left > 0 {
            self.blocking.store(left - 1, Ordering::Relaxed);
        }
    }

    /// Whether a scope is open that a sentinel has to watch. `alone`: no other thread is busy.
    ///
    /// A scope whose thread sleeps while its list is empty needs none where no other thread is busy. Its children wait, and the
    /// thread that wakes one of them tells the scope's thread.
    pub(crate) fn any_to_watch(&self, alone: bool) -> bool {
        self.table.scan().map(|slot| &slot.core).any(|core| {
            let rests = core.is_asleep() && core.is_empty();
            core.pending() > 0 && !(alone && rests)
        })
    }

    /// A scope whose thread does not come to the children in its list, and the number of that scope's slot.
    pub(crate) fn first_stuck(&self) -> Option<usize> {
        self.table.scan().position(Slot::is_stuck)
    }

    /// Counts the thread of the scope in `slot`, which is the current one and no worker, unless another open scope has counted it.
    pub(crate) fn count_driver(&self, slot: &Slot<P>, thread: ThreadId) {
        let thread = thread.get();
        // Ordering: Relaxed here and below. Each thread looks for its own number, which no other one writes.
        let mut slots = self.table.scan();
        if !slots.any(|slot| slot.driver.load(Ordering::Relaxed) == thread) {
            slot.driver.store(thread, Ordering::Relaxed);
            self.drivers.rise();
        }
    }

    /// The scope in `slot` ends. Its thread calls this.
    pub(crate) fn forget_driver(&self, slot: &Slot<P>) {
        if slot.driver.load(Ordering::Relaxed) != 0 {
            slot.driver.store(0, Ordering::Relaxed);
            self.drivers.fall();
        }
    }
}
