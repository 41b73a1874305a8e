//! The short look around before a thread sleeps, and how many workers are awake.

use std::thread::available_parallelism;
use std::time::Duration;

use terrace_sync::OnceLock;
use terrace_sync::atomic::{AtomicUsize, Ordering};
use terrace_sync::hint::spin_loop;
use terrace_sync::time::Instant;

terrace_sync::global! {
    /// Asked for once: the answer takes dozens of system calls.
    static CORES: OnceLock<usize> = OnceLock::new();
    /// Workers of all pools that do not sleep. They run, search, or are blocked in users' code.
    static AWAKE: AtomicUsize = AtomicUsize::new(0);
}

/// The number of processors that the process may use, as the system said first; one if it cannot tell.
pub(crate) fn cores() -> usize {
    *CORES.get_or_init(|| available_parallelism().map_or(1, usize::from))
}

/// Asks the system anew. [`cores`] need not ask then.
pub(crate) fn ask_for_cores() -> usize {
    let cores = available_parallelism().map_or(1, usize::from);
    CORES.get_or_init(|| cores);
    cores
}

/// The calling worker is counted as awake while this lives, or as asleep. It holds what was added to the count.
pub(crate) struct Awake(usize);

impl Awake {
    /// Counts the calling worker.
    pub(crate) fn begin() -> Self {
        Self::add(1)
    }

    /// The calling worker, which is counted, goes to sleep.
    pub(crate) fn pause() -> Self {
        Self::add(usize::MAX)
    }

    fn add(count: usize) -> Self {
        // Ordering: Relaxed, a hint; so are all accesses to the count.
        AWAKE.fetch_add(count, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        AWAKE.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// Whether the awake workers, and so many threads more, have a processor each.
pub(crate) fn has_room_for(more: usize) -> bool {
    AWAKE.load(Ordering::Relaxed) + more <= cores()
}

/// Asks again and again whether `found`, for at most about `most`; true as soon as it is.
///
/// A thread looks around before it sleeps: for [`CALL`](crate::tuned::CALL) if it knows nothing of the next item; for
/// [`WAKE`](crate::tuned::WAKE) where another thread is in the middle of what it waits for, or has handed out a part of its work just now and
/// is likely to hand out more.
///
/// Looks in vain make none shorter. If they did, a lone remote task would find its worker asleep, and the
/// worker its waiter asleep. That costs ten times as much as the looks. Nor does it yield the thread after each look.
/// On a machine with idle cores a yield finds no more, and makes a lone task wait for the system call.
///
/// It pays only where the thread that brings the next item can run at the same time. A waker notes its processor in the
/// sleeper that it wakes (`terrace_sync::thread::LastProcessor`). Where that is the processor on which the woken thread is
/// now, the callers sleep at once: the kernel often puts a waiter and its only worker on one core. They look around where other
/// threads want their processor, too: a thread that gives it up then may get it back some milliseconds later.
pub(crate) fn spin(most: Duration, found: impl Fn() -> bool) -> bool {
    // A page has one thread: no other thread brings it a task, and it has no clock.
    if cfg!(target_family = "wasm") {
        return false;
    }
    let start = Instant::now();
    loop {
        for _ in 0..16 {
            spin_loop();
        }
        if found() {
            return true;
        }
        if start.elapsed() >= most {
            return false;
        }
    }
}
