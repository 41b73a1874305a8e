//! Which eager children the owner polls as it spawns them.

use super::CoreOf;
use super::tally::bump;
use crate::eager::{A_TURN, DEEPEST};
use crate::mailbox::Queueable;
use crate::on_owner::OnOwner;

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
