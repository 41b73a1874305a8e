//! The fork seats of a pool: of each the deque of a thread that forks and joins, and what its thieves and joiners have to see.

use std::cell::Cell;

use terrace_queue::SlotTable;
use terrace_queue::fork::{ForkDeque, Nest, Offer, Owner, Word};
use terrace_sync::OnceLock;
use terrace_sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use terrace_sync::time::Instant;

use super::Flag;
use super::pacing::Sites;
use super::scopes::Looking;
use crate::protocol::job::ScopeRoot;
use crate::protocol::publish::Sight;
use crate::tuned::PUSHES;

/// The seat of one thread at a time, for jobs of type `J`. It lies in a table of the pool, so that thieves may look into it at any time.
pub(crate) struct ForkSeat<P, J> {
    pub(crate) deque: Box<ForkDeque<J>>,
    /// The roots of its thread. `None` where the seat's number is too large.
    pub(crate) nest: Option<Nest>,
    /// The innermost root that is a child of a `ForkScope`.
    pub(crate) scope_root: ScopeRoot,
    pub(crate) number: usize,
    /// Whether its thread may push a job without telling a sleeper: a sentinel or the watch has to look. Only the thread changes it.
    forking: Flag,
    /// The thread that holds it, by its id; 0 while none does.
    thread: AtomicU64,
    /// Which kind of thread holds it: [`By`].
    by: AtomicU32,
    /// Whether its thread sleeps in a join; a hint.
    pub(crate) asleep: Flag,
    /// The pool that holds the table.
    pool: *const P,
    /// The seat that the thread forked in before it took this one, or null. The thread's alone, as `mine`.
    pub(crate) outer: Cell<*const ForkSeat<P, J>>,
    /// The innermost root. The thread's alone, as `mine`.
    pub(crate) root: Cell<Option<J>>,
    pub(crate) mine: Mine,
}

/// An inline half whose length is being measured.
#[derive(Clone, Copy)]
pub(crate) struct Timed {
    /// The call-site of its join.
    pub(crate) site: usize,
    /// How many joins are open around it.
    pub(crate) level: u32,
    pub(crate) since: Instant,
}

/// What the thread of a seat knows.
#[derive(Default)]
pub(crate) struct Mine {
    /// Whether a sleep has taken `forking` down that is to go up again.
    paused: Cell<bool>,
    /// The inline half that is being timed.
    pub(crate) timed: Cell<Option<Timed>>,
    /// The first look at a clock since the deque was empty.
    pub(crate) since: Cell<Option<Instant>>,
    /// The last one.
    pub(crate) looked: Cell<Option<Instant>>,
    /// Pushes between two looks.
    pub(crate) pushes: Cell<u32>,
    /// Whether the thread is inside of a stolen half of a join.
    pub(crate) migrated: Cell<bool>,
}

// SAFETY: `mine`, `outer`, `root` and the owner's handle of the deque are for the thread that holds the seat. It takes the seat after the
// one before gave it back, which `Forks::enter` orders. Other threads take jobs out of the deque, hence `J: Send`. `pool` is the pool that
// holds the table, and `Sync`.
unsafe impl<P: Sync, J: Send> Sync for ForkSeat<P, J> {}
// SAFETY: as above; the seat itself stays in its table.
unsafe impl<P: Sync, J: Send> Send for ForkSeat<P, J> {}

impl<P, J: Word> ForkSeat<P, J> {
    fn new(pool: *const P, number: usize) -> Self {
        Self {
            deque: ForkDeque::boxed(),
            nest: Nest::of_seat(number),
            scope_root: ScopeRoot::default(),
            number,
            forking: Flag::default(),
            thread: AtomicU64::new(0),
            by: AtomicU32::new(By::Worker as u32),
            asleep: Flag::default(),
            pool,
            outer: Cell::new(std::ptr::null()),
            root: Cell::new(None),
            mine: Mine::default(),
        }
    }

    /// The pool.
    #[inline]
    pub(crate) fn pool(&self) -> &P {
        // SAFETY: the pool holds the table that holds this seat, so it lives as long as the seat.
        unsafe { &*self.pool }
    }

