//! A task that waits for a wake.

use std::task::Waker;

use terrace_local::{LocalExecutor, Task};
use terrace_testing::WakerSlot;

/// A task that needs one wake, and its waker. It waits already.
pub(crate) fn waiting(executor: &LocalExecutor<'_>) -> (Waker, Task<()>) {
    let slot = WakerSlot::default();
    let task = executor.spawn({
        let slot = slot.clone();
        async move { slot.pause().await }
    });
    while executor.try_tick() {}
    (slot.waker(), task)
}
