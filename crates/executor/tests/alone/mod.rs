//! A test with an end in sight, and no other beside it.

use std::sync::{Mutex, PoisonError};
use terrace_testing::on_own_thread;

/// Runs one test at a time: a thread that waits in another one would drive this one's pools without workers, too.
pub(crate) fn alone(test: impl FnOnce() + Send + 'static) {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    on_own_thread(test);
}
