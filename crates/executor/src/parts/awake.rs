//! How many workers of the process are awake: a hint, for threads that would spin.

use terrace_park::Idle;
use terrace_sync::atomic::{AtomicUsize, Ordering};

use super::cores::cores;

terrace_sync::global! {
    /// Workers of all pools that do not sleep. They run, search, or are blocked in users' code.
    static AWAKE: AtomicUsize = AtomicUsize::new(0);
}

/// A worker that is awake. It is counted while this lives.
pub(crate) struct Awake(());

impl Awake {
    /// Counts the calling worker.
    pub(crate) fn begin() -> Self {
        // Ordering: Relaxed, a hint; so are all accesses in this file.
        AWAKE.fetch_add(1, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        AWAKE.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A worker that sleeps. It is not counted while this lives.
pub(crate) struct Asleep(());

impl Asleep {
    /// The calling worker, which is counted as [`Awake`].
    pub(crate) fn begin() -> Self {
        AWAKE.fetch_sub(1, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for Asleep {
    fn drop(&mut self) {
        AWAKE.fetch_add(1, Ordering::Relaxed);
    }
}

/// Whether the awake workers, and so many threads more, have a processor each. Else a thread that spins keeps another one off
/// its processor.
pub(crate) fn has_room_for(more: usize) -> bool {
    AWAKE.load(Ordering::Relaxed) + more <= cores()
}

/// Whether the threads that may bring this worker's next item can run while it spins: the thread that woke it last, and the awake
/// workers.
pub(crate) fn spin_pays(idle: &Idle, worker: usize) -> bool {
    !idle.shares_processor(worker) && has_room_for(0)
}
