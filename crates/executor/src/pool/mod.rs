//! One pool: what its workers, its spawners and the threads that wait for it share.

pub(crate) mod context;
pub(crate) mod current;
mod describe;
pub(crate) mod driver;
mod ending;
mod in_hand;
mod injected;
pub(crate) mod lanes;
pub(crate) mod outside;
pub(crate) mod schedule;
mod search;
pub(crate) mod seat;
mod spawn;
mod spin;
mod stalled;
pub(crate) mod threads;
mod turns;
pub(crate) mod wait;
pub(crate) mod worker;

use std::num::NonZeroU64;

use event_listener::Event;
use terrace_local::registry::Registry;
use terrace_local::task::{PanicHandler, Runnable};
use terrace_park::Idle;
use terrace_sync::Arc;
use terrace_sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use terrace_sync::unmodelled::Weak;

use self::current::ExecutorId;
use self::injected::Injected;
use self::seat::{Seat, Tally};
use self::threads::Threads;

use crate::scope::board::Board;
use crate::scope::pacing::Pacing;
use crate::scope::slot::Slot;

/// The one lane of workers so far.
pub(crate) const LANE: u32 = 1;

/// The state of a pool.
pub(crate) struct Shared {
    this: Weak<Shared>,
    /// Never used again for another pool.
    pub(crate) id: ExecutorId,
    /// Every decision about sleeping and waking.
    pub(crate) idle: Idle,
    /// Tasks that go before others, or after them.
    pub(crate) lanes: lanes::Lanes,
    /// Tasks spawned or woken outside the workers.
    pub(crate) injected: Injected,
    /// The seats of workers and spares; their indices are the workers' numbers in `idle`.
    pub(crate) seats: Board<Seat, 1>,
    /// The seats of `run` futures.
    pub(crate) driver_seats: Board<Seat, 1>,
    /// What threads without a seat spawned and finished.
    pub(crate) elsewhere: Tally,
    /// The number of worker threads that the pool is to have; spares come on top.
    workers: AtomicUsize,
    /// Open scopes.
    pub(crate) board: Board<Slot, 8>,
    /// How long their children take.
    pub(crate) pacing: Pacing,
    /// Threads off the pool that are driving a scope of it now.
    drivers: AtomicUsize,
    /// The cores of the machine.
    cores: usize,
    /// Tasks to wake when the pool is dropped.
    registry: Registry,
    /// What happens to the panic of a detached task.
    handler: Option<PanicHandler>,
    /// Worker threads that have not ended.
    pub(crate) running: AtomicUsize,
    /// Raised once, when the workers are to end.
    pub(crate) closing: AtomicBool,
    /// Threads that wait for a pool without workers.
    pub(crate) outside: Event,
    /// How many there are, raised before they listen.
    pub(crate) outsiders: AtomicUsize,
    /// Whether it has no workers and is no longer being shut down: threads that wait drive it.
    pub(crate) left_to_waits: AtomicBool,
    /// How threads are started, and those that were.
    pub(crate) threads: Threads,
}

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
    /// A pool without threads so far, with room for `workers` and a few spares.
    pub(crate) fn new(
        workers: usize,
        threads: Threads,
        handler: Option<PanicHandler>,
    ) -> Arc<Self> {
        let places = if workers == 0 {
            0
        } else {
            workers + threads::FEW_SPARES
        };
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            id: new_id(),
            idle: Idle::with_workers(places),
            lanes: lanes::Lanes::new(),
            injected: Injected::default(),
            seats: Board::new(),
            driver_seats: Board::new(),
            elsewhere: Tally::default(),
            workers: AtomicUsize::new(0),
            board: Board::new(),
            pacing: Pacing::new(),
            drivers: AtomicUsize::new(0),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            registry: Registry::new(),
            handler,
            running: AtomicUsize::new(0),
            closing: AtomicBool::new(false),
            outside: Event::new(),
            outsiders: AtomicUsize::new(0),
            left_to_waits: AtomicBool::new(false),
            threads,
        })
    }

    /// The number of worker threads that the pool is to have.
    pub(crate) fn workers(&self) -> usize {
        // Ordering: Relaxed, a number that may change at any time.
        self.workers.load(Ordering::Relaxed)
    }

    /// Threads that may be busy with scopes at once before another wake is left to the guard. The waiting thread runs
    /// children too, so a pool that leaves cores free may keep one worker more busy than it would without it.
    fn cap(&self) -> usize {
        let workers = self.workers();
        workers.max((workers + 1).min(self.cores))
    }

    /// Counts a task that is being spawned.
    #[inline]
    pub(crate) fn count_spawn(&self) {
        context::with_seat_in(self, |seat| match seat {
            Some(seat) => seat.tally.spawn(),
            None => self.elsewhere.spawn_shared(),
        });
    }

    /// Counts a task whose future has been dropped.
    #[inline]
    pub(crate) fn count_end(&self) {
        context::with_seat_in(self, |seat| match seat {
            Some(seat) => seat.tally.end(),
            None => self.elsewhere.end_shared(),
        });
    }

    fn tallies(&self) -> impl Iterator<Item = &Tally> {
        // Seats that were given back keep their counts.
        self.seats
            .all()
            .chain(self.driver_seats.all())
            .map(|seat| &seat.tally)
            .chain(std::iter::once(&self.elsewhere))
    }

    /// Tasks that have not ended: at least as many as at some time during the call, and exact while nobody acts. The ends
    /// are read first, so that none is counted whose spawn is not.
    pub(crate) fn active(&self) -> usize {
        let ended = self
            .tallies()
            .map(Tally::ended)
            .fold(0, usize::wrapping_add);
        let spawned = self
            .tallies()
            .map(Tally::spawned)
            .fold(0, usize::wrapping_add);
        spawned.wrapping_sub(ended)
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
        queued.min(self.cap().saturating_sub(self.busy()))
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
                Looking::Awake => self.pacing.worth_taking() && self.busy() <= self.cap(),
                Looking::Parking => self.pacing.worth_taking() && self.busy() < self.cap(),
                Looking::ToWake => self.worth_waking(slot, true),
            };
            if worth { Offer::Ready } else { Offer::Covered }
        }
    }

    /// Wakes somebody for an item that was just made visible.
    #[inline]
    pub(crate) fn publish(&self) {
        self.idle.publish(LANE);
        self.notify_outside(1);
    }

    /// For a worker without a token, or a driver, that has moved tasks from where all could take them into its ring:
    /// while they were on the way nobody saw them.
    #[inline]
    pub(crate) fn publish_moved(&self) {
        self.idle.moved(LANE);
        self.notify_outside(1);
    }

    /// Wakes whoever is needed for `items` tasks that were just made visible.
    pub(crate) fn publish_tasks(&self, items: usize) {
        if items > 0 {
            self.idle.publish_batch(LANE, items);
            self.notify_outside(items);
        }
    }

    /// Wakes up to `count` threads that wait for a pool without workers, after a publish.
    #[inline]
    pub(crate) fn notify_outside(&self, count: usize) {
        // Ordering: Relaxed, after the publisher's fence; see `OutsideWait::listen`.
        if self.outsiders.load(Ordering::Relaxed) != 0 {
            self.outside.notify_additional(count);
        }
    }

    /// Wakes every registered task so that it is queued, and drops what is queued, until nothing
    /// is left. Called when no worker runs any more.
    pub(crate) fn drop_tasks(&self) {
        self.registry.close(|| {
            let mut dropped = false;
            while let Some(task) = self.pop_any().or_else(|| self.pop_lanes()) {
                dropped = true;
                drop(task);
            }
            dropped
        });
    }

    /// Counts a worker thread out; true if the pool is closing and this was the last.
    pub(crate) fn last_one_out(&self) -> bool {
        // Ordering: AcqRel, what the other workers did happens before the last one drops tasks.
        let last = self.running.fetch_sub(1, Ordering::AcqRel) == 1;
        // Ordering: Relaxed, raised before anybody was told to end.
        last && self.closing.load(Ordering::Relaxed)
    }

    /// The seats that may hold tasks.
    #[inline]
    pub(crate) fn every_seat(&self) -> impl Iterator<Item = &Seat> {
        self.seats.scan().chain(self.driver_seats.scan())
    }

    /// A task that lies in the ring of a worker or driver.
    #[inline]
    pub(crate) fn pop_held(&self) -> Option<Runnable> {
        // Nobody may ever have had one.
        if self.seats.high() + self.driver_seats.high() == 0 {
            return None;
        }
        self.every_seat().find_map(|seat| seat.ring.steal_one())
    }

    /// Any queued task, for a thread that is no worker or must help: what workers hold comes first, since those who
    /// wait for tasks mostly wait for their own.
    #[inline]
    pub(crate) fn pop_any(&self) -> Option<Runnable> {
        self.pop_held().or_else(|| self.pop_injected())
    }

    /// An injected task, for a thread without a ring.
    #[inline]
    fn pop_injected(&self) -> Option<Runnable> {
        let (task, others) = self.injected.take()?;
        if others {
            self.publish_moved();
        }
        Some(task)
    }
}

fn new_id() -> ExecutorId {
    terrace_sync::global! {
        static NEXT: AtomicU64 = AtomicU64::new(1);
    }
    // Ordering: Relaxed, a counter; it cannot wrap in the life of a machine.
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    ExecutorId(NonZeroU64::new(id).expect("counted from 1"))
}
