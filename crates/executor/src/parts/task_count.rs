//! How many tasks were spawned and have ended.

use terrace_sync::atomic::{AtomicUsize, Ordering};

/// The spawns and ends that the holders of one seat saw, or all threads without a seat.
#[derive(Default)]
pub(crate) struct TaskCount {
    spawned: AtomicUsize,
    ended: AtomicUsize,
}

impl TaskCount {
    /// Counts a spawn; the caller is the only thread that counts here at this time.
    #[inline]
    pub(crate) fn spawn(&self) {
        bump(&self.spawned, Ordering::Relaxed);
    }

    /// Counts an end; the caller is the only thread that counts here at this time.
    #[inline]
    pub(crate) fn end(&self) {
        // Ordering: Release, pairs with the Acquire in `ended`: a thread that sees the end sees the spawn.
        bump(&self.ended, Ordering::Release);
    }

    /// As [`spawn`](Self::spawn), for any thread.
    pub(crate) fn spawn_shared(&self) {
        // Ordering: Relaxed, as in `spawn`.
        self.spawned.fetch_add(1, Ordering::Relaxed);
    }

    /// As [`end`](Self::end), for any thread.
    pub(crate) fn end_shared(&self) {
        // Ordering: Release, as in `end`.
        self.ended.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn spawned(&self) -> usize {
        // Ordering: Relaxed. `Seats::active` reads the ends first: their Acquire loads make the
        // spawns of the counted tasks visible here.
        self.spawned.load(Ordering::Relaxed)
    }

    pub(crate) fn ended(&self) -> usize {
        // Ordering: Acquire, pairs with the Release in `end`.
        self.ended.load(Ordering::Acquire)
    }
}

/// Adds one where one thread alone writes: no read-modify-write.
#[inline]
fn bump(counter: &AtomicUsize, store: Ordering) {
    // Ordering: Relaxed, the calling thread alone writes.
    let count = counter.load(Ordering::Relaxed);
    counter.store(count.wrapping_add(1), store);
}
