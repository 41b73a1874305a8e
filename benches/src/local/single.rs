//! Workloads on the owner's thread alone, driven by `try_tick`: short enough to count instructions.

use std::cell::RefCell;
use std::future::poll_fn;
use std::task::{Poll, Waker};

use futures_lite::future;

use crate::spawn::{Contender, Spawner};

/// An executor that runs one task at a call, on the calling thread.
pub trait Ticked: Contender {
    /// Runs a task, if one is ready.
    fn try_tick(&self) -> bool;
}

/// `amount` tasks, spawned and detached, then run to their end, which is their first poll.
pub fn spawn_run_detach<C: Ticked>(contender: C, amount: usize) -> impl FnMut() {
    move || {
        for _ in 0..amount {
            C::Spawner::detach(contender.spawner().spawn(async {}));
        }
        while contender.try_tick() {}
    }
}

/// A task that wakes itself `wakes` times while it runs.
pub fn wake_self<C: Ticked>(contender: C, wakes: usize) -> impl FnMut() {
    move || {
        C::Spawner::detach(contender.spawner().spawn(async move {
            for _ in 0..wakes {
                future::yield_now().await;
            }
        }));
        while contender.try_tick() {}
    }
}

thread_local! {
    /// The waker that the task of [`wake_owner`] left.
    static WAKER: RefCell<Option<Waker>> = const { RefCell::new(None) };
}

/// A task that is woken `wakes` times by its own thread while it does not run.
pub fn wake_owner<C: Ticked>(contender: C, wakes: usize) -> impl FnMut() {
    move || {
        C::Spawner::detach(contender.spawner().spawn(async move {
            for _ in 0..wakes {
                wait().await;
            }
        }));
        contender.try_tick();
        while let Some(waker) = WAKER.take() {
            waker.wake();
            contender.try_tick();
        }
    }
}

/// Leaves a waker and waits for it to be used.
async fn wait() {
    let mut waited = false;
    poll_fn(|context| {
        if std::mem::replace(&mut waited, true) {
            return Poll::Ready(());
        }
        WAKER.set(Some(context.waker().clone()));
        Poll::Pending
    })
    .await;
}
