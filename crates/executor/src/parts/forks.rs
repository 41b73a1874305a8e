//! The fork seats of a pool: of each the deque of a thread that forks and joins, and what its thieves and joiners have to see.

use std::cell::Cell;
use std::ptr::NonNull;

use terrace_queue::SlotTable;
use terrace_queue::fork::{ForkDeque, Nest, Offer, Owner, Word};
use terrace_sync::OnceLock;
use terrace_sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use terrace_sync::time::Instant;

use super::pacing::Sites;
use super::scopes::Looking;
use super::{Flag, Level};
use crate::protocol::job::ScopeRoot;
use crate::protocol::publish::Sight;
use crate::tuned::{KEPT_SEATS, PUSHES};

/// A job, as a word without its type: `protocol::job::JobRef` of the one type that forks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct JobWord(NonNull<()>);

// SAFETY: it stands for a `JobRef`, which is `Send`.
unsafe impl Send for JobWord {}

// SAFETY: both casts keep address and provenance.
unsafe impl Word for JobWord {
    #[inline(always)]
    fn into_raw(self) -> *mut () {
        self.0.as_ptr()
    }

    #[inline(always)]
    unsafe fn from_raw(raw: *mut ()) -> Self {
        // SAFETY: the caller's word was a pointer that is not null.
        Self(unsafe { NonNull::new_unchecked(raw) })
    }
}

impl JobWord {
    /// The word of a job.
    #[inline(always)]
    pub(crate) fn of(job: impl Word) -> Self {
        // SAFETY: a job is a pointer to a frame.
        unsafe { Self::from_raw(job.into_raw()) }
    }

    /// The job of this word.
    ///
    /// # Safety
    /// The word was made of a job of type `J`.
    #[inline(always)]
    pub(crate) unsafe fn typed<J: Word>(self) -> J {
        // SAFETY: it came out of `into_raw` of this type (the caller's promise).
        unsafe { J::from_raw(self.into_raw()) }
    }
}

/// The deque of a seat.
pub(crate) type Deque = ForkDeque<JobWord>;

/// The seat of one thread at a time. It lies in a table of the pool, so that thieves may look into it at any time.
pub(crate) struct ForkSeat<P> {
    pub(crate) deque: Box<Deque>,
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
    /// Whether its thread sleeps in a join; a hint for reports.
    pub(crate) asleep: Flag,
    /// The pool that holds the table.
    pool: *const P,
    /// The seat that the thread forked in before it took this one, or null. The thread's alone, as `mine`.
    pub(crate) outer: Cell<*const ForkSeat<P>>,
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
    /// The innermost root.
    pub(crate) root: Cell<Option<JobWord>>,
    /// Whether the thread is inside of a stolen half of a join.
    pub(crate) migrated: Cell<bool>,
}

// SAFETY: `mine`, and the owner's handle of the deque, are for the thread that holds the seat. It takes the seat after the one
// before gave it back, which `Forks::enter` orders. `pool` is the pool that holds the table, and `Sync`.
unsafe impl<P: Sync> Sync for ForkSeat<P> {}
// SAFETY: as above; the seat itself stays in its table.
unsafe impl<P: Sync> Send for ForkSeat<P> {}

impl<P> ForkSeat<P> {
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
    pub(crate) unsafe fn owner(&self) -> Owner<'_, JobWord> {
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

/// The fork seats of a pool `P`: of workers that have forked, and of guests.
pub(crate) struct Forks<P> {
    /// The seats. Each is made when the first thread takes it.
    places: SlotTable<OnceLock<Box<ForkSeat<P>>>, 1>,
    /// How long joins take.
    pub(crate) sites: Sites,
    /// Guests that have come so far, wrapping.
    entries: AtomicUsize,
    /// Threads that sleep in a join.
    pub(crate) waiting: Level,
}

/// Whether a thread that may fork at any moment counts as work that is covered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Future {
    /// It does: a sentinel has to watch.
    Counts,
    /// It does not: the looker takes jobs, and watches for none.
    Ignored,
}

impl<P: Sync> Forks<P> {
    /// No seat.
    pub(crate) fn new() -> Self {
        Self {
            places: SlotTable::default(),
            sites: Sites::new(),
            entries: AtomicUsize::new(0),
            waiting: Level::default(),
        }
    }

    /// Takes a free seat for the calling thread. One read-modify-write, and a lock besides where no seat is kept. The first thread in
    /// a seat allocates its deque.
    pub(crate) fn enter(&self, pool: *const P, by: By) -> &ForkSeat<P> {
        let number = self.places.acquire_kept();
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
    pub(crate) fn leave(&self, seat: &ForkSeat<P>) {
        seat.leave();
        if seat.number < KEPT_SEATS {
            self.places.keep(seat.number);
        } else {
            self.places.release(seat.number);
        }
    }

    /// The seat with this number, if a thread has ever taken it.
    #[inline]
    pub(crate) fn seat(&self, number: usize) -> Option<&ForkSeat<P>> {
        self.places.get(number)?.get().map(Box::as_ref)
    }

    /// One past the highest seat that may be taken.
    #[inline]
    pub(crate) fn bound(&self) -> usize {
        self.places.high()
    }

    /// The seats that may be taken.
    #[inline]
    pub(crate) fn seats(&self) -> impl Iterator<Item = &ForkSeat<P>> {
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
        self.seats().any(|seat| seat.deque.has_jobs(Offer::Quiet))
    }

    /// Whether the calling thread has forked a job that is still queued.
    pub(crate) fn has_job_of_this_thread(&self) -> bool {
        self.seats()
            .any(|seat| seat.is_here() && seat.deque.has_jobs(Offer::Quiet))
    }

    /// What a look shows to a thread that takes jobs of an offer that is at least `least`. Valid after a fence.
    #[inline]
    pub(crate) fn sight(&self, looking: Looking, least: Offer, future: Future) -> Sight {
        let mut most = Sight::Nothing;
        for seat in self.seats() {
            if looking != Looking::ToWake && seat.is_here() {
                continue;
            }
            // In a sandbox the owner has to give: it tells the sleepers then, as it was asked.
            if seat.deque.has_jobs(least) && seat.deque.is_takeable() {
                return Sight::Ready;
            }
            let forking = future == Future::Counts && seat.is_forking();
            if forking || seat.deque.has_jobs(Offer::Quiet) {
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
