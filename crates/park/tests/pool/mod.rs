//! Threads that sleep once in a given way and hand back what came of it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use terrace_park::{GroupConfig, Idle, Restricted, Token, Work};

/// How long a test waits for something that takes microseconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until `what` holds.
pub(crate) fn eventually(what: impl Fn() -> bool) {
    let start = Instant::now();
    while !what() {
        assert!(start.elapsed() < PATIENCE, "waited in vain");
        std::thread::yield_now();
    }
}

pub(crate) struct Pool {
    idle: Idle,
    items: AtomicUsize,
}

/// The pool inside a thread scope.
pub(crate) struct Scoped<'scope, 'env> {
    pub(crate) idle: &'env Idle,
    pub(crate) items: &'env AtomicUsize,
    scope: &'scope std::thread::Scope<'scope, 'env>,
}

/// A view of the pool's work.
#[derive(Clone, Copy)]
struct View<'a>(&'a AtomicUsize);

impl Work for View<'_> {
    fn takeable(&self, _lanes: u32) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }

    fn inlet(&self, _worker: usize) -> bool {
        false
    }
}

impl Work for Scoped<'_, '_> {
    fn takeable(&self, lanes: u32) -> bool {
        View(self.items).takeable(lanes)
    }

    fn inlet(&self, worker: usize) -> bool {
        View(self.items).inlet(worker)
    }
}

/// What a sleeping thread will send.
pub(crate) struct Sleeping<T>(Receiver<T>);

impl Sleeping<Token> {
    pub(crate) fn token(self) -> Token {
        self.0.recv_timeout(PATIENCE).expect("the sleeper is woken")
    }
}

impl Sleeping<Restricted> {
    pub(crate) fn outcome(self) -> Restricted {
        self.0.recv_timeout(PATIENCE).expect("the waiter is woken")
    }
}

impl Pool {
    pub(crate) fn new(groups: &[GroupConfig]) -> Self {
        Self {
            idle: Idle::new(groups),
            items: AtomicUsize::new(0),
        }
    }

    pub(crate) fn with(&self, test: impl for<'scope> FnOnce(&Scoped<'scope, '_>)) {
        std::thread::scope(|scope| {
            test(&Scoped {
                idle: &self.idle,
                items: &self.items,
                scope,
            });
        });
        assert_eq!(self.idle.searching(), 0);
    }
}

impl<'scope> Scoped<'scope, '_> {
    fn spawn<T: Send + 'scope>(
        &self,
        body: impl FnOnce(&Idle, View<'_>) -> T + Send + 'scope,
    ) -> Sleeping<T> {
        let (send, receive) = channel();
        let (idle, items) = (self.idle, self.items);
        self.scope.spawn(move || {
            // The test may have failed and gone; its own panic says so.
            let _ = send.send(body(idle, View(items)));
        });
        Sleeping(receive)
    }

    /// A thread that enters as `worker` and parks.
    pub(crate) fn sleeper(&self, worker: usize) -> Sleeping<Token> {
        self.spawn(move |idle, work| idle.park(worker, idle.enter(worker), &work))
    }

    /// A thread that enters as `worker` and parks as the guard.
    pub(crate) fn guard(&self, worker: usize, timeout: Duration) -> Sleeping<Token> {
        self.spawn(move |idle, work| {
            let token = idle.enter(worker);
            let woken = idle.park_as_guard(worker, token, &work, timeout);
            woken.expect("the only guard").into_token()
        })
    }

    /// A thread that enters as `worker`, waits restricted, and leaves.
    pub(crate) fn waiter(&self, worker: usize) -> Sleeping<Restricted> {
        self.spawn(move |idle, work| {
            idle.stop_search(idle.enter(worker), &work);
            let outcome = idle.wait_restricted(worker, &work, || false);
            idle.leave(worker, None, &work);
            outcome
        })
    }

    /// Waits until `count` workers of lane 0 are parked.
    pub(crate) fn await_parked(&self, count: usize) {
        eventually(|| self.idle.parked(1) == count);
    }
}
