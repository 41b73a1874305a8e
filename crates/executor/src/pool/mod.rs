//! One pool: what its workers, its spawners and the threads that wait for it share.

pub(crate) mod current;
pub(crate) mod outside;
mod search;
pub(crate) mod spare;
pub(crate) mod threads;
pub(crate) mod wait;
pub(crate) mod worker;

use event_listener::Event;
use terrace_local::registry::Registry;
use terrace_local::task::{Core, Register, Runnable};
use terrace_park::{Idle, Wake};
use terrace_queue::{Injector, Ring};
use terrace_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use terrace_sync::unmodelled::Weak;
use terrace_sync::{Arc, CachePadded};

use crate::Payload;
use crate::scope::board::Board;
use crate::scope::pacing::Pacing;
use crate::scope::slot::Slot;

/// The one lane of workers so far.
pub(crate) const LANE: u32 = 1;

/// What a worker shows to the others.
pub(crate) struct Seat {
    /// Runnables of the worker, stealable by its peers.
    pub(crate) ring: Ring<Runnable>,
}

/// The state of a pool.
pub(crate) struct Shared {
    this: Weak<Shared>,
    /// Every decision about sleeping and waking.
    pub(crate) idle: Idle,
    /// Tasks spawned or woken outside the workers.
    pub(crate) injector: Injector<Runnable>,
    /// One seat a worker, then the seats of spares.
    pub(crate) seats: Box<[CachePadded<Seat>]>,
    /// Seats of the workers proper; the others are for spares.
    pub(crate) workers: usize,
    /// Seats that are or were in use: those of the workers, and up to the highest that a spare had.
    pub(crate) seats_used: AtomicUsize,
    /// Open scopes.
    pub(crate) board: Board<Slot>,
    /// How long their children take.
    pub(crate) pacing: Pacing,
    /// Threads off the pool that are driving a scope of it now.
    drivers: AtomicUsize,
    /// Threads that may be busy with scopes at once before another wake is left to the guard.
    cap: usize,
    /// Tasks to wake when the pool is dropped; static pools never are.
    registry: Option<Registry>,
    /// What happens to the panic of a detached task.
    handler: PanicHandler,
    /// Worker threads that have not ended.
    pub(crate) threads: AtomicUsize,
    /// Raised once, when the workers are to end.
    pub(crate) closing: AtomicBool,
    /// Threads that wait for a pool without workers.
    pub(crate) outside: Event,
    /// How spare workers are started, and those that were.
    pub(crate) spares: spare::Spares,
}

/// Receives the payload of a panic that no handle will see.
pub(crate) type PanicHandler = Arc<dyn Fn(Payload) + Send + Sync>;

/// Whether a scope's list asks for the one who looks at it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offer {
    /// Nothing there.
    Empty,
    /// Something is there, a thread is at it, and a guard is to watch.
    Covered,
    /// Take it.
    Ready,
}

/// For whom a scope's list is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Looking {
    /// A worker that is awake anyway, and counts as busy.
    Awake,
    /// A worker that has announced its sleep, and does not count as busy any more.
    Parking,
    /// A worker that may have to be woken.
    ToWake,
}

