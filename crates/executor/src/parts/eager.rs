//! Which eager children a thread polls as it spawns them. The limits are those of `terrace-local`, and one more: [`PENDING_EAGER`].

use std::cell::Cell;

use terrace_local::eager::{A_TURN, DEEPEST};

use crate::tuned::{ENDED_EAGER, PENDING_EAGER};

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
