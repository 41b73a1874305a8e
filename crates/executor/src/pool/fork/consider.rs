//! When a thread that forks tells others of its jobs, and how often it asks itself.
//!
//! | a push                                          | the jobs are for                  | it tells                                     |
//! |-------------------------------------------------|-----------------------------------|----------------------------------------------|
//! | the first into an empty deque, its site is long  | any thread                        | a sleeper: a publish                         |
//! | the first, its site is tiny, a worker sleeps     | a sentinel, if they stand still   | nobody                                       |
//! | a later one, no worker sleeps                   | any thread                        | nobody                                       |
//! | a later one, within [`CALM`] of the first look  | a sentinel, if they stand still   | nobody                                       |
//! | a later one                                     | any thread                        | a sleeper, once in [`BEAT`]                   |
//! | the first since the thread has come or slept     | as above                          | at least that it forks from now on           |
//!
//! "A sleeper" is a worker of the pool, and the joiner of the root that the thread is inside of.

use std::time::Duration;

use terrace_queue::fork::{Consider, Considered, Offer, Pace};
use terrace_sync::time::Instant;
use terrace_sync::{Arc, light};

use super::super::shared::Shared;
use super::here::Seat;
use super::stolen::Job;
use super::worker::Worker;
use crate::parts::fork_seat::FIRST_PUSHES;

/// For so long the jobs of a thread that has begun to fork are not offered while workers sleep.
const CALM: Duration = Duration::from_micros(4);
/// A thread that forks on wakes one sleeper each.
const BEAT: Duration = Duration::from_micros(25);
/// The most pushes between two looks at the clock.
const MOST_PUSHES: u32 = 1024;

/// What a push tells.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tell {
    Nothing,
    /// A sleeper of this job.
    Wake,
}

/// The considerations of one push.
pub(crate) struct Considers<'s> {
    worker: &'s Worker,
    job: Job,
    tell: Tell,
    /// Whether the push offers the job to any thread.
    is_open: bool,
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
        }
    }

    fn seat(&self) -> &'s Seat {
        self.worker.seat().expect("a push has a seat")
    }

    /// The sleeping joiner of the root that the thread is inside of.
    fn joiner(&self) -> Option<&'s Arc<dyn terrace_thread::Notify>> {
        let root = self.seat().mine.root.get()?;
        // SAFETY: deques of a pool hold jobs of this type.
        let job = unsafe { root.typed::<Job>() };
        // SAFETY: the thread is in the middle of the job, and sets its latch only after this push was popped.
        unsafe { job.sleeper() }
    }

    fn anyone_sleeps(&self) -> bool {
        self.seat().pool().idle.any_parked() || self.joiner().is_some()
    }

    /// Whether a worker that is woken has a processor beside the threads that are busy.
    fn has_processor(&self) -> bool {
        let seat = self.seat();
        // A guest is counted from its first push on.
        let itself = seat.is_guests() && !seat.is_forking();
        seat.pool().processors_left() > usize::from(itself) || seat.pool().scopes.is_blocking()
    }

    fn first(&mut self) -> Pace {
        let mine = &self.seat().mine;
        mine.since.set(None);
        mine.pushes.set(FIRST_PUSHES);
        // SAFETY: the calling thread joins the job.
        let site = unsafe { self.job.site() };
        let visit = self.seat().pool().forks.sites.visit(site);
        if visit.is_timed {
            mine.timed.set(Some((site, Instant::now())));
        }
        let sleeps = self.anyone_sleeps();
        if visit.is_long && sleeps && self.has_processor() {
            self.tell = Tell::Wake;
        }
        Pace {
            pushes: FIRST_PUSHES,
            offer: if visit.is_long || !sleeps {
                Offer::Open
            } else {
                Offer::Quiet
            },
        }
    }

    fn later(&mut self) -> Pace {
        if !self.anyone_sleeps() {
            return Pace {
                pushes: FIRST_PUSHES,
                offer: Offer::Open,
            };
        }
        let mine = &self.seat().mine;
        let now = Instant::now();
        let Some(since) = mine.since.get() else {
            mine.since.set(Some(now));
            mine.looked.set(Some(now));
            mine.woke.set(Some(now));
            return Pace {
                pushes: FIRST_PUSHES,
                offer: self.seat().deque.offer().max(Offer::Quiet),
            };
        };
        let between = mine.looked.replace(Some(now)).map(|last| now - last);
        let pushes = match between {
            Some(between) if between < CALM / 2 => mine.pushes.get() * 2,
            Some(between) if between > CALM => mine.pushes.get() / 2,
            _ => mine.pushes.get(),
        };
        mine.pushes.set(pushes.clamp(1, MOST_PUSHES));
        if mine.woke.get().is_none_or(|woke| now - woke >= BEAT) {
            mine.woke.set(Some(now));
            if self.has_processor() {
                self.tell = Tell::Wake;
            }
        }
        Pace {
            pushes: mine.pushes.get(),
            offer: if now - since < CALM {
                self.seat().deque.offer().max(Offer::Quiet)
            } else {
                Offer::Open
            },
        }
    }
}

impl Consider for Considers<'_> {
    fn pace(&mut self, now: Considered) -> Pace {
        let pace = if now.first {
            self.first()
        } else {
            self.later()
        };
        self.is_open = pace.offer == Offer::Open;
        pace
    }

    fn published(&mut self, now: Considered) {
        let pool = self.seat().pool();
        let begins = self.seat().begins_forking();
        // A thief that has asked may have gone to sleep while its gift was on the way.
        if self.tell == Tell::Wake || now.asked {
            if let Some(joiner) = self.joiner() {
                joiner.notify();
            }
            pool.publish();
        } else if self.is_open && self.seat().mine.root.get().is_some() {
            // The joiner of the root may have gone to sleep since `pace` looked, before the job was visible.
            // Ordering: pairs with `heavy` in `announce_sleep`.
            light();
            if let Some(joiner) = self.joiner() {
                joiner.notify();
            }
        }
        if begins {
            pool.publish_forking();
        }
    }
}

/// A pop has found the deque empty: the inline half of a join has ended, and maybe it was timed.
pub(crate) fn emptied(worker: &Worker) {
    let Some(seat) = worker.seat() else { return };
    if let Some((site, since)) = seat.mine.timed.take() {
        let pool: &Shared = seat.pool();
        pool.forks.sites.note(site, since.elapsed());
    }
}
