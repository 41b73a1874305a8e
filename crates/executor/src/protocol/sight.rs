//! What a look at a place of work tells a thread that is about to sleep. Not an API; public for its models.

use terrace_park::Idle;
use terrace_sync::weakened;

/// What lies in a place, ordered by how much it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sight {
    /// No task.
    Nothing,
    /// A task that its runner or waiter is expected to take. A sentinel has to watch it, and takes
    /// it if it stands still.
    Covered,
    /// A task that the looker may take now.
    Ready,
}

impl Sight {
    /// `Covered` if `full`, else `Nothing`.
    #[inline]
    #[must_use = "the call only reads a value"]
    pub fn covered_if(full: bool) -> Self {
        if full { Self::Covered } else { Self::Nothing }
    }

    /// `Ready` if `full`, else `Nothing`.
    #[inline]
    #[must_use = "the call only reads a value"]
    pub fn ready_if(full: bool) -> Self {
        if full { Self::Ready } else { Self::Nothing }
    }

    /// Whether it counts as takeable work for the sleeping protocol: covered work does while no sentinel watches. Valid
    /// after a fence.
    #[inline]
    #[must_use = "the call only answers a question"]
    pub fn is_takeable(self, idle: &Idle) -> bool {
        match self {
            Self::Nothing => false,
            Self::Covered => !idle.has_sentinel() && !weakened!("executor-covered-never-takeable"),
            Self::Ready => true,
        }
    }
}
