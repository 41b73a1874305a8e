//! Joins on the threads of a pool: push, pop, and the wait for a half that was stolen.
//!
//! A joiner runs what lies inside of the stolen half, and nothing else of the pool: `terrace_queue::fork::Nest` says how it tells.
//! So a lock that it holds across the join stands in the way of no foreign job, and its stack grows no deeper than that of the
//! serial program.
//!
//! # Which thread a forking thread tells of a job
//!
//! When a thread that forks tells others of its jobs, and how often it asks itself.
//!
//! | a push                                           | the jobs are for                 | it tells                                           |
//! |--------------------------------------------------|----------------------------------|----------------------------------------------------|
//! | the first into an empty deque, its site is long  | any thread; it is given away     | a worker, if a processor is free; the joiner       |
//! | the first, its site is fair                      | any thread; it is given away     | the joiner                                         |
//! | the first, its site is tiny, a worker sleeps     | a sentinel, if they stand still  | no thread                                          |
//! | the first, its site is tiny, no worker sleeps    | any thread                       | no thread                                          |
//! | a later one, no worker sleeps                    | any thread                       | no thread                                          |
//! | a later one, within [`CALL`] of the first look   | a sentinel, if they stand still  | no thread                                          |
//! | a later one                                      | any thread                       | a worker, if a processor is free; the joiner       |
//! | the first since the thread has come or slept     | as above                         | at least that it forks from now on                 |
//!
//! A thread is told if it sleeps. "The joiner" is that of the root that the thread is inside of. If it goes to sleep in the middle of a
//! push that is for any thread, it is told, too.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use terrace_queue::fork::{Consider, Considered, Depth, Gives, Nest, Offer, Pace, Popped, Root};
use terrace_sync::time::Instant;
use terrace_sync::{Arc, OnceLock};
use terrace_thread::Notify;
use terrace_trace::{Span, inside};

use super::stand_in;
use super::threadless::Drives;
use super::wait::{WaitFor, wait};
use crate::guard::Bomb;
use crate::parts::forks::{By, Timed};
use crate::parts::pacing::Length;
use crate::pool::fork::{Claimed, Guest, Job, Seat, Worker, innermost, innermost_or_new, seat_in};
use crate::pool::{Shared, runner};
use crate::protocol::job::{self, Forker, Header};
use crate::tuned::{CALL, CHAIN, PUSHES, WAKE};
use crate::work::source::asking;

impl Forker for Worker {
    type Sleeper = Arc<dyn Notify>;

    #[inline(always)]
    fn push(&self, job: Job) -> Option<Depth> {
        self.owner()?.push(job, Considers::new(self, job)).ok()
    }

    #[inline(always)]
    unsafe fn pop(&self, at: Depth) -> Popped {
        // SAFETY: a push has succeeded, so there is a deque.
        let owner = unsafe { self.owner().unwrap_unchecked() };
        // SAFETY: the contract of this function is that of the other.
        unsafe { owner.pop_and(at, |level| emptied(self, level)) }
    }

    fn wait(&self, job: &Header<Self>) {
        let Some(seat) = self.seat() else { return };
        // Beside `own`, which the wait borrows exclusively, as the thief may read it at any time. Dropped after `bomb`.
        let sleeper = OnceLock::new();
        let bomb = Bomb("in the wait of a join, while another thread runs a half of it");
        let mut own = Stolen {
            seat,
            job,
            sleeper: &sleeper,
            around: false,
        };
        while !own.is_done() && own.run_one() {}
        if !own.is_done() {
            let _inside = inside(Span::Join);
            wait(&mut own, Drives::Nothing);
        }
        if let Some(nest) = &seat.nest {
            nest.set_wait(None);
        }
        mem::forget(bomb);
    }
}

/// What the joiner of a stolen half waits for.
struct Stolen<'f> {
    seat: &'f Seat,
    job: &'f Header<Worker>,
    sleeper: &'f OnceLock<Arc<dyn Notify>>,
    /// Whether the seat's thread sleeps in a join around this one, too: it may help out of its sleep.
    around: bool,
}

impl Stolen<'_> {
    /// The first thing that `look` finds at a seat whose thread is inside of the half.
    fn find<T>(&self, look: impl Fn(&Seat, &Nest, Root) -> Option<T>) -> Option<T> {
        find_inside(self.seat.pool(), self.job.thief()?, look)
    }
}

