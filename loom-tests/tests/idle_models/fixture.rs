//! Helpers that the models of `terrace-park` share. Their work consists of relaxed counters only, so that every edge
//! between the threads is one of `Idle`'s own. A worker takes one item and never comes back from running it.

use std::time::Duration;

use terrace_park::{GROUP_CAPACITY, Idle, Token, Woken, Work};
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

/// An `Idle` with two workers, and the work that they can find.
pub(crate) struct Fixture {
    pub(crate) idle: Idle,
    /// The number by which `Idle` knows worker 1.
    pub(crate) second: usize,
    pub(crate) items: AtomicUsize,
    pub(crate) private: [AtomicUsize; 2],
    /// The event that workers wait for in restricted waits.
    pub(crate) latches: [AtomicUsize; 2],
}

impl Work for Fixture {
    fn takeable(&self) -> bool {
        self.items.load(Relaxed) > 0
    }

    fn has_private_work(&self, worker: usize) -> bool {
        self.private[worker.min(1)].load(Relaxed) > 0
    }
}

impl Fixture {
    /// Two places, `live` of which are adopted.
    pub(crate) fn new(shape: Shape, live: usize) -> Arc<Self> {
        let second = match shape {
            Shape::OneGroupOfTwo => 1,
            Shape::TwoGroupsOfOne | Shape::OneOfOne => GROUP_CAPACITY,
        };
        let idle = match shape {
            Shape::OneOfOne => Idle::new(1),
            Shape::OneGroupOfTwo | Shape::TwoGroupsOfOne => Idle::new(second + 1),
        };
        for worker in 0..live {
            idle.adopt_live(if worker == 0 { 0 } else { second });
        }
        Arc::new(Self::with(idle, second))
    }

    /// Nothing to find yet.
    pub(crate) fn with(idle: Idle, second: usize) -> Self {
        Self {
            idle,
            second,
            items: AtomicUsize::new(0),
            private: [AtomicUsize::new(0), AtomicUsize::new(0)],
            latches: [AtomicUsize::new(0), AtomicUsize::new(0)],
        }
    }

    /// The number by which `Idle` knows this worker.
    pub(crate) fn number(&self, worker: usize) -> usize {
        [0, self.second][worker]
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
        let token = self.idle.enter(self.number(worker));
        self.run_one_from(worker, token);
    }

    /// The same, for a worker that has entered.
    pub(crate) fn run_one_from(&self, worker: usize, mut token: Token) {
        while !self.take() {
            token = self.idle.park(self.number(worker), token, self);
        }
        self.idle.stop_search(token, self);
    }

    /// The thread of a worker that is the sentinel once, and then parks until it gets one item.
    pub(crate) fn watch_then_run_one(&self, worker: usize) {
        let number = self.number(worker);
        let token = self.idle.enter(number);
        let woken = self
            .idle
            .park_as_sentinel(number, token, self, [Duration::from_millis(2)])
            .expect("there is a flag for each of two");
        self.run_one_from(worker, token_of(woken));
    }

    /// The thread of a worker that parks until it has private work, and leaves.
    pub(crate) fn park_for_inlet(&self, worker: usize) {
        let mut token = self.idle.enter(self.number(worker));
        while self.private[worker].load(Relaxed) == 0 {
            token = self.idle.park(self.number(worker), token, self);
        }
        self.idle.leave(self.number(worker), token, self);
    }

    /// The thread of a worker whose job waits for its latch, which the run of an item will set.
    pub(crate) fn wait_for_latch(&self, worker: usize) {
        let token = self.idle.enter(self.number(worker));
        self.idle.stop_search(token, self);
        let ready = || self.latches[worker].load(Relaxed) > 0;
        while !ready() {
            match self.idle.wait_restricted(self.number(worker), self, ready) {
                terrace_park::Restricted::LastResort if self.take() => self.set_latches(),
                _ => {}
            }
        }
    }

    /// The effect of running the item of a [`wait_for_latch`](Self::wait_for_latch) model.
    pub(crate) fn set_latches(&self) {
        for (worker, latch) in self.latches.iter().enumerate() {
            latch.store(1, Relaxed);
            self.idle.wake_worker(self.number(worker));
        }
    }

    /// Makes an item visible and publishes it.
    pub(crate) fn publish_one(&self) {
        self.put(1);
        self.idle.publish();
    }

    /// At the end no worker searches, no worker sleeps, and no worker is the sentinel.
    pub(crate) fn assert_at_rest(&self) {
        assert!(!self.idle.has_sentinel());
        assert_eq!(self.idle.searching(), 0, "{:?}", self.idle);
        assert!(!self.idle.any_parked(), "{:?}", self.idle);
    }
}

/// The token, however the sleep ended.
pub(crate) fn token_of(woken: Woken) -> Token {
    match woken {
        Woken::Unparked(token) | Woken::TimedOut(token) => token,
    }
}

/// Both workers as [`Fixture::run_one`].
pub(crate) const RUN_ONE: [fn(&Fixture); 2] = [|f| f.run_one(0), |f| f.run_one(1)];

/// Models two workers on threads of their own, and `beside` next to them; at the end all are at rest.
pub(crate) fn model_of_two(shape: Shape, workers: [fn(&Fixture); 2], beside: fn(&Fixture)) {
    model_from(shape, |_| {}, workers, beside);
}

/// The same, from the state that `before` has made.
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
