//! What a worker or a driver shows to the others.

use terrace_local::task::{Runnable, RunnableLinks};
use terrace_queue::Ring;
use terrace_sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::woken::WokenSlot;

/// A place where runnables wait: of one worker, or of one `run` future, at a time. Lies on a board of the pool, so that
/// thieves may look into it at any time.
#[derive(Default)]
pub(crate) struct Seat {
    /// Runnables of its holder, stealable by everybody else.
    pub(crate) ring: Ring<Runnable>,
    /// The task that a worker's running one has just woken; not used by drivers.
    pub(crate) woken: WokenSlot<RunnableLinks>,
    /// Tasks that its holders have spawned and finished.
    pub(crate) tally: Tally,
    fate: AtomicU32,
}

/// The holder stays.
const STAYS: u32 = 0;
/// The holder is asked to end; who asked may think better of it.
const ASKED: u32 = 1;
/// The holder ends.
const ENDS: u32 = 2;

impl Seat {
    /// A new holder has come.
    pub(crate) fn reset(&self) {
        // Ordering: Relaxed, the holder's thread is started afterwards; so in all of these: flags that are looked at
        // after a fence where it matters.
        self.fate.store(STAYS, Ordering::Relaxed);
    }

    /// Asks the holder to end when it has finished what it runs.
    pub(crate) fn ask_to_end(&self) -> bool {
        self.turn(STAYS, ASKED)
    }

    /// Takes that back; false if it is too late.
    pub(crate) fn ask_to_stay(&self) -> bool {
        self.turn(ASKED, STAYS)
    }

    /// Whether the holder was asked to end.
    #[inline]
    pub(crate) fn is_asked_to_end(&self) -> bool {
        self.fate.load(Ordering::Relaxed) != STAYS
    }

    /// The holder ends, if it was asked to and nobody took that back.
    pub(crate) fn end(&self) -> bool {
        self.turn(ASKED, ENDS)
    }

    fn turn(&self, from: u32, to: u32) -> bool {
        self.fate
            .compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }
}

/// How many tasks were spawned and have ended, as far as the holders of one seat saw it.
#[derive(Default)]
pub(crate) struct Tally {
    spawned: AtomicUsize,
    ended: AtomicUsize,
}

impl Tally {
    /// Counts a spawn; for the only thread that counts here at this time.
    #[inline]
    pub(crate) fn spawn(&self) {
        bump(&self.spawned, Ordering::Relaxed);
    }

    /// Counts an end; for the only thread that counts here at this time.
    #[inline]
    pub(crate) fn end(&self) {
        // Ordering: Release, pairs with the Acquire in `ended`: who sees the end sees the spawn.
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
        // Ordering: Relaxed, what has to be seen happened before, see `Shared::active`.
        self.spawned.load(Ordering::Relaxed)
    }

    pub(crate) fn ended(&self) -> usize {
        // Ordering: Acquire, pairs with the Release in `end`.
        self.ended.load(Ordering::Acquire)
    }
}

/// Adds one where nobody else writes: no read-modify-write.
#[inline]
fn bump(counter: &AtomicUsize, store: Ordering) {
    // Ordering: Relaxed, nobody else writes.
    let count = counter.load(Ordering::Relaxed);
    counter.store(count.wrapping_add(1), store);
}
