//! Which eager children the owner polls as it spawns them, and the limits of eager spawns of all executors.

use super::CoreOf;
use super::metrics::bump;
use crate::mailbox::Queueable;
use crate::on_owner::OnOwner;

/// An eager child is queued if the thread is in the middle of so many polls of the executor. So a chain of eager children, each
/// spawned by the one before, takes a bounded part of the stack.
pub const DEEPEST: usize = 16;

/// Of the eager children that are spawned in one turn of an executor, each one after so many is queued. So a task that spawns
/// eager children in a loop, and awaits them, gives others their turn. A `run` future gives other futures of its thread their
/// turn after as many polls.
pub const A_TURN: u32 = 200;

impl<R: Queueable> OnOwner<'_, CoreOf<R>> {
    /// Whether an eager child is polled as it is spawned. Counts it.
    #[inline]
    pub(crate) fn polls_at_spawn(self) -> bool {
        let left = &self.get().eager_left;
        let (fewer, was_none) = left.get().overflowing_sub(1);
        left.set(fewer);
        if was_none {
            left.set(A_TURN);
            return false;
        }
        let polls = self.get().depth.is_open_below::<DEEPEST>();
        if polls {
            bump(&self.get().tally.eager);
        }
        polls
    }

    /// A turn begins, of a task or of a driver's own future.
    #[inline]
    pub(crate) fn begin_turn(self) {
        self.get().eager_left.set(A_TURN);
    }
}