impl Shared {
    pub(crate) fn new(
        workers: usize,
        spares: spare::Spares,
        droppable: bool,
        handler: PanicHandler,
    ) -> Arc<Self> {
        let seats = workers + if workers == 0 { 0 } else { spare::MAX };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            idle: Idle::with_workers(seats),
            injector: Injector::new(),
            seats: (0..seats)
                .map(|_| CachePadded::new(Seat { ring: Ring::new() }))
                .collect(),
            workers,
            seats_used: AtomicUsize::new(workers),
            board: Board::new(),
            pacing: Pacing::new(),
            drivers: AtomicUsize::new(0),
            // The waiting thread runs children too, so a pool that leaves cores free may keep one
            // worker more busy than it would without it.
            cap: workers.max((workers + 1).min(cores)),
            registry: droppable.then(Registry::new),
            handler,
            threads: AtomicUsize::new(0),
            closing: AtomicBool::new(false),
            outside: Event::new(),
            spares,
        })
    }

    /// A counted reference to itself.
    pub(crate) fn arc(&self) -> Arc<Self> {
        self.this.upgrade().expect("a pool in use is alive")
    }

    /// Threads busy with this pool's scopes or tasks; a hint.
    fn busy(&self) -> usize {
        // Ordering: Relaxed, a hint.
        self.idle.awake() + self.drivers.load(Ordering::Relaxed)
    }

    /// Whether anybody is active for whom a guard should watch. The caller is an awake worker.
    pub(crate) fn others_active(&self) -> bool {
        self.busy() > 1
    }

    /// A thread off the pool begins (or goes on) to drive a scope.
    pub(crate) fn driver_enters(&self) {
        // Ordering: Relaxed, a hint for pacing.
        self.drivers.fetch_add(1, Ordering::Relaxed);
    }

    /// A thread off the pool ceases to drive a scope: it ended, or the thread sleeps.
    pub(crate) fn driver_leaves(&self) {
        // Ordering: Relaxed, a hint for pacing.
        self.drivers.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether the children in `slot` are worth waking another thread, beside the one that drives the scope if it is
    /// `driven`.
    #[inline]
    pub(crate) fn worth_waking(&self, slot: &Slot, driven: bool) -> bool {
        self.pacing.worth_taking() && self.surplus(slot, driven) > 0
    }

    /// How many more threads the children in `slot` are worth, at most as many as may be busy at once.
    pub(crate) fn surplus(&self, slot: &Slot, driven: bool) -> usize {
        let soon = usize::from(driven && !self.pacing.body_is_long());
        let queued = slot.core().len().saturating_sub(soon);
        if queued == 0 || !self.pacing.worth_waking(queued) {
            return 0;
        }
        queued.min(self.cap.saturating_sub(self.busy()))
    }

    /// Called between children when the estimate has changed: wakes another thread if what is queued now deserves it.
    pub(crate) fn reconsider(&self, slot: &Slot) {
        if self.worth_waking(slot, true) {
            self.publish();
        }
    }

    /// Called when a scope's body has ended: what it left is a batch, whose workers are woken two at a time, each of
    /// which wakes two more.
    pub(crate) fn publish_batch(&self, slot: &Slot) {
        match self.surplus(slot, true) {
            0 => {}
            1 => self.publish(),
            more => {
                self.idle.publish_batch(LANE, more);
            }
        }
    }

    /// What the list of `slot` means for a worker.
    #[inline]
    pub(crate) fn offer(&self, slot: &Slot, looking: Looking) -> Offer {
        if slot.core().is_empty() {
            Offer::Empty
        } else if slot.core().is_asleep() {
            Offer::Ready
        } else {
            let worth = match looking {
                // The same question for both: would this worker be one too many? If they answered differently, a worker
                // would find nothing, lie down, get up for it, and so on.
                Looking::Awake => self.pacing.worth_taking() && self.busy() <= self.cap,
                Looking::Parking => self.pacing.worth_taking() && self.busy() < self.cap,
                Looking::ToWake => self.worth_waking(slot, true),
            };
            if worth { Offer::Ready } else { Offer::Covered }
        }
    }

    /// Wakes somebody for an item that was just made visible.
    #[inline]
    pub(crate) fn publish(&self) {
        match self.idle.publish(LANE) {
            Wake::NoneParked if self.workers == 0 => {
                self.outside.notify(1);
            }
            _ => {}
        }
    }

    /// Queues a task from any thread that keeps the pool alive.
    #[inline]
    pub(crate) fn push_task(&self, task: Runnable) {
        current::push_local(self, task);
        self.publish();
    }

    /// Wakes every registered task so that it is queued, and drops what is queued, until nothing
    /// is left. Called when no worker runs any more.
    pub(crate) fn drop_tasks(&self) {
        let Some(registry) = &self.registry else {
            return;
        };
        registry.close(|| {
            let mut dropped = false;
            while let Some(task) = self.pop_any() {
                dropped = true;
                drop(task);
            }
            dropped
        });
    }

    /// Counts a worker thread out; true if the pool is closing and this was the last.
    pub(crate) fn last_one_out(&self) -> bool {
        // Ordering: AcqRel, what the other workers did happens before the last one drops tasks.
        let last = self.threads.fetch_sub(1, Ordering::AcqRel) == 1;
        // Ordering: Relaxed, raised before anybody was told to end.
        last && self.closing.load(Ordering::Relaxed)
    }

    /// The seats that may hold tasks.
    #[inline]
    pub(crate) fn used_seats(&self) -> &[CachePadded<Seat>] {
        // Ordering: Relaxed; raised before a spare pushes anything, which it publishes with a fence.
        &self.seats[..self.seats_used.load(Ordering::Relaxed)]
    }

    /// A task that lies in a worker's ring.
    pub(crate) fn pop_held(&self) -> Option<Runnable> {
        self.used_seats()
            .iter()
            .find_map(|seat| seat.ring.steal_one())
    }

    /// Any queued task, for a thread that is no worker or must help: what workers hold comes first, since those who
    /// wait for tasks mostly wait for their own.
    pub(crate) fn pop_any(&self) -> Option<Runnable> {
        self.pop_held().or_else(|| self.injector.pop())
    }
}

impl Core for Shared {
    unsafe fn schedule(&self, task: Runnable) {
        if current::is_worker_of(self) {
            // The worker keeps the pool alive.
            self.push_task(task);
        } else {
            // The task holds a reference to the pool, which goes with the push.
            let pool = self.arc();
            pool.push_task(task);
        }
    }

    fn unhandled_panic(&self, payload: Payload) {
        (self.handler)(payload);
    }

    fn registry(&self) -> Option<&dyn Register> {
        self.registry
            .as_ref()
            .map(|registry| registry as &dyn Register)
    }
}
