//! The open scopes of a pool, and two decisions about their lists: whether a worker takes children, and whether they
//! are worth waking another thread.

use terrace_local::task::Runnable;
use terrace_park::Idle;
use terrace_queue::SlotTable;
use terrace_sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use terrace_sync::{OnceLock, light};
use terrace_thread::{ThreadId, ThreadSpawner};
use terrace_trace::inspect::Since;

use super::Level;
use super::pacing::{Beat, Pacing, ScopeKind};
use super::processor::{cores, spin};
use crate::protocol::publish::Sight;
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

/// The thread for which a scope's list is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Looking {
    /// A worker that is awake anyway, and counts as busy.
    Awake,
    /// A worker that has announced its sleep, and does not count as busy any more.
    Parking,
    /// A worker that may have to be woken.
    ToWake,
}

/// The threads of a pool, as decisions about its scopes see them.
#[derive(Clone, Copy)]
pub(crate) struct Crew<'p> {
    pub(crate) idle: &'p Idle,
    /// How many workers there are to be.
    pub(crate) workers: usize,
}

/// The open scopes of a pool `P`.
pub(crate) struct Scopes<P> {
    /// Their slots.
    pub(crate) table: SlotTable<Slot<P>, 8>,
    /// How long their children take, for each kind of scope.
    pacing: OnceLock<Box<[Pacing; TOLD_APART]>>,
    /// How often the sentinel looks at them.
    pub(crate) beat: Beat,
    /// Threads off the pool that are driving a scope of it now.
    pub(crate) drivers: Level,
    /// The cores of the machine.
    cores: usize,
    /// The next so many scopes and stolen jobs may keep every thread busy at once, because a child or a job was seen to block its
    /// thread.
    blocking: AtomicU32,
}

impl<P> Scopes<P> {
    /// None is open.
    pub(crate) fn new() -> Self {
        Self {
            table: SlotTable::default(),
            pacing: OnceLock::new(),
            beat: Beat::default(),
            drivers: Level::default(),
            cores: cores(),
            blocking: AtomicU32::new(0),
        }
    }

    /// What the list of `slot` means for a worker.
    #[inline]
    pub(crate) fn sight(&self, slot: &Slot<P>, looking: Looking, crew: Crew<'_>) -> Sight {
        if slot.core.is_empty() {
            Sight::Nothing
        } else if slot.core.is_asleep() {
            Sight::Ready
        } else {
            let worth = match looking {
                // Both ask: would this worker be one too many? If their answers differed, a worker would find nothing,
                // park, see the child, search again, and so on.
                Looking::Awake => self.worth_taking(slot) && self.busy(crew) <= self.cap(crew),
                Looking::Parking => self.worth_taking(slot) && self.busy(crew) < self.cap(crew),
                Looking::ToWake => self.worth_waking(slot, crew),
            };
            if worth { Sight::Ready } else { Sight::Covered }
        }
    }

    /// A child of a scope whose list is ready for a worker, and its slot.
    pub(crate) fn take_ready(&self, crew: Crew<'_>) -> Option<(Runnable, &Slot<P>)> {
        self.table.scan().find_map(|slot| {
            if self.sight(slot, Looking::Awake, crew) != Sight::Ready {
                return None;
            }
            slot.core.steal().map(|child| (child, slot))
        })
    }

