//! A test with an end in sight.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// For hangs; nothing here takes a tenth of it.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs `test` on a thread of its own, and fails if it hangs.
pub(crate) fn limited(test: impl FnOnce() + Send + 'static) {
    let (done, wait) = channel();
    let thread = thread::spawn(move || {
        test();
        done.send(()).expect("it is waited for");
    });
    match wait.recv_timeout(LIMIT) {
        Ok(()) => thread.join().expect("the test has ended"),
        Err(RecvTimeoutError::Disconnected) => {
            let payload = thread.join().expect_err("it did not come to its end");
            std::panic::resume_unwind(payload)
        }
        Err(error) => panic!("{error}: the test hangs"),
    }
}
