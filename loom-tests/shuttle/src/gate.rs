//! A future that stays pending until another thread opens it.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use terrace_sync::{Arc, Mutex};

#[derive(Default)]
struct State {
    open: bool,
    waiting: Vec<Waker>,
}

/// Lets its [`Passing`]s through once it is open.
#[derive(Clone, Default)]
pub struct Gate(Arc<Mutex<State>>);

impl Gate {
    /// A closed gate.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens the gate and wakes every task that waits.
    pub fn open(&self) {
        let waiting = {
            let mut state = self.0.lock();
            state.open = true;
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    /// A future that is ready once the gate is open.
    pub fn pass(&self) -> Passing {
        Passing(self.clone())
    }
}

/// See [`Gate::pass`].
#[must_use = "futures do nothing unless polled"]
pub struct Passing(Gate);

impl Future for Passing {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.0.lock();
        if state.open {
            return Poll::Ready(());
        }
        if !state.waiting.iter().any(|w| w.will_wake(context.waker())) {
            state.waiting.push(context.waker().clone());
        }
        Poll::Pending
    }
}
