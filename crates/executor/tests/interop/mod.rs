//! What the interop tests share: an end in sight, and the bytes that travel.

use std::future::Future;

use terrace_executor::{Executor, block_on};
use terrace_testing::on_own_thread;

/// Connections of one test.
pub(crate) const CLIENTS: usize = 8;

/// What client `i` sends; the server answers with the bytes in reverse.
pub(crate) fn message(i: usize) -> Vec<u8> {
    (0..100 + i).map(|n| (n * 7 + i) as u8).collect()
}

/// The answer to `message`.
pub(crate) fn answer(mut message: Vec<u8>) -> Vec<u8> {
    message.reverse();
    message
}

/// Runs a test's main future on executors of 1 and of 3 workers; a hang is a failure.
pub(crate) fn on_workers<F: Future<Output = ()> + Send + 'static>(
    test: impl Fn(std::sync::Arc<Executor<'static>>) -> F + Send + 'static,
) {
    on_own_thread(move || {
        for workers in [1, 3] {
            let executor = Executor::builder().workers(workers).build();
            let executor = std::sync::Arc::new(executor);
            block_on(executor.spawn(test(std::sync::Arc::clone(&executor))));
        }
    });
}