/// The first thing that `look` finds at a seat whose thread is inside of `root`, from that of the root on.
pub(crate) fn find_inside<T>(
    pool: &Shared,
    mut root: Root,
    look: impl Fn(&Seat, &Nest, Root) -> Option<T>,
) -> Option<T> {
    for _ in 0..CHAIN {
        let seat = pool.forks.seat(root.seat())?;
        let nest = seat.nest.as_ref()?;
        if let Some(found) = look(seat, nest, root) {
            return Some(found);
        }
        root = nest.next_of(root)?;
    }
    None
}

/// Takes an open job inside of `root` out of a seat.
pub(crate) fn take_open(seat: &Seat, nest: &Nest, root: Root) -> Option<Claimed> {
    if !seat.deque.has_jobs(Offer::Open) {
        return None;
    }
    let job = nest.steal(&seat.deque, root, Offer::Open, asking())?;
    // SAFETY: this thread has claimed it.
    Some(unsafe { Claimed::new(job) })
}

/// Whether [`take_open`] would find a job, as a hint. A gift of an older root is no reason to stay awake.
pub(crate) fn has_open(seat: &Seat, nest: &Nest, root: Root) -> Option<()> {
    nest.has_jobs(&seat.deque, root).then_some(())
}

impl WaitFor for Stolen<'_> {
    const NAME: &'static str = "a join";

    fn is_done(&self) -> bool {
        self.job.latch.is_done()
    }

    fn run_one(&mut self) -> bool {
        if let Some(nest) = &self.seat.nest {
            nest.set_wait(self.job.thief());
        }
        let Some(claimed) = self.find(take_open) else {
            return false;
        };
        run_inside(self.seat.pool(), claimed);
        true
    }

    fn has_work(&self) -> bool {
        self.find(has_open).is_some()
    }

    fn announce_sleep(&mut self) {
        self.around = self.seat.asleep.replace(true);
        if self.sleeper.get().is_none() {
            let sleeper = self.sleeper.get_or_init(terrace_thread::notifier);
            // SAFETY: the sleeper is dropped after the wait, which ends when the latch is done.
            let _announced = unsafe { self.job.latch.announce(sleeper) };
        }
        // Either `Considers::published` sees this sleeper, or `has_work` sees its job.
        self.job.latch.fence_before_look();
    }

    /// The thief runs the half.
    fn patience(&self) -> Duration {
        WAKE
    }

    fn end_sleep(&mut self) {
        self.seat.asleep.set(self.around);
    }
}

/// Runs a job in the middle of a wait, in the context of the thread's worker if it is of the job's pool.
pub(crate) fn run_inside(pool: &Shared, job: Claimed) {
    runner::with_worker_of(pool, |worker| match worker {
        Some(worker) if !runner::is_inside(pool) => worker.enter(|| job.run(pool)),
        _ => job.run(pool),
    });
}

impl Worker {
    /// Runs both closures, the first one on another thread if one comes to it in time, and returns both results.
    ///
    /// The thread forks `a`, runs `b`, and then `a` itself, unless another thread has taken it. If one has, the thread runs
    /// jobs that `a` has forked, and its pinned tasks, until `a` has ended. It adopts no other work, so it may hold a lock.
    ///
    /// Which thread learns of `a`: while the joins of this call-site take 25 µs and more, a sleeping worker is woken at once, if it has a
    /// processor beside the busy threads. From 5 µs on `a` is given to the first thread that looks for work. A tiny join wakes no thread;
    /// if its halves block or grow, a thread takes `a` within 2 ms, or 10 ms after a pause of 64 ms in which nothing moved, as long as a worker sleeps.
    ///
    /// Cost where no thread takes `a`, nested in another join: no read-modify-write, and no fence where
    /// [`steal::fence_kind`](terrace_sync::steal::fence_kind) is asymmetric. Not nested: one read-modify-write, and three more from 5 µs on. No allocation. A
    /// thread that has 16,384 joins open runs further ones in order.
    ///
    /// # Panics
    /// If a closure panics, when both have ended: with the payload of `b` if both panic.
    ///
    /// # Aborts
    /// If a waker of another crate panics in the wait for `a`, or while other threads are told of it.
    ///
    /// Source: the fork deques of the Cilk family, without the fence of the owner; see `terrace_queue::fork`.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, Worker};
    ///
    /// fn sum(worker: &Worker, numbers: &[u64]) -> u64 {
    ///     if numbers.len() <= 64 {
    ///         return numbers.iter().sum();
    ///     }
    ///     let (left, right) = numbers.split_at(numbers.len() / 2);
    ///     let (left, right) = worker.join(|worker| sum(worker, left), |worker| sum(worker, right));
    ///     left + right
    /// }
    ///
    /// let numbers: Vec<u64> = (0..10_000).collect();
    /// for workers in [0, 1, 2] {
    ///     let executor = Builder::new().workers(workers).build();
    ///     assert_eq!(executor.with_worker(|worker| sum(worker, &numbers)), 49_995_000);
    /// }
    /// ```
    #[inline(always)]
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(&Self) -> RA + Send,
        B: FnOnce(&Self) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        job::join(self, a, b)
    }
}

