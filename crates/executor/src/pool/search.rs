//! Where a worker looks for work, in which order, and what counts as takeable for its sleep.

use terrace_local::task::Runnable;
use terrace_park::Work;
use terrace_queue::{Owner, Ring};
use terrace_sync::atomic::Ordering;

use super::lanes::Lane;
use super::seat::Seat;
use super::turns::Turns;
use super::worker::{Worker, run_task};
use super::{Looking, Offer, Shared, context};
use crate::scope::slot::Slot;

/// Tasks that one visit to the injector may bring home.
const INJECTOR_BATCH: usize = 32;

/// What a search found.
pub(crate) enum Found<'a> {
    /// A task of the pool.
    Task(Runnable),
    /// A task of a lane that is not the normal one; if it is the background lane, with the permit to run it.
    Lane(Runnable, Lane),
    /// A child of a scope, and its slot.
    Child(Runnable, &'a Slot),
}

/// What may be taken, as the sleeping protocol sees it.
pub(crate) struct Scan<'a> {
    pub(crate) pool: &'a Shared,
    pub(crate) looking: Looking,
    /// The worker who looks, if it could not run foreign work even as the last resort: it passes that on.
    pub(crate) exhausted: Option<usize>,
    /// Whether the end of the pool is a reason to wake: not for a worker in the middle of a job.
    pub(crate) heeds_closing: bool,
}

impl Found<'_> {
    /// Runs it.
    pub(crate) fn run(self, pool: &Shared) {
        match self {
            Found::Task(task) | Found::Child(task, _) => run_task(task),
            Found::Lane(task, lane) => {
                context::in_lane(lane, || run_task(task));
                if lane == Lane::Background {
                    pool.give_permit_back();
                }
            }
        }
    }
}

/// A task that was taken out of a shared queue or a peer's ring, and whether others came with it.
pub(super) fn moved<'a>(task: Runnable, ring: &Owner<'_, Runnable>) -> (Option<Found<'a>>, bool) {
    (Some(Found::Task(task)), !ring.ring().is_empty())
}

/// Half of what lies in `ring`: the oldest task, and the others in the thief's own ring.
pub(super) fn steal_half(ring: &Ring<Runnable>, own: &Owner<'_, Runnable>) -> Option<Runnable> {
    let task = ring.steal_into(own)?;
    terrace_trace::steal(context::index(), 1 + own.ring().len());
    Some(task)
}

impl Shared {
    /// What a worker or driver looks for before its own ring: the high lane, but every [`GLOBAL_INTERVAL`](super::turns::GLOBAL_INTERVAL)th turn the
    /// injector, the background lane, or what a peer does not come to.
    fn find_first(&self, ring: &Owner<'_, Runnable>, turns: &Turns) -> (Option<Found<'_>>, bool) {
        if !turns.is_others() {
            return (self.pop_high(), false);
        }
        // Now this, now that, so that none keeps the others waiting for ever; the own ring is looked at next.
        match turns.random(4) {
            0 | 1 => match self.injected.take_into(ring, 1) {
                Some(task) => moved(task, ring),
                None => (None, false),
            },
            2 => (self.pop_background(), false),
            _ => self.relieve(ring, turns),
        }
    }

