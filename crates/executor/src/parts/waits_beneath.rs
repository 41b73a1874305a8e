//! Waits whose threads run on in the meantime: the watch takes them for waits all the same, in case that run blocks.

use terrace_sync::atomic::{AtomicUsize, Ordering};
use terrace_sync::weakened;

/// Waits of a pool's workers, each with a run of the awaited task on top.
#[derive(Default)]
pub(crate) struct WaitsBeneath(AtomicUsize);

impl WaitsBeneath {
    /// Calls `run`, which does not unwind, on top of a wait.
    pub(crate) fn during<T>(&self, run: impl FnOnce() -> T) -> T {
        // Ordering: Relaxed in all three. The watch looks again and again, and an old value makes it late or early.
        self.0.fetch_add(1, Ordering::Relaxed);
        let ran = run();
        self.0.fetch_sub(1, Ordering::Relaxed);
        ran
    }

    /// Whether there is one; a hint.
    pub(crate) fn any(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0 && !weakened!("executor-awaited-hides-its-wait")
    }
}
