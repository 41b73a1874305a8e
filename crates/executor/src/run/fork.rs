//! Joins on the threads of a pool: push, pop, and the wait for a half that was stolen.
//!
//! A joiner runs what lies inside of the stolen half, and nothing else of the pool: `terrace_queue::fork::Nest` says how it tells.
//! So a lock that it holds across the join stands in the way of no foreign job, and its stack grows no deeper than that of the
//! serial program.

use std::mem;
use std::time::Duration;

use terrace_queue::fork::{Depth, Nest, Offer, Popped, Root};
use terrace_sync::{Arc, OnceLock};
use terrace_thread::Notify;
use terrace_trace::{Span, inside};

use super::stand_in;
use super::threadless::Drives;
use super::wait::{WaitFor, wait};
use crate::parts::forks::JobWord;
use crate::parts::waiters::Bomb;
use crate::pool::consider::{self, Considers};
use crate::pool::fork::{Claimed, Guest, Job, Seat, Worker, innermost, innermost_or_new, seat_in};
use crate::pool::runner;
use crate::pool::shared::Shared;
use crate::protocol::job::{self, Forker, Header};
use crate::tuned::{CHAIN, WAKE};
use crate::work::steal::asking;

impl Forker for Worker {
    type Sleeper = Arc<dyn Notify>;

    #[inline(always)]
    fn push(&self, job: Job) -> Option<Depth> {
        let job_word = JobWord::of(job);
        self.owner()?.push(job_word, Considers::new(self, job)).ok()
    }

    #[inline(always)]
    unsafe fn pop(&self, at: Depth) -> Popped {
        // SAFETY: a push has succeeded, so there is a deque.
        let owner = unsafe { self.owner().unwrap_unchecked() };
        // SAFETY: the contract of this function is that of the other.
        unsafe { owner.pop_and(at, |level| consider::emptied(self, level)) }
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
    if !seat.has_jobs(Offer::Open) {
        return None;
    }
    let job = nest.steal(&seat.deque, root, Offer::Open, asking())?;
    // SAFETY: this thread has claimed it, out of a deque of the pool.
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
        self.seat.pool().forks.waiting.rise();
        self.seat.asleep.set(true);
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
        self.seat.pool().forks.waiting.fall();
        self.seat.asleep.set(false);
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
