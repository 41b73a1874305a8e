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

use terrace_queue::fork::{Consider, Considered, Gives, Offer, Pace};
use terrace_sync::Arc;
use terrace_sync::time::Instant;

use super::fork::{Job, Seat, Worker};
use super::shared::Shared;
use crate::parts::forks::{By, Timed};
use crate::parts::pacing::Length;
use crate::protocol::job::Header;
use crate::tuned::{CALL, PUSHES};

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
pub(crate) struct Considers<'s> {
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
    pub(crate) fn new(worker: &'s Worker, job: Job) -> Self {
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
        let root = self.seat().mine.root.get()?;
        // SAFETY: deques of a pool hold jobs of this type.
        let root = unsafe { root.typed::<Job>() };
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
        let pool = seat.pool();
        if pool.processors_left() > usize::from(itself) || pool.scopes.is_blocking() {
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
pub(crate) fn emptied(worker: &Worker, level: u32) {
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
