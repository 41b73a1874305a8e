//! Fork-join: the latch of a stolen half, the frame of a join, and the roots that a joiner looks for.

#![cfg(terrace_loom)]

mod roots;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread::panicking;

use loom::sync::Notify as LoomNotify;
use terrace_executor::protocol::job::{Forker, Header, JobRef, join};
use terrace_queue::fork::{Considered, Depth, ForkDeque, Gives, Latch, Offer, Owner, Pace, Popped};
use terrace_sync::atomic::{AtomicBool, AtomicU32, Ordering};
use terrace_sync::cell::UnsafeCell;
use terrace_sync::{Arc, model, thread};

/// What wakes a joiner: a notification, and a cell that the joiner writes before it announces itself, and when it goes.
struct Sleeper {
    notify: Arc<LoomNotify>,
    cell: UnsafeCell<u32>,
}

impl Sleeper {
    fn new() -> Self {
        Self {
            notify: Arc::new(LoomNotify::new()),
            cell: UnsafeCell::new(0),
        }
    }

    fn write(&self) {
        self.cell.with_mut(|cell| {
            // SAFETY: the sleeper is not announced yet, or its latch is done. The model checks that.
            unsafe { *cell += 1 }
        });
    }

    /// A copy of what wakes the joiner, by its thief.
    fn copy(&self) -> Arc<LoomNotify> {
        self.cell.with(|cell| {
            // SAFETY: the latch is not done yet. The model checks that.
            let _read = unsafe { *cell };
        });
        Arc::clone(&self.notify)
    }
}

/// Waits until the latch is done; the notification may come early.
fn wait(latch: &Latch<Sleeper>) {
    let sleeper = Sleeper::new();
    sleeper.write();
    if latch.is_done() {
        return;
    }
    // SAFETY: the sleeper lives until the latch is done.
    if unsafe { latch.announce(&sleeper) } {
        while !latch.is_done() {
            sleeper.notify.wait();
        }
    }
    sleeper.write();
}

fn set(latch: *const Latch<Sleeper>) {
    // SAFETY: each model sets its latch once.
    unsafe { Latch::set(latch, Sleeper::copy, |notify| notify.notify()) };
}

/// A latch, and the result that it hands over.
struct Handed {
    latch: Latch<Sleeper>,
    result: UnsafeCell<u32>,
}

// SAFETY: the thief writes the result before it sets the latch, and the joiner reads it afterwards. The model checks that.
unsafe impl Sync for Handed {}
// SAFETY: it holds a number.
unsafe impl Send for Handed {}

/// A thief ends a job whose joiner goes to sleep: the joiner wakes up, sees the result, and its frame is its own again.
///
/// Seen to fail without the Release of the setter (`queue-latch-set-relaxed`) or the Acquire of the look
/// (`queue-latch-look-relaxed`); without the Release of the announcement (`queue-latch-announce-relaxed`); with a copy made
/// after the latch is done (`queue-latch-copy-late`), and a wake before it is (`queue-latch-wake-early`).
#[test]
fn executor_fork_latch_hands_the_frame_over() {
    model(|| {
        let handed = Arc::new(Handed {
            latch: Latch::new(),
            result: UnsafeCell::new(0),
        });
        let thief = {
            let handed = Arc::clone(&handed);
            thread::spawn(move || {
                handed.result.with_mut(|result| {
                    // SAFETY: the latch is not set yet.
                    unsafe { *result = 7 }
                });
                set(&raw const handed.latch);
            })
        };
        wait(&handed.latch);
        let result = handed.result.with(|result| {
            // SAFETY: the latch is done.
            unsafe { *result }
        });
        assert_eq!(result, 7);
        thief.join().unwrap();
    });
}

/// The job of a latch pushes work that its joiner may run, and waits for it: either the joiner sees the work before it sleeps, or the
/// job sees the sleeper and wakes it.
///
/// Seen to fail if the look at the sleeper is relaxed (`queue-latch-sleeper-relaxed`), and without the fence of the joiner
/// (`queue-latch-work-unfenced`).
#[test]
fn executor_fork_latch_shows_the_sleeper_to_its_job() {
    model(|| {
        let latch = Arc::new(Latch::<Sleeper>::new());
        let work = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
        let ran = Arc::new(LoomNotify::new());
        let thief = {
            let (latch, work, ran) = (latch.clone(), work.clone(), ran.clone());
            thread::spawn(move || {
                let [pushed, has_run] = &*work;
                pushed.store(true, Ordering::Relaxed);
                // SAFETY: this thread runs the job, and sets the latch below.
                if let Some(sleeper) = unsafe { latch.sleeper_for_work() } {
                    sleeper.copy().notify();
                }
                while !has_run.load(Ordering::Relaxed) {
                    ran.wait();
                }
                set(&raw const *latch);
            })
        };
        let [pushed, has_run] = &*work;
        let sleeper = Sleeper::new();
        sleeper.write();
        // SAFETY: the sleeper lives until the latch is done.
        assert!(unsafe { latch.announce(&sleeper) });
        latch.fence_before_look();
        while !pushed.load(Ordering::Relaxed) {
            sleeper.notify.wait();
        }
        has_run.store(true, Ordering::Relaxed);
        ran.notify();
        while !latch.is_done() {
            sleeper.notify.wait();
        }
        sleeper.write();
        thief.join().unwrap();
    });
}

