//! Fork-join: the latch of a stolen half, the frame of a join, and the roots that a joiner looks for.

#![cfg(terrace_loom)]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use loom::sync::Notify as LoomNotify;
use terrace_executor::protocol::fork::job::{Forker, Header, JobRef, join};
use terrace_executor::protocol::fork::latch::Latch;
use terrace_executor::protocol::fork::nest::Nest;
use terrace_queue::fork::{Considered, Depth, ForkDeque, Gives, Offer, Owner, Pace, Popped};
use terrace_sync::atomic::{AtomicBool, AtomicU32, Ordering};
use terrace_sync::cell::UnsafeCell;
use terrace_sync::{Arc, heavy, light, model, thread};

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
/// Seen to fail without the Release of the setter (`executor-latch-set-relaxed`) or the Acquire of the look
/// (`executor-latch-look-relaxed`); without the Release of the announcement (`executor-latch-announce-relaxed`); with a copy made
/// after the latch is done (`executor-latch-copy-late`), and a wake before it is (`executor-latch-wake-early`).
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
/// Seen to fail if the look at the sleeper is relaxed (`executor-latch-sleeper-relaxed`).
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
                light();
                // SAFETY: this thread runs the job, and sets the latch below.
                if let Some(sleeper) = unsafe { latch.sleeper() } {
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
        heavy();
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

/// A place whose owner joins while a thief takes by force.
struct Place {
    deque: Box<ForkDeque<JobRef<Place>>>,
}

impl Place {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            deque: ForkDeque::boxed(),
        })
    }

    /// The thief's part: takes the oldest job, runs it, and sets its latch.
    fn steal(&self) -> bool {
        let Some(job) = self.deque.force() else {
            return false;
        };
        // SAFETY: this thread has claimed the job, and runs it once.
        unsafe { job.execute(self) };
        // SAFETY: this thread has run the job, and sets its latch once.
        unsafe { job.set(Sleeper::copy, |notify| notify.notify()) };
        true
    }

    fn owner(&self) -> Owner<'_, JobRef<Self>> {
        // SAFETY: the body of each model makes the only handle, on its own thread.
        unsafe { self.deque.owner() }
    }
}

impl Forker for Place {
    type Sleeper = Sleeper;

    fn push(&self, job: JobRef<Self>) -> Option<Depth> {
        let pace = |_: Considered| Pace {
            pushes: 4,
            offer: Offer::Quiet,
            gives: Gives::Asked,
        };
        self.owner().push(job, pace).ok()
    }

    unsafe fn pop(&self, at: Depth) -> Popped {
        // SAFETY: the contract of this function is that of the other.
        unsafe { self.owner().pop(at) }
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
        assert!(place.deque.is_empty());
    });
}

/// The inline half unwinds while a thief may have the frame of the other one: both have ended when the join unwinds.
///
/// Seen to fail with a guard that forgets the forked half (`executor-join-forgets`).
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
                |_| ran.fetch_add(*borrowed, Ordering::Relaxed),
                |_| resume_unwind(Box::new("the inline half")),
            )
        }));
        let payload = unwound.map(|_: (u32, ())| ()).unwrap_err();
        assert!(payload.downcast_ref::<&str>().is_some());
        assert_eq!(ran.load(Ordering::Relaxed), 1, "the forked half has run");
        thief.join().unwrap();
    });
}

/// A seat: its deque, of jobs that are numbers, and its roots.
struct Seat {
    deque: Box<ForkDeque<usize>>,
    nest: Nest,
}

impl Seat {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            deque: ForkDeque::boxed(),
            nest: Nest::of_seat(3).expect("a small number"),
        })
    }

    fn owner(&self) -> Owner<'_, usize> {
        // SAFETY: the body of each model makes the only handle, on its own thread.
        unsafe { self.deque.owner() }
    }

    /// Forks a job and joins it. Whether the owner got it.
    fn fork_and_join(&self, job: usize) -> bool {
        let pace = |_: Considered| Pace {
            pushes: 4,
            offer: Offer::Open,
            gives: Gives::Asked,
        };
        let at = self.owner().push(job, pace).expect("there is room");
        // SAFETY: the job of the last push.
        unsafe { self.owner().pop(at) == Popped::Mine }
    }
}

