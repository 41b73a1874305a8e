//! Helpers that the tests share.

use std::future::poll_fn;
use std::sync::mpsc::Sender;
use std::task::{Poll, Waker};

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