/// How an owner pushes: it considers each fourth time.
fn pace(offer: Offer, gives: Gives) -> impl Fn(Considered) -> Pace {
    move |_| Pace {
        pushes: 4,
        offer,
        gives,
    }
}

/// The deque of a place in which a thread forks.
struct Jobs<F: Forker>(Box<ForkDeque<JobRef<F>>>);

impl<F: Forker> Jobs<F> {
    fn new() -> Self {
        Self(ForkDeque::boxed())
    }

    fn owner(&self) -> Owner<'_, JobRef<F>> {
        // SAFETY: the body of each model makes the only handle, on its own thread.
        unsafe { self.0.owner() }
    }

    fn push(&self, job: JobRef<F>) -> Option<Depth> {
        let pace = pace(Offer::Quiet, Gives::Asked);
        self.owner().push(job, pace).ok()
    }

    /// # Safety
    /// As [`Forker::pop`].
    unsafe fn pop(&self, at: Depth) -> Popped {
        // SAFETY: the contract of this function is that of the other.
        unsafe { self.owner().pop(at) }
    }
}

/// A place whose owner joins while a thief takes by force.
struct Place(Jobs<Self>);

impl Place {
    fn new() -> Arc<Self> {
        Arc::new(Self(Jobs::new()))
    }

    /// The thief's part: takes the oldest job, runs it, and sets its latch.
    fn steal(&self) -> bool {
        let Some(job) = self.0.0.force() else {
            return false;
        };
        // SAFETY: this thread has claimed the job, and runs it once.
        unsafe { job.execute(self) };
        // SAFETY: this thread has run the job, and sets its latch once.
        unsafe { job.set(Sleeper::copy, |notify| notify.notify()) };
        true
    }
}

impl Forker for Place {
    type Sleeper = Sleeper;

    fn push(&self, job: JobRef<Self>) -> Option<Depth> {
        self.0.push(job)
    }

    unsafe fn pop(&self, at: Depth) -> Popped {
        // SAFETY: the contract of this function is that of the other.
        unsafe { self.0.pop(at) }
    }

    fn wait(&self, job: &Header<Self>) {
        wait(&job.latch);
    }
}

/// A join whose forked half a thief may take: each half runs once, and the joiner gets both results.
#[test]
fn executor_fork_stolen_half_comes_back() {
    model(|| {
        let place = Place::new();
        let thief = {
            let place = Arc::clone(&place);
            thread::spawn(move || place.steal())
        };
        let forked = Box::new(6);
        let results = join(&*place, |_| *forked + 1, |_| 8);
        assert_eq!(results, (7, 8));
        thief.join().unwrap();
        assert!(place.0.0.is_empty());
    });
}

/// The inline half panics while a thief may have the frame of the other one: both have ended when the join unwinds. The forked half sees no
/// unwinding.
///
/// Seen to fail where the join forgets the forked half (`executor-join-forgets`).
#[test]
fn executor_fork_unwinds_after_both_halves() {
    model(|| {
        let place = Place::new();
        let ran = Arc::new(AtomicU32::new(0));
        let thief = {
            let place = Arc::clone(&place);
            thread::spawn(move || place.steal())
        };
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            // The frame of the join holds a borrow of this, and goes when it unwinds.
            let borrowed = Box::new(1);
            join(
                &*place,
                |_| {
                    assert!(!panicking());
                    ran.fetch_add(*borrowed, Ordering::Relaxed)
                },
                |_| resume_unwind(Box::new("the inline half")),
            )
        }));
        let payload = unwound.map(|_: (u32, ())| ()).unwrap_err();
        assert!(payload.downcast_ref::<&str>().is_some());
        assert_eq!(ran.load(Ordering::Relaxed), 1, "the forked half has run");
        thief.join().unwrap();
    });
}
