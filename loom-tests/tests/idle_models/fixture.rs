//! What the models of `terrace-park` share: work that is nothing but relaxed counters, so that every
//! edge between the threads is one of `Idle`'s own, and a worker that takes one item and runs it for ever.

use terrace_park::{GroupConfig, Idle, Token, Work};
use terrace_sync::atomic::{AtomicUsize, Ordering::Relaxed};
use terrace_sync::{Arc, model, thread};

/// How the two workers are grouped.
#[derive(Clone, Copy)]
pub(crate) enum Shape {
    OneGroupOfTwo,
    TwoGroupsOfOne,
    /// One worker only.
    OneOfOne,
}

/// The only lane of the models.
pub(crate) const LANE: u32 = 1;

/// An `Idle` with two workers, and what they can find.
pub(crate) struct Fixture {
    pub(crate) idle: Idle,
    pub(crate) items: AtomicUsize,
    pub(crate) inlets: [AtomicUsize; 2],
    /// What workers wait for in restricted waits.
    pub(crate) latches: [AtomicUsize; 2],
}

impl Work for Fixture {
    fn takeable(&self, lanes: u32) -> bool {
        lanes == LANE && self.items.load(Relaxed) > 0
    }

    fn inlet(&self, worker: usize) -> bool {
        self.inlets[worker].load(Relaxed) > 0
    }
}

impl Fixture {
    /// Two places, `live` of which are adopted.
    pub(crate) fn new(shape: Shape, live: usize) -> Arc<Self> {
        let workers = |workers| GroupConfig {
            workers,
            lanes: LANE,
        };
        let idle = match shape {
            Shape::OneGroupOfTwo => Idle::new(&[workers(2)]),
            Shape::TwoGroupsOfOne => Idle::new(&[workers(1), workers(1)]),
            Shape::OneOfOne => Idle::new(&[workers(1)]),
        };
        for worker in 0..live {
            assert!(idle.adopt_live(worker));
        }
        Arc::new(Self::with(idle))
    }

    /// Nothing to find yet.
    pub(crate) fn with(idle: Idle) -> Self {
        Self {
            idle,
            items: AtomicUsize::new(0),
            inlets: [AtomicUsize::new(0), AtomicUsize::new(0)],
            latches: [AtomicUsize::new(0), AtomicUsize::new(0)],
        }
    }

    /// Makes `count` items visible; the caller publishes them.
    pub(crate) fn put(&self, count: usize) {
        self.items.fetch_add(count, Relaxed);
    }

    /// Takes one item if one is visible.
    pub(crate) fn take(&self) -> bool {
        let mut visible = self.items.load(Relaxed);
        while visible > 0 {
            match self
                .items
                .compare_exchange(visible, visible - 1, Relaxed, Relaxed)
            {
                Ok(_) => return true,
                Err(now) => visible = now,
            }
        }
        false
    }

    /// The thread of a worker that parks until it gets one item, and never comes back from running it.
    pub(crate) fn run_one(&self, worker: usize) {
        let token = self.idle.enter(worker);
        self.run_one_from(worker, token);
    }

    /// The same, for a worker that has entered.
    pub(crate) fn run_one_from(&self, worker: usize, mut token: Token) {
        while !self.take() {
            token = self.idle.park(worker, token, self);
        }
        self.idle.stop_search(token, self);
    }

    /// The thread of a worker that parks until its inlet has something, and leaves.
    pub(crate) fn park_for_inlet(&self, worker: usize) {
        let mut token = self.idle.enter(worker);
        while self.inlets[worker].load(Relaxed) == 0 {
            token = self.idle.park(worker, token, self);
        }
        self.idle.leave(worker, token, self);
    }

    /// The thread of a worker whose job waits for its latch, which the run of an item will set.
    pub(crate) fn wait_for_latch(&self, worker: usize) {
        let token = self.idle.enter(worker);
        self.idle.stop_search(token, self);
        let ready = || self.latches[worker].load(Relaxed) > 0;
        while !ready() {
            match self.idle.wait_restricted(worker, self, ready) {
                terrace_park::Restricted::LastResort if self.take() => self.set_latches(),
                _ => {}
            }
        }
    }

    /// What running the item of a [`wait_for_latch`](Self::wait_for_latch) model does.
    pub(crate) fn set_latches(&self) {
        for (worker, latch) in self.latches.iter().enumerate() {
            latch.store(1, Relaxed);
            self.idle.targeted(worker);
        }
    }

    /// Makes an item visible and publishes it.
    pub(crate) fn publish_one(&self) {
        self.put(1);
        self.idle.publish(LANE);
    }

    /// At the end nobody searches, nobody sleeps, and nobody is the guard.
    pub(crate) fn assert_at_rest(&self) {
        assert!(!self.idle.has_guard());
        assert_eq!(self.idle.searching(), 0, "{:?}", self.idle);
        assert!(!self.idle.any_parked(LANE), "{:?}", self.idle);
    }
}

/// Both workers as [`Fixture::run_one`].
pub(crate) const RUN_ONE: [fn(&Fixture); 2] = [|f| f.run_one(0), |f| f.run_one(1)];

/// Models two workers on threads of their own, and `beside` next to them; at the end all are at rest.
pub(crate) fn model_of_two(shape: Shape, workers: [fn(&Fixture); 2], beside: fn(&Fixture)) {
    model_from(shape, |_| {}, workers, beside);
}

/// The same from what `before` has made.
pub(crate) fn model_from(
    shape: Shape,
    before: fn(&Fixture),
    workers: [fn(&Fixture); 2],
    beside: fn(&Fixture),
) {
    model(move || {
        let f = Fixture::new(shape, 2);
        before(&f);
        let threads = workers.map(|worker| {
            let f = f.clone();
            thread::spawn(move || worker(&f))
        });
        beside(&f);
        for thread in threads {
            thread.join().unwrap();
        }
        f.assert_at_rest();
    });
}