/// Calls `f` with the place of this thread in `pool`, which it takes for the length of the call if it has none.
// Inlined, so that the closures of a join inside of `f` are made where the join wants them.
#[inline(always)]
pub(crate) fn with_worker<T>(pool: &Shared, f: impl FnOnce(&Worker) -> T) -> T {
    let mut guest = None;
    let innermost = innermost();
    // SAFETY: the seat is this thread's, so the call that took it has not ended.
    let seat = match unsafe { innermost.as_ref() } {
        Some(seat) if seat.is_of(pool) => innermost,
        _ => place_in(pool, &mut guest),
    };
    // SAFETY: the seat is left by a frame further out on this stack, or when `guest` is dropped: after `f` has ended.
    let worker = unsafe { Worker::in_seat(seat) };
    f(&worker)
}

/// The seat of this thread in `pool` where its innermost one is not of that pool: that of its worker, or one that it takes as a guest.
#[cold]
#[inline(never)]
fn place_in<'p>(pool: &'p Shared, guest: &mut Option<Guest<'p>>) -> *const Seat {
    if innermost().is_null() && runner::is_worker_of(pool) {
        return innermost_or_new();
    }
    guest.insert(Guest::enter(pool, stand_in::kind_in(pool))).0
}

/// Calls `f` with the place of this thread in `pool`, if it has one now.
pub(crate) fn get_worker<T>(pool: &Shared, f: impl FnOnce(Option<&Worker>) -> T) -> T {
    let seat = seat_in(pool);
    if seat.is_null() {
        return f(None);
    }
    // SAFETY: the seat is left by a frame further out on this stack, so not before `f` has ended.
    let worker = unsafe { Worker::in_seat(seat) };
    f(Some(&worker))
}

/// Calls `f` as a member of `pool`, whose handler gets its panic, on whatever thread.
pub(crate) fn with_worker_contained(pool: &Shared, f: impl FnOnce(&Worker)) {
    let called = catch_unwind(AssertUnwindSafe(|| with_worker(pool, f)));
    if let Err(payload) = called {
        pool.report(payload);
    }
}

/// What a push tells.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tell {
    Nothing,
    /// The joiner of the root, which may take no other work than its jobs.
    Joiner,
    /// The joiner, and a worker of the pool.
    All,
}

/// The considerations of one push.
struct Considers<'s> {
    worker: &'s Worker,
    job: Job,
    tell: Tell,
    /// Whether the push offers the job to any thread, or gives it away.
    is_open: bool,
    /// Whether the joiner of the root had announced its sleep before the push.
    joiner_slept: bool,
}

impl<'s> Considers<'s> {
    /// For a push of `job` in the seat of `worker`.
    #[inline(always)]
    fn new(worker: &'s Worker, job: Job) -> Self {
        Self {
            worker,
            job,
            tell: Tell::Nothing,
            is_open: false,
            joiner_slept: false,
        }
    }

