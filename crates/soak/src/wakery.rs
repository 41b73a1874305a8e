//! Threads that are no workers and wake tasks, soon, late, or long after their executor is gone.

use std::sync::{Condvar, Mutex, PoisonError};
use std::task::Waker;
use std::thread::JoinHandle;

use terrace_sync::Arc;
use terrace_testing::Random;

use crate::account::Ledger;

#[derive(Default)]
struct State {
    wakers: Vec<Waker>,
    closing: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    more: Condvar,
}

/// Takes wakers and wakes them from threads of its own, in any order.
pub(crate) struct Wakery {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Vec<Waker>>>,
}

/// Where wakers are handed in.
#[derive(Clone)]
pub(crate) struct Counter(Arc<Shared>);

impl Wakery {
    pub(crate) fn open(threads: usize, ledger: &Arc<Ledger>, random: &mut Random) -> Self {
        let shared = Arc::new(Shared::default());
        let threads = (0..threads)
            .map(|_| {
                let (shared, ledger) = (Arc::clone(&shared), Arc::clone(ledger));
                let random = random.split();
                std::thread::spawn(move || shared.serve(&ledger, random))
            })
            .collect();
        Self { shared, threads }
    }

    pub(crate) fn counter(&self) -> Counter {
        Counter(Arc::clone(&self.shared))
    }

    /// Wakes the wakers that are left, ends the threads, and returns the wakers that were kept for
    /// later.
    pub(crate) fn close(self) -> Vec<Waker> {
        self.shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .closing = true;
        self.shared.more.notify_all();
        self.threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("a wakery thread does not panic"))
            .collect()
    }
}

impl Counter {
    /// The task will be woken, some time, by some other thread.
    pub(crate) fn hand_in(&self, waker: Waker) {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.wakers.push(waker);
        drop(state);
        self.0.more.notify_one();
    }
}

impl Shared {
    fn serve(&self, ledger: &Ledger, mut random: Random) -> Vec<Waker> {
        let mut kept = Vec::new();
        loop {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            while state.wakers.is_empty() && !state.closing {
                state = self
                    .more
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            if state.wakers.is_empty() {
                return kept;
            }
            let at = random.below(state.wakers.len());
            let waker = state.wakers.swap_remove(at);
            drop(state);
            if random.once_in(50) {
                std::thread::sleep(random.micros(500));
            }
            ledger.wake();
            match random.below(4) {
                0 => {
                    waker.wake_by_ref();
                    kept.push(waker);
                }
                1 => {
                    // Two wakes at once, one of them of a clone.
                    let other = waker.clone();
                    waker.wake();
                    other.wake();
                }
                2 => {
                    waker.wake_by_ref();
                    drop(waker);
                }
                _ => waker.wake(),
            }
            // A few are kept to the end.
            if kept.len() > 64 {
                kept.swap_remove(random.below(64));
            }
        }
    }
}
