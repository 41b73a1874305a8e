//! Models of `ForkDeque::steal_if`: a thief that is after the jobs of one root gets none that the owner forks in a later one.
//!
//! The owner says in a word which root it is in. It changes that word with a relaxed store, so the deque alone orders it.

use terrace_queue::fork::{Considered, Depth, ForkDeque, Gives, Offer, Owner, Pace, Popped};
use terrace_sync::atomic::{AtomicU64, Ordering::Relaxed};
use terrace_sync::{Arc, model, thread};

/// A deque of numbers, and the root that its owner is in.
struct Seat {
    deque: Box<ForkDeque<usize>>,
    root: AtomicU64,
}

impl Seat {
    /// A seat whose owner is in root 1.
    fn new() -> Arc<Self> {
        let seat = Arc::new(Self {
            deque: ForkDeque::boxed(),
            root: AtomicU64::new(0),
        });
        seat.begin(1);
        seat
    }

    fn owner(&self) -> Owner<'_, usize> {
        // SAFETY: the body of each model makes the only handle, on its own thread.
        unsafe { self.deque.owner() }
    }

    /// The owner has no job, and is in this root from now on.
    fn begin(&self, root: u64) {
        self.root.store(root, Relaxed);
        self.owner().set_root(root);
        self.owner().begin_epoch();
    }

    fn fork(&self, job: usize) -> Depth {
        let pace = |_: Considered| Pace {
            pushes: 4,
            offer: Offer::Open,
            gives: Gives::Asked,
        };
        self.owner().push(job, pace).expect("there is room")
    }

    /// Whether the owner gets its job back.
    fn join(&self, at: Depth) -> bool {
        // SAFETY: the models pop in the reverse order of their pushes.
        unsafe { self.owner().pop(at) == Popped::Mine }
    }
}

/// A thief that is after the jobs of root 1, or after gifts alone.
fn thief(seat: &Arc<Seat>, gifts_alone: bool) -> thread::JoinHandle<Option<usize>> {
    let seat = Arc::clone(seat);
    thread::spawn(move || {
        let may = |gift: Option<u64>| match gift {
            Some(root) => root == 1,
            None => !gifts_alone && seat.root.load(Relaxed) == 1,
        };
        let stolen = seat.deque.steal_if(Offer::Quiet, || false, may);
        stolen.map(|stolen| stolen.into_inner())
    })
}

/// The owner begins another root while the thief is between its look and its claim.
///
/// Fails under `queue-fork-epoch-relaxed`, `queue-fork-look-relaxed` and `queue-fork-may-early`.
#[test]
fn fork_steal_if_takes_no_job_of_a_later_epoch() {
    model(|| {
        let seat = Seat::new();
        let thief = thief(&seat, false);
        seat.begin(2);
        let at = seat.fork(2);
        assert!(seat.join(at), "a job of root 2 was taken");
        assert_eq!(thief.join().expect("ends"), None);
    });
}

/// A job of the thief's root goes to the thief or to the owner.
#[test]
fn fork_steal_if_shares_the_jobs_of_its_root() {
    model(|| {
        let seat = Seat::new();
        let thief = thief(&seat, false);
        let at = seat.fork(1);
        let mine = seat.join(at);
        seat.begin(2);
        assert_eq!(thief.join().expect("ends"), (!mine).then_some(1));
    });
}

/// The owner takes a gift of root 1 back, and gives a job of root 2 away, while the thief is between its look and its claim.
///
/// Fails under `queue-fork-root-late`.
#[test]
fn fork_steal_if_takes_no_gift_of_a_later_root() {
    model(|| {
        let seat = Seat::new();
        assert!(seat.deque.ask());
        let first = seat.fork(1);
        let thief = thief(&seat, true);
        let mine = seat.join(first);
        seat.owner().set_root(2);
        seat.deque.ask();
        // It stays there: a pop would be more to search.
        let _second = seat.fork(2);
        assert_eq!(thief.join().expect("ends"), (!mine).then_some(1));
    });
}
