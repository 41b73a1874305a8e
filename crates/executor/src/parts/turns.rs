//! What a turn of a runner may do: whose work goes first in it, and how many new tasks it polls as it spawns them.
//!
//! [`Fairness`] is between the tasks in the runner's own slot and ring and all other tasks. [`Entered`] keeps to the limits of
//! `terrace-local` for eager children, and one more: [`PENDING_EAGER`].

use std::cell::Cell;

use terrace_local::eager::{A_TURN, DEEPEST};

use crate::tuned::{ENDED_EAGER, GLOBAL_INTERVAL, PENDING_EAGER};

/// Counts the turns of one worker or driver, and makes its random numbers.
pub(crate) struct Fairness {
    /// Turns until another source than the high lane goes first.
    until_global: Cell<u32>,
    /// Turns of the own ring until the next look into the injector.
    left: Cell<u32>,
    seed: Cell<u32>,
    /// The seat that was looked at last, and its work that may be stalled.
    pub(crate) suspect: Cell<(usize, Option<Seen>)>,
    /// Likewise a job that another thread has forked.
    pub(crate) fork_suspect: Cell<(usize, Option<Seen>)>,
}

/// A spot where work lies that its owner is expected to take.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spot {
    /// The LIFO slot of the worker with this number.
    Slot(usize),
    /// The ring of the seat with this number.
    Ring(usize),
    /// The deque of the fork seat with this number.
    Fork(usize),
    /// The list of the scope with this number.
    Scope(usize),
}

/// What a look has seen there. If a later look sees the same, the owner has not come to it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) spot: Spot,
    /// Another number once a thread has taken from there; of a slot, once another task lies in it; of a deque, once its oldest job is another
    /// one.
    pub(crate) look: u64,
}

impl Fairness {
    pub(crate) fn new(index: usize) -> Self {
        Self {
            until_global: Cell::new(GLOBAL_INTERVAL - 1),
            left: Cell::new(0),
            seed: Cell::new((index as u32).wrapping_mul(0x9E37_79B9) | 1),
            suspect: Cell::default(),
            fork_suspect: Cell::default(),
        }
    }

    /// Whether the ring has had a full round since this was true last: as many turns as it had tasks then, at most
    /// [`GLOBAL_INTERVAL`]. If so, `length` tells how many it has now.
    #[inline]
    pub(crate) fn round_is_over(&self, length: impl FnOnce() -> usize) -> bool {
        let left = self.left.get().checked_sub(1);
        self.left
            .set(left.unwrap_or_else(|| (length() as u32).min(GLOBAL_INTERVAL - 1)));
        left.is_none()
    }

    /// Whether this turn is one of those, every [`GLOBAL_INTERVAL`]th, in which something else goes first.
    #[inline]
    pub(crate) fn is_global_turn(&self) -> bool {
        let left = self.until_global.get().checked_sub(1);
        self.until_global.set(left.unwrap_or(GLOBAL_INTERVAL - 1));
        left.is_none()
    }

    /// Whether the worker may take from its own slot or ring now: neither `is_global_turn` nor `round_is_over` would be true.
    #[inline]
    pub(crate) fn may_run_local(&self) -> bool {
        self.until_global.get() != 0 && self.left.get() != 0
    }

    /// Counts a turn of the slot; `may_run_local` was true.
    #[inline]
    pub(crate) fn slot_ran(&self) {
        self.until_global.set(self.until_global.get() - 1);
    }

    /// Counts a turn of the ring; `may_run_local` was true.
    #[inline]
    pub(crate) fn ring_ran(&self) {
        self.slot_ran();
        self.left.set(self.left.get() - 1);
    }

    /// A number below `bound`. Marsaglia's xorshift32.
    pub(crate) fn random(&self, bound: usize) -> usize {
        let mut x = self.seed.get();
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        self.seed.set(x);
        x as usize % bound
    }
}

struct Eager {
    /// The eager polls that the thread is in the middle of, of all pools.
    depth: Cell<usize>,
    /// How many more eager children the thread polls before it queues some.
    left: Cell<u32>,
    /// How many more eager children of this turn may turn out to be pending.
    pending: Cell<u32>,
    /// How many of the last eager children ended at once, one after the other. Stops at [`ENDED_EAGER`].
    ended: Cell<u32>,
}

terrace_sync::thread_local! {
    /// Plain data without a destructor: it is there in destructors of thread-locals, too, as it was or new.
    static EAGER: Eager = const {
        Eager {
            depth: Cell::new(0),
            left: Cell::new(A_TURN),
            pending: Cell::new(PENDING_EAGER),
            ended: Cell::new(0),
        }
    };
}

/// A turn begins, of a task or of a driver's own future.
#[inline]
pub(crate) fn begin_turn() {
    EAGER.with(|eager| {
        eager.left.set(A_TURN);
        eager.pending.set(PENDING_EAGER);
    });
}

/// An eager poll in progress.
pub(crate) struct Entered(());

impl Entered {
    /// Begins one, unless the child is to be queued. Counts it.
    #[inline]
    pub(crate) fn try_new() -> Option<Self> {
        EAGER.with(|eager| {
            let Some(left) = eager.left.get().checked_sub(1) else {
                if eager.pending.get() > 0 {
                    eager.left.set(A_TURN);
                }
                return None;
            };
            eager.left.set(left);
            let depth = eager.depth.get();
            if depth == DEEPEST {
                return None;
            }
            eager.depth.set(depth + 1);
            Some(Self(()))
        })
    }

    /// Whether the child is likely to end at once.
    #[inline]
    pub(crate) fn is_likely_to_end(&self) -> bool {
        EAGER.with(|eager| eager.ended.get() == ENDED_EAGER)
    }

    /// The child has ended.
    #[inline]
    pub(crate) fn ended(self) {
        EAGER.with(|eager| eager.ended.set((eager.ended.get() + 1).min(ENDED_EAGER)));
    }

    /// The child is pending, and counts for the turn in which its parent spawned it. If the parent is in no turn of a runner, no other turn
    /// follows, so nothing is counted.
    #[inline]
    pub(crate) fn pending(self, in_turn: bool) {
        EAGER.with(|eager| {
            eager.ended.set(0);
            if !in_turn {
                return;
            }
            let pending = eager.pending.get().saturating_sub(1);
            eager.pending.set(pending);
            if pending == 0 {
                eager.left.set(0);
            }
        });
    }
}

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        EAGER.with(|eager| eager.depth.set(eager.depth.get() - 1));
    }
}
