//! Fork-join: the roots that a joiner looks for.

use terrace_executor::protocol::job::ScopeRoot;
use terrace_executor::protocol::job::{Forker, Header, JobRef, join};
use terrace_queue::fork::{Depth, ForkDeque, Gives, Nest, Offer, Owner, Popped, Root};
use terrace_sync::atomic::{AtomicBool, Ordering};
use terrace_sync::{Arc, heavy, light, model, thread};

use crate::{Jobs, pace};

/// A seat: its deque, of jobs that are numbers, and its roots.
struct Seat {
    deque: Box<ForkDeque<usize>>,
    nest: Nest,
}

impl Seat {
    fn new() -> Arc<Self> {
        Arc::new(Self::alone())
    }

    fn alone() -> Self {
        Self {
            deque: ForkDeque::boxed(),
            nest: Nest::of_seat(3).expect("a small number"),
        }
    }

    fn owner(&self) -> Owner<'_, usize> {
        // SAFETY: the body of each model makes the only handle, on its own thread.
        unsafe { self.deque.owner() }
    }

    /// Forks a job and joins it. Whether the owner got it.
    fn fork_and_join(&self, job: usize) -> bool {
        let pace = pace(Offer::Open, Gives::Asked);
        let at = self.owner().push(job, pace).expect("there is room");
        // SAFETY: the job of the last push.
        unsafe { self.owner().pop(at) == Popped::Mine }
    }
}

/// A joiner of a root looks for jobs inside of it while the root ends and another one begins: it takes none of the other.
///
/// Seen to fail if the root is not checked (`queue-root-unchecked`), hidden after the epoch (`queue-root-hidden-late`), and
/// if its end begins no epoch (`queue-root-same-epoch`).
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
/// Seen to fail if the root of a gift is not compared (`queue-root-old-gift`).
#[test]
fn executor_fork_joiner_takes_no_older_gift() {
    model(|| {
        let seat = Seat::new();
        seat.deque.ask();
        let pace = pace(Offer::Open, Gives::Asked);
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
/// Seen to fail if the joiner sees no gifts (`queue-root-gift-unseen`).
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
        let pace = pace(Offer::Quiet, Gives::Unasked);
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
/// Seen to fail with a wait that is a relaxed store (`queue-root-wait-relaxed`).
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

/// A place in which a thread forks, and the roots of the thief of its job.
struct Thieved {
    jobs: Jobs<Self>,
    thief: Seat,
}

impl Thieved {
    /// Takes the job, if one is there, and runs it as a root, of which the thread shows no end.
    fn steal(&self) {
        let Some(job) = self.jobs.0.force() else {
            return;
        };
        let root = self.thief.nest.begin(&self.thief.owner()).expect("idle");
        // SAFETY: this thread has claimed the job, and sets its latch below.
        unsafe { job.header() }.begun(root);
        // SAFETY: this thread has claimed the job, and runs it once.
        unsafe { job.execute(self) };
        // SAFETY: this thread has run the job, and sets its latch once. No joiner of this model announces itself.
        unsafe { job.set(|&()| (), |()| ()) };
    }
}

impl Forker for Thieved {
    type Sleeper = ();

    fn push(&self, job: JobRef<Self>) -> Option<Depth> {
        self.jobs.push(job)
    }

    unsafe fn pop(&self, at: Depth) -> Popped {
        // SAFETY: the contract of this function is that of the other.
        unsafe { self.jobs.pop(at) }
    }

    fn wait(&self, job: &Header<Self>) {
        loop {
            if let Some(root) = job.thief() {
                assert!(self.thief.nest.is_inside(root), "the root is not shown");
            }
            if job.latch.is_done() {
                return;
            }
            thread::yield_now();
        }
    }
}

/// A joiner that knows which root its thief has begun sees that root at the thief's seat.
///
/// Seen to fail if the thief says so by a relaxed store (`executor-root-begun-relaxed`).
#[test]
fn executor_fork_joiner_sees_the_root_of_its_thief() {
    model(|| {
        let place = Arc::new(Thieved {
            jobs: Jobs::new(),
            thief: Seat::alone(),
        });
        let thief = {
            let place = Arc::clone(&place);
            thread::spawn(move || place.steal())
        };
        assert_eq!(join(&*place, |_| 7, |_| 8), (7, 8));
        thief.join().unwrap();
    });
}

/// A thread in a child of scope 1 runs one of scope 2 in the middle of it. The waiter of neither scope finds the other one's root.
///
/// Seen to fail if the stores are relaxed (`executor-scope-root-relaxed`), and if the loads are (`executor-scope-root-look-relaxed`).
#[test]
fn executor_fork_scope_finds_its_own_root_only() {
    model(|| {
        let [outer, inner] = [1_u64, 2].map(|number| number << 20);
        let shown = Arc::new(ScopeRoot::default());
        shown.replace((1, outer));
        let waiter = {
            let shown = Arc::clone(&shown);
            thread::spawn(move || [shown.of(2), shown.of(1)].map(|root| root.map(Root::pack)))
        };
        let before = shown.replace((2, inner));
        assert_eq!(shown.replace(before), (2, inner));
        let [of_inner, of_outer] = waiter.join().unwrap();
        assert!(of_inner.is_none_or(|root| root == inner));
        assert!(of_outer.is_none_or(|root| root == outer));
    });
}