    fn seat(&self) -> &'s Seat {
        self.worker.seat().expect("a push has a seat")
    }

    /// The root that the thread is inside of.
    fn root(&self) -> Option<&'s Header<Worker>> {
        let root = self.seat().root.get()?;
        // SAFETY: the thread is in the middle of the job, and sets its latch only after this push was popped.
        Some(unsafe { root.header() })
    }

    /// Its sleeping joiner.
    fn joiner(&self) -> Option<&'s Arc<dyn terrace_thread::Notify>> {
        // SAFETY: the thread runs the job, see `root`.
        unsafe { self.root()?.latch.sleeper() }
    }

    fn anyone_sleeps(&self) -> bool {
        self.joiner_slept || self.seat().pool().idle.any_parked()
    }

    /// Which sleepers a push tells. A worker is woken if it has a processor beside the threads that are busy.
    fn sleepers(&self) -> Tell {
        let seat = self.seat();
        // A guest is counted from its first push on.
        let itself = seat.by() == By::Guest && !seat.is_forking();
        if seat.pool().may_wake_for_job(itself.into()) {
            Tell::All
        } else {
            Tell::Joiner
        }
    }

    fn first(&mut self, level: u32) -> Pace {
        let mine = &self.seat().mine;
        mine.since.set(None);
        mine.pushes.set(PUSHES);
        // SAFETY: the calling thread joins the job.
        let site = unsafe { self.job.header() }.site();
        let visit = self.seat().pool().forks.sites.visit(site);
        let now = visit.is_timed.then(Instant::now);
        // A gift empties the deque, so a join inside of a timed one may be a first one, too.
        let outer = mine.timed.get().filter(|outer| outer.level < level);
        let timed = now.map(|since| Timed { site, level, since });
        mine.timed.set(outer.or(timed));
        let sleeps = self.anyone_sleeps();
        self.tell = match visit.length {
            Length::Long if sleeps => self.sleepers(),
            // A worker that sleeps watches for such a job; a joiner does not.
            Length::Fair if self.joiner_slept => Tell::Joiner,
            _ => Tell::Nothing,
        };
        Pace {
            pushes: PUSHES,
            offer: if visit.length == Length::Long || !sleeps {
                Offer::Open
            } else {
                Offer::Quiet
            },
            // A thief that has to ask waits, or takes the job by a heavy fence, which stops this thread for microseconds.
            gives: match visit.length {
                Length::Fair | Length::Long if self.seat().pool().workers() > 0 => Gives::Unasked,
                _ => Gives::Asked,
            },
        }
    }

    fn later(&mut self) -> Pace {
        let asked = |pushes, offer| Pace {
            pushes,
            offer,
            gives: Gives::Asked,
        };
        if !self.anyone_sleeps() {
            return asked(PUSHES, Offer::Open);
        }
        let seat = self.seat();
        let mine = &seat.mine;
        let as_before = || seat.deque.offer().max(Offer::Quiet);
        let now = Instant::now();
        let Some(since) = mine.since.get() else {
            mine.since.set(Some(now));
            mine.looked.set(Some(now));
            return asked(PUSHES, as_before());
        };
        let between = mine.looked.replace(Some(now)).map(|last| now - last);
        let pushes = match between {
            Some(between) if between < CALL / 2 => mine.pushes.get() * 2,
            Some(between) if between > CALL => mine.pushes.get() / 2,
            _ => mine.pushes.get(),
        };
        let pushes = pushes.clamp(1, 32 * PUSHES);
        mine.pushes.set(pushes);
        if now - since < CALL {
            return asked(pushes, as_before());
        }
        self.tell = self.sleepers();
        asked(pushes, Offer::Open)
    }
}

impl Consider for Considers<'_> {
    fn pace(&mut self, now: Considered) -> Pace {
        self.joiner_slept = self.joiner().is_some();
        let pace = if now.first {
            self.first(now.level)
        } else {
            self.later()
        };
        self.is_open = pace.offer == Offer::Open || pace.gives == Gives::Unasked;
        pace
    }

    fn published(&mut self, now: Considered) {
        let pool = self.seat().pool();
        let begins = self.seat().begins_forking();
        // A thief that has asked may have gone to sleep while its gift was on the way.
        let tells = self.tell != Tell::Nothing || now.asked;
        // The joiner of the root may have gone to sleep since `pace` looked, before the job was visible.
        if tells || (self.is_open && !self.joiner_slept) {
            if let Some(root) = self.root() {
                // SAFETY: the thread runs the job, see `root`.
                if let Some(joiner) = unsafe { root.latch.sleeper_for_work() } {
                    joiner.notify();
                }
            }
            if self.tell == Tell::All || now.asked {
                pool.publish();
            }
        }
        if begins {
            pool.publish_forking();
        }
    }
}

/// A pop of the job of `level` has found the deque empty: the inline half of its join has ended, and maybe it was timed.
fn emptied(worker: &Worker, level: u32) {
    let Some(seat) = worker.seat() else { return };
    let timed = &seat.mine.timed;
    if let Some(half) = timed.get().filter(|half| half.level >= level) {
        timed.set(None);
        if half.level == level {
            let pool: &Shared = seat.pool();
            pool.forks.sites.note(half.site, half.since.elapsed());
        }
    }
}