    /// The next piece of work for a worker: high lane, slot, own ring, injector, scopes, peers, background lane; after each
    /// round of the ring the injector before it, and every [`GLOBAL_INTERVAL`](super::turns::GLOBAL_INTERVAL)th turn some other one of these first. A
    /// spare looks at its peers before the injector. The second value: whether more was moved into the ring, which a
    /// worker without a token then publishes.
    pub(crate) fn find(&self, worker: &Worker) -> (Option<Found<'_>>, bool) {
        let ring = &worker.ring();
        let first = self.find_first(ring, &worker.turns);
        if first.0.is_some() {
            return first;
        }
        if let Some(task) = worker.pop_woken() {
            return (Some(Found::Task(task)), false);
        }
        // The slot again: it may be all there is.
        let queued = || ring.pop().or_else(|| worker.pop_woken());
        if worker.is_spare() {
            // What the waiting workers hold comes first: it is mostly what they wait for.
            if let Some(task) = queued() {
                return (Some(Found::Task(task)), false);
            }
            if let Some(task) = self.steal_task(ring, &worker.turns) {
                return moved(task, ring);
            }
            if let Some(child) = self.steal_child() {
                return (Some(child), false);
            }
            return match self.injected.take_into(ring, 1) {
                Some(task) => moved(task, ring),
                None => (self.pop_background(), false),
            };
        }
        if let Some(task) = self.pop_in_round(ring, &worker.turns) {
            return moved(task, ring);
        }
        if let Some(task) = queued() {
            return (Some(Found::Task(task)), false);
        }
        if let Some(task) = self.pop_injector(ring) {
            return moved(task, ring);
        }
        if let Some(child) = self.steal_child() {
            return (Some(child), false);
        }
        match self.steal_task(ring, &worker.turns) {
            Some(task) => moved(task, ring),
            None => (self.pop_background(), false),
        }
    }

    /// The next piece of work for the driver that holds `ring`: as for a worker, but it takes children whatever they are
    /// worth, since no guard watches for drivers. The second value: whether more was moved into `ring`, which is then to
    /// be published, as a driver owns no token.
    pub(crate) fn find_for_driver(
        &self,
        ring: &Owner<'_, Runnable>,
        turns: &Turns,
    ) -> (Option<Found<'_>>, bool) {
        let first = self.find_first(ring, turns);
        if first.0.is_some() {
            return first;
        }
        if let Some(task) = self.pop_in_round(ring, turns) {
            return moved(task, ring);
        }
        if let Some(task) = ring.pop() {
            return (Some(Found::Task(task)), false);
        }
        let found = self
            .pop_injector(ring)
            .or_else(|| self.steal_task(ring, turns));
        match found {
            Some(task) => moved(task, ring),
            None => {
                let found = self.any_child().or_else(|| self.pop_background());
                (found.or_else(|| self.pop_woken()), false)
            }
        }
    }

    /// The next task of the own ring, where nothing else has a turn before: what [`find`](Self::find) would find there, for
    /// less.
    #[inline]
    pub(crate) fn pop_own(&self, ring: &Owner<'_, Runnable>, turns: &Turns) -> Option<Runnable> {
        if !self.is_own_turn(turns) {
            return None;
        }
        let task = ring.pop()?;
        turns.ring_ran();
        Some(task)
    }

    /// Whether nothing has a turn before the slot and the ring of who has these `turns`.
    #[inline]
    pub(crate) fn is_own_turn(&self, turns: &Turns) -> bool {
        turns.are_own() && self.lanes.high.is_empty()
    }

    /// After each round of the ring, however short, those who wait in the injector have their turn: so a task there waits
    /// for one round, or [`GLOBAL_INTERVAL`](super::turns::GLOBAL_INTERVAL) turns, for each batch before it, and one in the ring for one batch a round.
    #[inline]
    fn pop_in_round(&self, ring: &Owner<'_, Runnable>, turns: &Turns) -> Option<Runnable> {
        if !turns.round_is_over(|| ring.ring().len()) {
            return None;
        }
        self.pop_injector(ring)
    }

    /// The oldest task in the injector; a few more go into the ring, where they wait behind those that are there.
    fn pop_injector(&self, ring: &Owner<'_, Runnable>) -> Option<Runnable> {
        if self.injected.is_empty() {
            return None;
        }
        // As many as everybody can have, and few enough for the ring not to overflow right away; or one parcel.
        let share = self.injected.len_hint() / self.all_seats() + 1;
        let room = (Ring::<Runnable>::CAPACITY - ring.ring().len()) / 2 + 1;
        let max = share.min(room).min(INJECTOR_BATCH);
        self.injected.take_into(ring, max)
    }

    /// Seats of workers and drivers, at least one.
    fn all_seats(&self) -> usize {
        (self.seats.high() + self.driver_seats.high()).max(1)
    }

    /// A seat by its number: first those of workers, of which there are so many, then those of drivers.
    pub(super) fn seat_at(&self, workers: usize, number: usize) -> Option<&Seat> {
        match number.checked_sub(workers) {
            None => self.seats.get(number),
            Some(driver) => self.driver_seats.get(driver),
        }
    }

