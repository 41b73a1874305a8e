//! Threads that sleep once in a given way and hand back what came of it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use terrace_park::{Idle, Restricted, Token, Woken, Work};

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
    pub(crate) idle: Idle,
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
    fn takeable(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }

    fn has_private_work(&self, _worker: usize) -> bool {
        false
    }
}

impl Work for Scoped<'_, '_> {
    fn takeable(&self) -> bool {
        View(self.items).takeable()
    }

    fn has_private_work(&self, worker: usize) -> bool {
        View(self.items).has_private_work(worker)
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
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            idle: Idle::new(workers),
            items: AtomicUsize::new(0),
        }
    }

    /// Runs `test`, and the threads that it starts, on one processor where the system can: there the lowest worker is woken first.
    pub(crate) fn with(&self, test: impl for<'scope> FnOnce(&Scoped<'scope, '_>) + Send) {
        std::thread::scope(|outer| {
            let test = outer.spawn(|| {
                #[cfg(target_os = "linux")]
                assert!(terrace_testing::processors().next().is_some());
                std::thread::scope(|scope| {
                    test(&Scoped {
                        idle: &self.idle,
                        items: &self.items,
                        scope,
                    });
                });
            });
            if let Err(panic) = test.join() {
                std::panic::resume_unwind(panic);
            }
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
        self.idle.adopt_live(worker);
        self.spawn(move |idle, work| idle.park(worker, idle.enter(worker), &work))
    }

    /// A thread that enters as `worker` and parks as the sentinel.
    pub(crate) fn sentinel(&self, worker: usize, timeout: Duration) -> Sleeping<Token> {
        self.idle.adopt_live(worker);
        self.spawn(move |idle, work| {
            let token = idle.enter(worker);
            let woken = idle.park_as_sentinel(worker, token, &work, [timeout]);
            token_of(woken.expect("the only sentinel"))
        })
    }

    /// A thread that enters as `worker`, waits restricted, and leaves.
    pub(crate) fn waiter(&self, worker: usize) -> Sleeping<Restricted> {
        self.idle.adopt_live(worker);
        self.spawn(move |idle, work| {
            idle.stop_search(idle.enter(worker), &work);
            let outcome = idle.wait_restricted(worker, &work, || false);
            idle.leave(worker, None, &work);
            outcome
        })
    }

    /// Waits until all live workers but `count` are asleep.
    pub(crate) fn await_awake(&self, count: usize) {
        eventually(|| self.idle.awake() == count);
    }
}

/// The token, however the sleep ended.
pub(crate) fn token_of(woken: Woken) -> Token {
    match woken {
        Woken::Unparked(token) | Woken::TimedOut(token) => token,
    }
}