/// A joiner of a root looks for jobs inside of it while the root ends and another one begins: it takes none of the other.
///
/// Seen to fail if the root is not checked (`executor-root-unchecked`), hidden after the epoch (`executor-root-hidden-late`), and
/// if its end begins no epoch (`executor-root-same-epoch`).
#[test]
fn executor_fork_joiner_takes_its_own_root_only() {
    model(|| {
        let seat = Seat::new();
        let root = seat.nest.begin(&seat.owner()).expect("idle");
        assert_eq!(root.seat(), 3);
        let joiner = {
            let seat = Arc::clone(&seat);
            thread::spawn(move || seat.nest.steal(&seat.deque, root, Offer::Quiet, || false))
        };
        seat.nest.end(&seat.owner(), root);
        let other = seat.nest.begin(&seat.owner()).expect("idle");
        assert!(seat.fork_and_join(2), "a job of the other root was taken");
        seat.nest.end(&seat.owner(), other);
        assert_eq!(joiner.join().unwrap(), None);
    });
}

/// The same while jobs are inside of the root: the joiner or the owner gets each.
#[test]
fn executor_fork_joiner_helps_inside_of_its_root() {
    model(|| {
        let seat = Seat::new();
        let root = seat.nest.begin(&seat.owner()).expect("idle");
        let joiner = {
            let seat = Arc::clone(&seat);
            thread::spawn(move || seat.nest.steal(&seat.deque, root, Offer::Quiet, || false))
        };
        let mine = seat.fork_and_join(1);
        seat.nest.end(&seat.owner(), root);
        assert_eq!(joiner.join().unwrap(), (!mine).then_some(1));
    });
}

/// The owner has given a job away before it began a root: that gift is none of the root's joiner's.
///
/// Seen to fail if the root of a gift is not compared (`executor-root-old-gift`).
#[test]
fn executor_fork_joiner_takes_no_older_gift() {
    model(|| {
        let seat = Seat::new();
        seat.deque.ask();
        let pace = |_: Considered| Pace {
            pushes: 4,
            offer: Offer::Open,
            gives: Gives::Asked,
        };
        let at = seat.owner().push(1, pace).expect("there is room");
        let root = seat.nest.begin(&seat.owner()).expect("all is given away");
        let joiner = {
            let seat = Arc::clone(&seat);
            thread::spawn(move || seat.nest.steal(&seat.deque, root, Offer::Quiet, || false))
        };
        seat.nest.end(&seat.owner(), root);
        // SAFETY: the job of the last push.
        assert_eq!(unsafe { seat.owner().pop(at) }, Popped::Mine);
        assert_eq!(joiner.join().unwrap(), None);
    });
}

/// The thief of a half gives a job of its root away and looks for its sleeping joiner, which announces itself and looks for the job: one
/// sees the other.
///
/// Seen to fail if the joiner sees no gifts (`executor-root-gift-unseen`).
#[test]
fn executor_fork_joiner_sees_a_gift_before_it_sleeps() {
    model(|| {
        let seat = Seat::new();
        let root = seat.nest.begin(&seat.owner()).expect("idle");
        let announced = Arc::new(AtomicBool::new(false));
        let joiner = {
            let (seat, announced) = (Arc::clone(&seat), Arc::clone(&announced));
            thread::spawn(move || {
                announced.store(true, Ordering::Relaxed);
                heavy();
                seat.nest.has_jobs(&seat.deque, root)
            })
        };
        let pace = |_: Considered| Pace {
            pushes: 4,
            offer: Offer::Quiet,
            gives: Gives::Unasked,
        };
        let at = seat.owner().push(1, pace).expect("there is room");
        light();
        let told = announced.load(Ordering::Relaxed);
        let saw = joiner.join().unwrap();
        assert!(told || saw, "the joiner sleeps, and the job waits for it");
        // SAFETY: the job of the last push.
        assert_eq!(unsafe { seat.owner().pop(at) }, Popped::Mine);
        seat.nest.end(&seat.owner(), root);
    });
}

/// A thread waits inside of a root, and then inside of another one. A joiner of the first does not follow the second wait.
///
/// Seen to fail with a wait that is a relaxed store (`executor-root-wait-relaxed`).
#[test]
fn executor_fork_joiner_follows_waits_of_its_root_only() {
    model(|| {
        let seat = Seat::new();
        let far = Seat::new();
        let inner = far.nest.begin(&far.owner()).expect("idle");
        let outer = seat.nest.begin(&seat.owner()).expect("idle");
        seat.nest.set_wait(Some(inner));
        let joiner = {
            let seat = Arc::clone(&seat);
            thread::spawn(move || seat.nest.next_of(outer))
        };
        seat.nest.set_wait(None);
        seat.nest.end(&seat.owner(), outer);
        far.nest.end(&far.owner(), inner);
        let foreign = far.nest.begin(&far.owner()).expect("idle");
        let other = seat.nest.begin(&seat.owner()).expect("idle");
        seat.nest.set_wait(Some(foreign));
        seat.nest.end(&seat.owner(), other);
        assert_ne!(joiner.join().unwrap(), Some(foreign));
    });
}
