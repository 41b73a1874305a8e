//! What the tests share: small futures, and values that check where they are used.
#![expect(dead_code, reason = "each test uses its part")]

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::task::{Context, Poll, Waker};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// Far more than any of these tests needs.
pub(crate) const GENEROUS: Duration = Duration::from_secs(60);

/// Runs `body` on a thread of its own and fails if it does not end.
pub(crate) fn with_watchdog(body: impl FnOnce() + Send + 'static) {
    let (done, end) = channel();
    let thread = thread::spawn(move || {
        body();
        done.send(()).expect("the watchdog listens");
    });
    match end.recv_timeout(GENEROUS) {
        Err(RecvTimeoutError::Timeout) => panic!("hangs"),
        Ok(()) | Err(RecvTimeoutError::Disconnected) => {
            if let Err(payload) = thread.join() {
                std::panic::resume_unwind(payload);
            }
        }
    }
}

/// What has come so far.
pub(crate) fn received<T>(receiver: &Receiver<T>) -> Vec<T> {
    receiver.try_iter().collect()
}

/// Polls once with a waker that does nothing.
pub(crate) fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// A shared place for the waker of a task.
#[derive(Clone, Default)]
pub(crate) struct Slot(Rc<RefCell<Option<Waker>>>);

impl Slot {
    /// Puts the waker of the task that awaits into the slot, and never completes.
    pub(crate) async fn park<T>(self) -> T {
        poll_fn(|context| {
            *self.0.borrow_mut() = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// Puts the waker of the task that awaits into the slot and returns once, `Pending`.
    pub(crate) async fn pause(&self) {
        let mut parked = false;
        poll_fn(|context| {
            if std::mem::replace(&mut parked, true) {
                return Poll::Ready(());
            }
            *self.0.borrow_mut() = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// The waker.
    pub(crate) fn take(&self) -> Waker {
        self.0.borrow_mut().take().expect("the task has waited")
    }
}

/// Neither Send nor Sync, and ends the process if it is used or dropped on another thread than the one that made it. (A
/// panic in its destructor would be caught with the task's.)
pub(crate) struct Homebody(Rc<ThreadId>);

impl Homebody {
    pub(crate) fn new() -> Self {
        Self(Rc::new(thread::current().id()))
    }

    pub(crate) fn check(&self) {
        if *self.0 != thread::current().id() {
            eprintln!("made on {:?}, used on {:?}", self.0, thread::current().id());
            std::process::abort();
        }
    }
}

impl Drop for Homebody {
    fn drop(&mut self) {
        self.check();
    }
}
