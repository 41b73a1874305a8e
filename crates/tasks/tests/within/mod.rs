//! A time limit for tests.

use std::sync::mpsc;
use std::time::Duration;

/// Runs `body` on a thread of its own and fails if it does not end: a hang is a failure, not a wait.
#[track_caller]
pub(crate) fn within<R: Send + 'static>(body: impl FnOnce() -> R + Send + 'static) -> R {
    let (sender, receiver) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let result = body();
        // Nobody receives once the test has failed.
        let _late = sender.send(());
        result
    });
    if receiver.recv_timeout(Duration::from_secs(60)) == Err(mpsc::RecvTimeoutError::Timeout) {
        panic!("no end after a minute");
    }
    thread
        .join()
        .unwrap_or_else(|payload| std::panic::resume_unwind(payload))
}
