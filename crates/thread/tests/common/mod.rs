//! What the tests share.

use std::future::poll_fn;
use std::rc::Rc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::task::{Poll, Waker};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// Far more than any of these tests needs.
pub(crate) const GENEROUS: Duration = Duration::from_secs(60);

/// Runs `body` on a thread of its own, so that its pinned tasks are nobody else's, and fails if it does not end.
pub(crate) fn with_watchdog<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, end) = channel::<()>();
    let thread = thread::spawn(move || {
        let _done = done;
        body()
    });
    // The sender is dropped at the body's end, whatever that is.
    assert_ne!(
        end.recv_timeout(GENEROUS),
        Err(RecvTimeoutError::Timeout),
        "hangs"
    );
    match thread.join() {
        Ok(value) => value,
        Err(payload) => std::panic::resume_unwind(payload),
    }
}

/// Runs the calling thread's tasks, sleeping in between, until `done`.
pub(crate) fn drive_until(mut done: impl FnMut() -> bool) {
    while !done() {
        if !terrace_thread::tick() && !terrace_thread::has_work() {
            terrace_thread::park();
        }
    }
}

/// Sends the waker of the task that awaits, and never completes.
pub(crate) async fn send_waker_and_hang(wakers: Sender<Waker>) {
    poll_fn(|context| {
        wakers
            .send(context.waker().clone())
            .expect("the test listens");
        Poll::Pending
    })
    .await
}

/// Sends the waker of the task that awaits, and completes when it is polled again.
pub(crate) async fn send_waker_and_wait(wakers: Sender<Waker>) {
    let mut sent = false;
    poll_fn(|context| {
        if std::mem::replace(&mut sent, true) {
            return Poll::Ready(());
        }
        wakers
            .send(context.waker().clone())
            .expect("the test listens");
        Poll::Pending
    })
    .await
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
