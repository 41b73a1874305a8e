//! The deque of a thread that forks and joins: a push and its pop, in nested order.

use std::hint::black_box;

use crossbeam_deque::Steal;
use terrace_queue::fork::{Considered, ForkDeque, Gives, Offer, Pace, Popped};

use super::Item;

/// Forks of an iteration.
pub const FORKS: usize = 64;

/// A deque of jobs that one thread forks and joins.
pub trait Forks: 'static {
    /// Its name in rows.
    const NAME: &'static str;
    /// Where a push put its job.
    type Depth;

    /// An empty one.
    fn new() -> Self;

    /// Pushes a job; there is room.
    fn push(&self, job: Item) -> Self::Depth;

    /// Pops the job of the last push. Whether it was there.
    fn pop(&self, at: Self::Depth) -> bool;

    /// Takes the oldest job as a thief does.
    fn force(&self) -> Option<Item>;

    /// Asks for the oldest job, lets the owner push `job`, and takes what it gives.
    fn ask(&self, job: Item) -> (Option<Item>, Self::Depth) {
        let at = self.push(job);
        (self.force(), at)
    }
}

/// Ours.
pub struct Fork(Box<ForkDeque<Item>>);

/// The pace of a worker while no other one sleeps.
fn pace(_: Considered) -> Pace {
    Pace {
        pushes: 32,
        offer: Offer::Open,
        gives: Gives::Asked,
    }
}

impl Forks for Fork {
    const NAME: &'static str = "fork";
    type Depth = terrace_queue::fork::Depth;

    fn new() -> Self {
        Self(ForkDeque::boxed())
    }

    #[inline]
    fn push(&self, job: Item) -> Self::Depth {
        // SAFETY: a row keeps the deque on one thread; it has no other owner handles.
        let owner = unsafe { self.0.owner() };
        owner.push(job, pace).expect("there is room")
    }

    #[inline]
    fn pop(&self, at: Self::Depth) -> bool {
        // SAFETY: as in `push`.
        let owner = unsafe { self.0.owner() };
        // SAFETY: the workloads pop in the reverse order of their pushes.
        unsafe { owner.pop(at) == Popped::Mine }
    }

    #[inline]
    fn force(&self) -> Option<Item> {
        self.0.force()
    }

    #[inline]
    fn ask(&self, job: Item) -> (Option<Item>, Self::Depth) {
        self.0.ask();
        // SAFETY: as in `push`.
        let owner = unsafe { self.0.owner() };
        let each = |_: Considered| Pace {
            pushes: 1,
            offer: Offer::Open,
            gives: Gives::Asked,
        };
        let at = owner.push(job, each).expect("there is room");
        (self.0.take_gift(), at)
    }
}

/// crossbeam's deque, last in, first out.
pub struct CrossbeamLifo(
    crossbeam_deque::Worker<Item>,
    crossbeam_deque::Stealer<Item>,
);

impl Forks for CrossbeamLifo {
    const NAME: &'static str = "crossbeam_lifo";
    type Depth = ();

    fn new() -> Self {
        let worker = crossbeam_deque::Worker::new_lifo();
        let thief = worker.stealer();
        Self(worker, thief)
    }

    #[inline]
    fn push(&self, job: Item) {
        self.0.push(job);
    }

    #[inline]
    fn pop(&self, (): ()) -> bool {
        self.0.pop().is_some()
    }

    #[inline]
    fn force(&self) -> Option<Item> {
        loop {
            match self.1.steal() {
                Steal::Success(job) => return Some(job),
                Steal::Empty => return None,
                Steal::Retry => {}
            }
        }
    }
}

/// st3's ring, last in, first out.
pub struct St3Forks(st3::lifo::Worker<Item>, st3::lifo::Worker<Item>);

impl Forks for St3Forks {
    const NAME: &'static str = "st3_lifo";
    type Depth = ();

    fn new() -> Self {
        Self(st3::lifo::Worker::new(256), st3::lifo::Worker::new(256))
    }

    #[inline]
    fn push(&self, job: Item) {
        self.0.push(job).expect("there is room");
    }

    #[inline]
    fn pop(&self, (): ()) -> bool {
        self.0.pop().is_some()
    }

    #[inline]
    fn force(&self) -> Option<Item> {
        let stolen = self.0.stealer().steal_and_pop(&self.1, |_| 1);
        stolen.ok().map(|(job, _)| job)
    }
}

/// [`FORKS`] pushes, each with its pop, above a job that stays: joins inside of a join.
pub fn nested<F: Forks>() -> impl FnMut() {
    let deque = F::new();
    let _outer = deque.push(0);
    joins(deque)
}

/// [`FORKS`] pushes, each with its pop, on an empty deque.
pub fn flat<F: Forks>() -> impl FnMut() {
    joins(F::new())
}

fn joins<F: Forks>(deque: F) -> impl FnMut() {
    move || {
        for job in 0..FORKS {
            let at = deque.push(black_box(job));
            assert!(black_box(deque.pop(at)));
        }
    }
}

/// [`FORKS`] pushes on top of each other, then as many pops: a chain of joins.
pub fn deep<F: Forks>() -> impl FnMut() {
    let deque = F::new();
    let mut depths = Vec::with_capacity(FORKS);
    move || {
        for job in 0..FORKS {
            depths.push(deque.push(black_box(job)));
        }
        while let Some(at) = depths.pop() {
            assert!(black_box(deque.pop(at)));
        }
    }
}

/// [`FORKS`] jobs, each taken by force before its pop. One thread does both.
pub fn forced<F: Forks>() -> impl FnMut() {
    let deque = F::new();
    move || {
        for job in 0..FORKS {
            let at = deque.push(black_box(job));
            assert!(black_box(deque.force()).is_some());
            assert!(!deque.pop(at));
        }
    }
}

/// [`FORKS`] jobs, each asked for, given and taken before its pop. One thread does both. Peers have no request: there a thief takes it.
pub fn asked<F: Forks>() -> impl FnMut() {
    let deque = F::new();
    move || {
        for job in 0..FORKS {
            let (got, at) = deque.ask(black_box(job));
            assert!(black_box(got).is_some());
            assert!(!deque.pop(at));
        }
    }
}
