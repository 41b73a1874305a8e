//! The fork seats of a pool, and what a look at them shows.

use terrace_queue::fork::Offer;
use terrace_sync::atomic::{AtomicUsize, Ordering};

use super::fork_seat::{By, ForkPlace, ForkSeat};
use super::fork_sites::Sites;
use super::slot_table::SlotTable;
use crate::protocol::fork::kept::Kept;
use crate::protocol::sight::Sight;
use crate::tuned::KEPT_SEATS;

/// The fork seats of a pool `P`: of workers that have forked, and of guests.
pub(crate) struct Forks<P> {
    places: SlotTable<ForkPlace<P>, 1>,
    /// A seat that a thread gave back and that stays open for the next thread.
    kept: Kept,
    /// How long joins take.
    pub(crate) sites: Sites,
    /// Guests that have come so far, wrapping.
    entries: AtomicUsize,
    /// Threads that sleep in a join.
    waiting: AtomicUsize,
}

/// Which forks a look is about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Those of all seats.
    All,
    /// Those of all seats but the calling thread's.
    Others,
}

/// Whether a thread that may fork at any moment counts as work that is covered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Future {
    /// It does: a sentinel has to watch.
    Counts,
    /// It does not: the looker takes jobs, and watches for none.
    Ignored,
}

impl<P> Forks<P> {
    /// No seat.
    pub(crate) fn new() -> Self {
        Self {
            places: SlotTable::default(),
            kept: Kept::default(),
            sites: Sites::new(),
            entries: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Takes a free seat for the calling thread. One read-modify-write, and a lock besides where no seat is kept. The first thread in
    /// a seat allocates its deque.
    pub(crate) fn enter(&self, pool: *const P, by: By) -> &ForkSeat<P> {
        let number = self.kept.take().unwrap_or_else(|| self.places.acquire());
        let place = self.places.get(number).expect("it was acquired");
        let seat = place.make(pool, number);
        seat.enter(by);
        // Ordering: Relaxed, a hint for sentinels, which may miss one of two that come at once.
        let entries = self.entries.load(Ordering::Relaxed);
        self.entries
            .store(entries.wrapping_add(1), Ordering::Relaxed);
        seat
    }

    /// Gives back the seat of the calling thread.
    pub(crate) fn leave(&self, seat: &ForkSeat<P>) {
        seat.leave();
        if seat.number >= KEPT_SEATS || !self.kept.keep(seat.number) {
            self.places.release(seat.number);
        }
    }

    /// The seat with this number, if a thread has ever taken it.
    #[inline]
    pub(crate) fn seat(&self, number: usize) -> Option<&ForkSeat<P>> {
        self.places.get(number)?.seat()
    }

    /// One past the highest seat that may be taken.
    #[inline]
    pub(crate) fn bound(&self) -> usize {
        self.places.high()
    }

    /// The seats that may be taken.
    #[inline]
    pub(crate) fn seats(&self) -> impl Iterator<Item = &ForkSeat<P>> {
        self.places.scan().filter_map(ForkPlace::seat)
    }

    /// A number that changes when a guest has come.
    pub(crate) fn entries(&self) -> usize {
        // Ordering: Relaxed, a hint.
        self.entries.load(Ordering::Relaxed)
    }

    /// Whether a thread may push a job without telling a sleeper. Valid after a fence.
    #[inline]
    pub(crate) fn any_forking(&self) -> bool {
        self.seats().any(ForkSeat::is_forking)
    }

    /// Guests in the middle of a join that do not sleep, beside threads that stand in for workers; a hint.
    pub(crate) fn guests(&self) -> usize {
        let counts = |seat: &&ForkSeat<P>| {
            seat.by() == By::Guest && seat.is_forking() && seat.deque.is_in_use()
        };
        self.seats().filter(counts).count()
    }

    /// Whether a thread that is no worker forks and does not sleep; a hint.
    pub(crate) fn any_foreign(&self) -> bool {
        self.seats()
            .any(|seat| seat.by() != By::Worker && seat.is_forking())
    }

    /// Whether a job lies in any seat.
    pub(crate) fn any_job(&self) -> bool {
        self.seats().any(|seat| seat.has_jobs(Offer::Quiet))
    }

    /// Whether the calling thread has forked a job that is still queued.
    pub(crate) fn has_job_of_this_thread(&self) -> bool {
        self.seats()
            .any(|seat| seat.is_here() && seat.has_jobs(Offer::Quiet))
    }

    /// A thread begins or ends a sleep in a join.
    pub(crate) fn count_waiting(&self, sleeps: bool) {
        // Ordering: Relaxed, a hint for the watch.
        if sleeps {
            self.waiting.fetch_add(1, Ordering::Relaxed);
        } else {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Whether a thread sleeps in a join.
    pub(crate) fn has_waiter(&self) -> bool {
        // Ordering: Relaxed, a hint.
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// What a look shows to a thread that takes jobs of an offer that is at least `least`. Valid after a fence.
    #[inline]
    pub(crate) fn sight(&self, whose: Whose, least: Offer, future: Future) -> Sight {
        let mut most = Sight::Nothing;
        for seat in self.seats() {
            if whose == Whose::Others && seat.is_here() {
                continue;
            }
            // In a sandbox the owner has to give: it tells the sleepers then, as it was asked.
            if seat.has_jobs(least) && seat.deque.is_takeable() {
                return Sight::Ready;
            }
            let forking = future == Future::Counts && seat.is_forking();
            if forking || seat.has_jobs(Offer::Quiet) {
                most = Sight::Covered;
            }
        }
        most
    }

    /// The seats that have a job: the number of each, and a number that changes when the oldest job does.
    pub(crate) fn jobs(&self) -> impl Iterator<Item = (usize, u64)> {
        self.seats()
            .filter_map(|seat| Some((seat.number, seat.deque.look()?)))
    }
}