    /// Whether this is a seat of `pool`.
    #[inline]
    pub(crate) fn is_of(&self, pool: *const P) -> bool {
        std::ptr::eq(self.pool, pool)
    }

    /// The owner's side of the deque.
    ///
    /// # Safety
    /// The calling thread holds the seat.
    #[inline(always)]
    pub(crate) unsafe fn owner(&self) -> Owner<'_, J> {
        // SAFETY: one thread holds the seat, and handles are not `Sync`. `Forks::enter` orders threads that change.
        unsafe { self.deque.owner() }
    }

    /// The calling thread takes the seat.
    pub(super) fn enter(&self, by: By) {
        // Ordering: Relaxed, a hint.
        self.by.store(by as u32, Ordering::Relaxed);
        // Ordering: Relaxed, a thread that compares it looks for itself.
        self.thread
            .store(terrace_thread::id().get(), Ordering::Relaxed);
        self.mine.pushes.set(PUSHES);
    }

    /// The calling thread gives the seat back.
    pub(super) fn leave(&self) {
        self.rest();
        self.mine.timed.set(None);
        self.thread.store(0, Ordering::Relaxed);
    }

    /// Whether the calling thread holds the seat.
    #[inline]
    pub(crate) fn is_here(&self) -> bool {
        self.thread.load(Ordering::Relaxed) == terrace_thread::id().get()
    }

    /// The id of the thread that holds it; 0 while none does.
    pub(crate) fn thread(&self) -> u64 {
        // Ordering: Relaxed, a hint.
        self.thread.load(Ordering::Relaxed)
    }

    /// Whether its thread may push a job without telling a sleeper. Valid after a fence.
    #[inline]
    pub(crate) fn is_forking(&self) -> bool {
        // Ordering: Relaxed; a thread that must not miss it has fenced.
        self.forking.get()
    }

    /// Which kind of thread holds it, or held it last.
    #[inline]
    pub(crate) fn by(&self) -> By {
        // Ordering: Relaxed, a hint.
        By::of(self.by.load(Ordering::Relaxed))
    }

    /// The thread is going to push without telling. True if it has to tell now: then it fences, and looks for a sentinel.
    #[inline]
    pub(crate) fn begins_forking(&self) -> bool {
        let begins = !self.is_forking();
        if begins {
            // Ordering: Relaxed, the fence of the publish that follows orders it.
            self.forking.set(true);
        }
        begins
    }

    /// The thread runs no code that may push: the worker is about to park, or the thread gives the seat back.
    #[inline]
    pub(crate) fn rest(&self) {
        if self.is_forking() {
            // Ordering: Relaxed. A reader that sees the old value looks in vain.
            self.forking.set(false);
            // A gift, or a theft, may have emptied the deque without a pop. The owner's next push would then be a hot one, and tell
            // no thread.
            // SAFETY: the calling thread holds the seat.
            unsafe { self.owner() }.consider_next();
        }
    }

    /// The thread is about to sleep in a wait.
    pub(crate) fn pause(&self) {
        self.mine.paused.set(self.is_forking());
        self.rest();
    }

    /// The sleep has ended. True if the thread has to tell now, as in [`begins_forking`](Self::begins_forking). With an empty
    /// deque it tells at its next push.
    pub(crate) fn resume(&self) -> bool {
        self.mine.paused.replace(false) && !self.deque.is_empty() && self.begins_forking()
    }
}

/// Which thread takes a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum By {
    /// A worker of the pool.
    Worker,
    /// A thread that stands in for one: the sleeping protocol counts it.
    StandIn,
    /// Any other thread.
    Guest,
}

impl By {
    fn of(word: u32) -> Self {
        match word {
            0 => Self::Worker,
            1 => Self::StandIn,
            _ => Self::Guest,
        }
    }
}