    /// A child of a scope whose list is ready for a worker.
    fn steal_child(&self) -> Option<Found<'_>> {
        self.board.scan().find_map(|slot| {
            if self.offer(slot, Looking::Awake) != Offer::Ready {
                return None;
            }
            slot.core().steal().map(|child| Found::Child(child, slot))
        })
    }

    /// Half of what some other seat holds, from a random one on.
    fn steal_task(&self, own: &Owner<'_, Runnable>, turns: &Turns) -> Option<Runnable> {
        // Once, or a seat that comes meanwhile would shift the others.
        let workers = self.seats.high();
        let all = workers + self.driver_seats.high();
        let start = turns.random(all);
        (start..all).chain(0..start).find_map(|i| {
            let ring = &self.seat_at(workers, i)?.ring;
            if ring.is_empty() || std::ptr::eq(ring, own.ring()) {
                return None;
            }
            steal_half(ring, own)
        })
    }

    /// A child of any scope.
    fn any_child(&self) -> Option<Found<'_>> {
        self.board
            .scan()
            .find_map(|slot| slot.core().steal().map(|child| Found::Child(child, slot)))
    }

    /// Any task or child at all: for a driver without a ring, for a thread that is no worker and waits for a pool
    /// without workers, or for one that must help because no other thread can.
    pub(crate) fn find_any(&self) -> Option<Found<'_>> {
        self.pop_high()
            .or_else(|| self.pop_any().map(Found::Task))
            .or_else(|| self.find_unqueued())
    }

    /// The same where neither the high lane nor a ring nor the injector has anything.
    pub(crate) fn find_unqueued(&self) -> Option<Found<'_>> {
        self.any_child()
            .or_else(|| self.pop_background())
            .or_else(|| self.pop_woken())
    }

    /// What lies in the slot of some worker: for those for whom no guard watches.
    fn pop_woken(&self) -> Option<Found<'_>> {
        let mut seats = self.seats.scan();
        seats.find_map(|seat| seat.woken.take()).map(Found::Task)
    }

    /// Whether the slot of some worker is full.
    pub(crate) fn has_woken(&self) -> bool {
        self.seats.scan().any(|seat| !seat.woken.is_empty())
    }

    /// Whether `find_any` would find something.
    pub(crate) fn has_any(&self) -> bool {
        self.has_tasks() || self.board.scan().any(|slot| !slot.core().is_empty())
    }

    /// Whether a task lies where any worker could take it.
    pub(crate) fn has_tasks(&self) -> bool {
        !self.injected.is_empty()
            || !self.lanes.high.is_empty()
            || self.every_seat().any(|seat| !seat.ring.is_empty())
            || self.has_background()
    }
}

impl Work for Scan<'_> {
    fn takeable(&self, _lanes: u32) -> bool {
        if let Some(worker) = self.exhausted {
            // Asked only while every live worker waits, this one included: the other finds itself the last resort.
            if self.finds_something() {
                self.pool.idle.release_other(worker);
            }
            return false;
        }
        self.finds_something()
    }

    fn inlet(&self, worker: usize) -> bool {
        // Ordering: Relaxed, looked at after a fence; see `Pool::close`.
        terrace_thread::has_work()
            || (self.heeds_closing
                && (self.pool.closing.load(Ordering::Relaxed) || self.pool.is_asked_to_end(worker)))
    }
}

impl Scan<'_> {
    fn finds_something(&self) -> bool {
        let pool = self.pool;
        if pool.has_tasks() {
            return true;
        }
        let mut slots = pool.seats.scan();
        if slots.any(|seat| seat.woken.is_takeable(&pool.idle)) {
            return true;
        }
        let mut covered = false;
        for slot in pool.board.scan() {
            match pool.offer(slot, self.looking) {
                Offer::Ready => return true,
                Offer::Covered => covered = true,
                Offer::Empty => {}
            }
        }
        // Work that a guard is to watch needs one.
        covered && !pool.idle.has_guard()
    }
}
