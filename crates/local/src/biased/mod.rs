//! [`State`]: who refers to a task and what is to become of it, in two words. One is plain and the home thread's, the other
//! atomic and everybody else's.
//!
//! Biased reference counting (Choi, Shull, Torrellas, PACT 2018), with the state of a task beside the counts. The executor
//! has every future dropped at home, so the bias ends there, by one step: [`finish`](State::finish) adds the plain count to
//! the atomic one and sets `MERGED`. From then on all threads are alike.
//!
//! | who                       | at home, before the end       | elsewhere, before the end               | after the end    |
//! |---------------------------|-------------------------------|-----------------------------------------|------------------|
//! | clones a waker            | count + 1                     | atomic count + 1                        | atomic           |
//! | drops one                 | count - 1; the last one: the future goes | atomic count - 1; if that may be the last one: `NOTIFIED`, pushes | atomic; the last frees |
//! | wakes                     | `QUEUED`, to the run queue    | `NOTIFIED`, `WOKEN`, to the inbox       | nothing          |
//! | cancels                   | `CLOSED`, to the run queue    | `NOTIFIED`, `CANCELLED`, to the inbox   | nothing          |
//! | drops the handle          | the same, and `LET_GO`        | the same, and `DETACHED`                | takes the outcome |
//! | awaits                    | writes the waker, `JOIN`      | the same                                | takes the outcome |
//!
//! Invariants:
//! - The number of references is the sum of the two counts. The plain one is never negative, so where the atomic one is
//!   above 0 there is a reference. Only home can tell whether there is one otherwise.
//! - An item in the run queue (`QUEUED`), a poll (`RUNNING`) and an item in the inbox (`NOTIFIED`) are a reference each, and
//!   there is one of each kind at most. `NOTIFIED` is cleared when the item arrives.
//! - The atomic count may be below 0: what was counted at home is given back elsewhere. An item that arrives settles that,
//!   or else the plain count would grow with each wake; so does a clone that finds it at its limit.
//! - Who sees, with Acquire, that the only reference is its own has the cell for itself: nobody is left to make another.
//!   (Not so in a poll, whose waker may be lent to other threads without being counted.)
//! - A `finish` that finds `NOTIFIED` has found a push under way, or in the inbox: its item arrives later and is dropped.
//! - The awaiter is the handle's while `JOIN` is clear and nobody's but the home thread's while it is set. A handle
//!   elsewhere clears `JOIN` before it touches the awaiter; at home it need not, for the only other one is on this thread.
//!
//! No code of users runs in here but that of wakers in [`join`](State::join), while nothing is borrowed, so all of it can be
//! modelled: `loom-tests/tests/local_task`.

mod elsewhere;
mod home;
mod join;
#[cfg(all(test, not(any(terrace_loom, terrace_shuttle))))]
mod tests;
mod turn;

pub use self::join::Joined;
pub use self::turn::{Arrival, Finished, Pended};

use core::task::Waker;

use terrace_sync::atomic::{AtomicUsize, Ordering};
use terrace_sync::cell::UnsafeCell;

/// An item is in the inbox, or about to be.
const NOTIFIED: usize = 1;
/// It is there to have the task polled.
const WOKEN: usize = 1 << 1;
/// It is there to have the future dropped.
const CANCELLED: usize = 1 << 2;
/// The future has been dropped, and all references are counted here.
const MERGED: usize = 1 << 3;
/// There is an outcome for the handle to take.
const OUTCOME: usize = 1 << 4;
/// The awaiter is that of whoever finishes the task.
const JOIN: usize = 1 << 5;
/// The handle is gone, and went elsewhere.
const DETACHED: usize = 1 << 6;
/// Above it is the number of references, with a sign.
const SHIFT: u32 = 7;
/// One reference.
const ONE: usize = 1 << SHIFT;

/// Counts beyond this abort the process: far less than what fits either count, so that it is noticed in time on any thread. Few
/// in unit tests, which reach it.
const LIMIT: isize = {
    let fits = isize::MAX >> (SHIFT + 1);
    let limit = if cfg!(test) { 1_000 } else { 1 << 30 };
    if fits < limit { fits } else { limit }
};

/// The references that `state` counts.
#[inline]
const fn count(state: usize) -> isize {
    0_isize.wrapping_add_unsigned(state) >> SHIFT
}

/// The word of the home thread.
struct Home {
    references: u32,
    flags: u8,
}

/// In the run queue.
const QUEUED: u8 = 1;
/// Being polled.
const RUNNING: u8 = 1 << 1;
/// Woken while being polled.
const AGAIN: u8 = 1 << 2;
/// To be dropped rather than polled.
const CLOSED: u8 = 1 << 3;
/// The handle is gone, and went at home.
const LET_GO: u8 = 1 << 4;
/// Merged.
const DONE: u8 = 1 << 5;