/// The fork seats of a pool `P`, for jobs of type `J`: of workers that have forked, and of guests.
pub(crate) struct Forks<P, J> {
    /// The seats. Each is made when the first thread takes it.
    places: SlotTable<OnceLock<Box<ForkSeat<P, J>>>, 1>,
    /// How long joins take.
    pub(crate) sites: Sites,
    /// Guests that have come so far, wrapping.
    entries: AtomicUsize,
}

impl<P: Sync, J: Word + Send> Forks<P, J> {
    /// No seat.
    pub(crate) fn new() -> Self {
        Self {
            places: SlotTable::default(),
            sites: Sites::new(),
            entries: AtomicUsize::new(0),
        }
    }

    /// Takes a free seat for the calling thread. One lock. The first thread in a seat allocates its deque.
    pub(crate) fn enter(&self, pool: *const P, by: By) -> &ForkSeat<P, J> {
        let number = self.places.acquire();
        let place = self.places.get(number).expect("it was acquired");
        let seat = place.get_or_init(|| Box::new(ForkSeat::new(pool, number)));
        seat.enter(by);
        // Ordering: Relaxed, a hint for sentinels, which may miss one of two that come at once.
        let entries = self.entries.load(Ordering::Relaxed);
        self.entries
            .store(entries.wrapping_add(1), Ordering::Relaxed);
        seat
    }

    /// Gives back the seat of the calling thread.
    pub(crate) fn leave(&self, seat: &ForkSeat<P, J>) {
        seat.leave();
        self.places.release(seat.number);
    }

    /// The seat with this number, if a thread has ever taken it.
    #[inline]
    pub(crate) fn seat(&self, number: usize) -> Option<&ForkSeat<P, J>> {
        self.places.get(number)?.get().map(Box::as_ref)
    }

    /// One past the highest seat that may be taken.
    #[inline]
    pub(crate) fn bound(&self) -> usize {
        self.places.high()
    }

    /// The seats that may be taken.
    #[inline]
    pub(crate) fn seats(&self) -> impl Iterator<Item = &ForkSeat<P, J>> {
        let made = self.places.scan().filter_map(OnceLock::get);
        made.map(Box::as_ref)
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
        let counts = |seat: &&ForkSeat<P, J>| {
            seat.by() == By::Guest && seat.is_forking() && seat.deque.is_in_use()
        };
        self.seats().filter(counts).count()
    }

    /// Whether a thread that is no worker forks and does not sleep; a hint.
    pub(crate) fn any_foreign(&self) -> bool {
        self.seats()
            .any(|seat| seat.by() != By::Worker && seat.is_forking())
    }

    /// Whether a thread sleeps in a join; a hint.
    pub(crate) fn any_asleep(&self) -> bool {
        self.seats().any(|seat| seat.asleep.get())
    }

    /// Whether a job lies in any seat.
    pub(crate) fn any_job(&self) -> bool {
        self.seats().any(|seat| seat.deque.has_jobs(Offer::Quiet))
    }

    /// Whether the calling thread has forked a job that is still queued.
    pub(crate) fn has_job_of_this_thread(&self) -> bool {
        self.seats()
            .any(|seat| seat.is_here() && seat.deque.has_jobs(Offer::Quiet))
    }

    /// What a look shows to a thread that takes jobs of an offer that is at least `least`. One that leaves quiet jobs to their owners has to
    /// watch these, and threads that may fork at any moment. Valid after a fence.
    #[inline]
    pub(crate) fn sight(&self, looking: Looking, least: Offer) -> Sight {
        let watches = least > Offer::Quiet && looking != Looking::InWait;
        let is_own = matches!(looking, Looking::Awake | Looking::Parking);
        let mut most = Sight::Nothing;
        for seat in self.seats() {
            if is_own && seat.is_here() {
                continue;
            }
            // In a sandbox the owner has to give: it tells the sleepers then, as it was asked.
            if seat.deque.has_jobs(least) && seat.deque.is_takeable() {
                return Sight::Ready;
            }
            if (watches && seat.is_forking()) || seat.deque.has_jobs(Offer::Quiet) {
                most = Sight::Covered;
            }
        }
        most
    }
}