    /// A child of any scope, and its slot.
    pub(crate) fn take_any(&self) -> Option<(Runnable, &Slot<P>)> {
        let mut slots = self.table.scan();
        slots.find_map(|slot| slot.core.steal().map(|child| (child, slot)))
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

    /// Threads that may be busy with scopes at once before another wake is left to the sentinel: as many as there are
    /// cores. The waiting thread runs children too, so it counts beside the workers.
    fn cap(&self, crew: Crew<'_>) -> usize {
        let threads = crew.workers + 1;
        if self.is_blocking() {
            threads
        } else {
            threads.min(self.cores)
        }
    }

    /// Whether fewer threads are busy than there are cores.
    pub(crate) fn has_room(&self, crew: Crew<'_>) -> bool {
        self.busy(crew) < self.cap(crew).min(self.cores)
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

    /// What is known of scopes of the kind of the one in `slot`. The first call of a pool allocates less than 1 KiB.
    #[inline]
    pub(crate) fn pacing(&self, slot: &Slot<P>) -> &Pacing {
        let kinds = self
            .pacing
            .get_or_init(|| Box::new(std::array::from_fn(|_| Pacing::new())));
        // Ordering: Relaxed, a hint.
        &kinds[slot.kind.load(Ordering::Relaxed) as usize % TOLD_APART]
    }

    /// Whether an awake worker should take a child from a waiter that drives the scope in `slot`.
    #[inline]
    fn worth_taking(&self, slot: &Slot<P>) -> bool {
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

    /// Threads busy with this pool's scopes or tasks; a hint. A worker that has announced its sleep is none of them.
    pub(crate) fn busy(&self, crew: Crew<'_>) -> usize {
        // A thread whose scope sleeps, and that runs a scope of another sleeper on top of it, is counted out twice for that time.
        crew.idle.awake().wrapping_add(self.drivers.get())
    }

    /// Whether a scope is open that a sentinel has to watch. Of the busy threads, `own` are the caller.
    ///
    /// A scope whose thread sleeps while its list is empty needs none where no other thread is busy. Its children wait, and the
    /// thread that wakes one of them tells the scope's thread.
    pub(crate) fn any_to_watch(&self, crew: Crew<'_>, own: usize) -> bool {
        let alone = self.busy(crew) <= own;
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

    /// Whether the children in `slot` are worth waking another thread, beside the one that comes to one of them soon.
    #[inline]
    pub(crate) fn worth_waking(&self, slot: &Slot<P>, crew: Crew<'_>) -> bool {
        self.worth_taking(slot) && self.surplus(slot, crew) > 0
    }

    /// How many threads the children in `slot` are worth, beside the one that comes to one of them soon. At most as many
    /// as may be busy at once.
    pub(crate) fn surplus(&self, slot: &Slot<P>, crew: Crew<'_>) -> usize {
        let blocking = self.is_blocking();
        // The thread that drives the scope runs one of them soon, unless it is blocked in one, or still in a long body. If it sleeps, its
        // body has ended, and the worker that asks runs one.
        let in_body = || !slot.core.is_asleep() && self.pacing(slot).body_is_long();
        let soon = usize::from(!blocking && !in_body());
        let queued = slot.core.len().saturating_sub(soon);
        if queued == 0 || !(blocking || self.pacing(slot).worth_waking(queued)) {
            return 0;
        }
        queued.min(self.cap(crew).saturating_sub(self.busy(crew)))
    }
}

#[cfg(all(test, not(terrace_loom)))]
mod tests {
    use super::*;

    /// After one child was seen to block, the next scopes need no sentinel: the waiter and all workers may be busy, however
    /// short children are.
    #[test]
    fn a_child_that_blocks_is_remembered_for_many_scopes() {
        let mut scopes = Scopes::<()>::new();
        scopes.cores = 1;
        let idle = Idle::new(2);
        let crew = Crew {
            idle: &idle,
            workers: 2,
        };
        assert_eq!(scopes.cap(crew), 1);
        scopes.observe_blocking();
        for _ in 0..BLOCKING_SCOPES {
            assert!(scopes.is_blocking());
            assert_eq!(scopes.cap(crew), 3);
            scopes.forget_blocking();
        }
        assert!(!scopes.is_blocking());
        assert_eq!(scopes.cap(crew), 1);
        // A second one within that time begins it anew.
        scopes.observe_blocking();
        scopes.forget_blocking();
        scopes.observe_blocking();
        assert_eq!(scopes.blocking.load(Ordering::Relaxed), BLOCKING_SCOPES);
    }
}