/// What a step asks of its caller.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use]
pub enum Step {
    /// Nothing.
    Nothing,
    /// There is an item, with a reference of its own: at home for the run queue, elsewhere for the inbox.
    Queue,
    /// The task has ended, and that was its last reference: the cell is to be freed.
    Free,
    /// The task has ended before: the caller, its handle, keeps its reference and sees to the outcome.
    Ended,
}

/// See the [module](self).
pub struct State {
    abroad: AtomicUsize,
    /// Home only; nobody borrows it for longer than one method here.
    home: UnsafeCell<Home>,
    /// Not 0 once a registry at home has a reference, until the task ends: none elsewhere is the last then.
    registered: AtomicUsize,
    awaiter: UnsafeCell<Option<Waker>>,
}

// SAFETY: `home` is touched by methods that require the home thread, and the awaiter by the protocol of `JOIN`; a waker is Send.
unsafe impl Send for State {}
// SAFETY: as above.
unsafe impl Sync for State {}

impl State {
    fn new(abroad: usize, home: Home) -> Self {
        Self {
            abroad: AtomicUsize::new(abroad),
            home: UnsafeCell::new(home),
            registered: AtomicUsize::new(0),
            awaiter: UnsafeCell::new(None),
        }
    }

    /// Spawned at home: an item for the run queue, and a handle.
    #[must_use]
    pub fn at_home() -> Self {
        Self::new(
            0,
            Home {
                references: 2,
                flags: QUEUED,
            },
        )
    }

    /// Spawned elsewhere: an item for the inbox, and a handle.
    #[must_use]
    pub fn elsewhere() -> Self {
        Self::new(
            NOTIFIED + WOKEN + 2 * ONE,
            Home {
                references: 0,
                flags: 0,
            },
        )
    }

    /// Runs one step on the home thread's word.
    ///
    /// # Safety
    /// The caller is on the home thread and has a reference, or nobody else has one.
    #[inline(always)]
    unsafe fn with_home<R>(&self, f: impl FnOnce(&mut Home) -> R) -> R {
        self.home.with_mut(|home| {
            // SAFETY: home only, and `f` calls nothing that borrows it again.
            f(unsafe { &mut *home })
        })
    }

    /// Replaces the atomic word by what `next` makes of it; `None` leaves it. Returns what it was.
    #[inline]
    fn update(&self, mut next: impl FnMut(usize) -> Option<usize>) -> usize {
        // Ordering: Acquire, for what is done on seeing `MERGED`: what the cell holds was written before.
        let mut state = self.abroad.load(Ordering::Acquire);
        while let Some(new) = next(state) {
            // Ordering: AcqRel. Release hands on what this thread did with its reference or before its wake, Acquire takes
            // over what others did.
            match self
                .abroad
                .compare_exchange_weak(state, new, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => break,
                Err(found) => state = found,
            }
        }
        state
    }

    /// Drops a reference of a task that has ended. True if it was the last one: the caller frees the cell.
    #[must_use]
    pub fn release_ended(&self) -> bool {
        let acquire = if cfg!(terrace_weaken = "local-task-last-acquire") {
            Ordering::Relaxed
        } else {
            Ordering::Acquire
        };
        // Ordering: Acquire, pairs with the Release of the others' decrements. Who has the only reference need not count.
        if count(self.abroad.load(acquire)) == 1 {
            return true;
        }
        // Ordering: AcqRel, so that all uses of the cell come before it is freed.
        count(self.abroad.fetch_sub(ONE, Ordering::AcqRel)) == 1
    }

    /// From now on a registry has a reference, until the end: what is dropped elsewhere is not the last one.
    #[inline]
    pub fn set_registered(&self) {
        // Ordering: Relaxed. Who does not see it asks home in vain, which does no harm.
        self.registered.store(1, Ordering::Relaxed);
    }

    /// Whether the task has ended: its future has been dropped; the outcome, if there is one, is there.
    #[inline]
    #[must_use]
    pub fn is_finished(&self) -> bool {
        // Ordering: Acquire, pairs with the Release in `finish`.
        self.abroad.load(Ordering::Acquire) & MERGED != 0
    }

    /// Whether an ended task has an outcome for its handle.
    #[inline]
    #[must_use]
    pub fn has_outcome(&self) -> bool {
        // Ordering: Relaxed, the caller has seen that it has ended.
        self.abroad.load(Ordering::Relaxed) & OUTCOME != 0
    }
}

/// Ends the process: so many references exist only if they are leaked in a loop, and a count that wraps around frees what is
/// in use.
#[cold]
extern "C" fn too_many_references() -> ! {
    panic!("too many references to a task: wakers are leaked in a loop");
}
