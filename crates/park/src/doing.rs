//! What one worker does, as far as the words say: for reports, not for decisions.

use terrace_sync::atomic::Ordering;

use crate::idle::Idle;
use crate::word::GROUP_CAPACITY;

/// What a worker does. [`Idle::doing`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// No thread has this number now.
    Absent,
    /// It runs something, or searches.
    Awake,
    /// It sleeps until there is work.
    Parked,
    /// It sleeps likewise, and looks from time to time at work that stands still.
    Watching,
    /// It sleeps until its own event comes, in the middle of what it runs.
    Waiting,
    /// It sleeps, and another thread, which is awake, has its place.
    Held,
    /// It sleeps, and so does the other thread that has its place.
    HeldWaiting,
}

impl Idle {
    /// What the worker with this number does, as a hint: it may do something else by now. Any number is allowed. A few relaxed
    /// loads.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_park::{Doing, Idle};
    ///
    /// # struct Nothing;
    /// # impl terrace_park::Work for Nothing {
    /// #     fn takeable(&self) -> bool { false }
    /// #     fn has_private_work(&self, _: usize) -> bool { false }
    /// # }
    /// let idle = Idle::new(1);
    /// assert_eq!(idle.doing(0), Doing::Absent);
    /// let token = idle.enter(0);
    /// assert_eq!(idle.doing(0), Doing::Awake);
    /// idle.leave(0, token, &Nothing);
    /// ```
    pub fn doing(&self, worker: usize) -> Doing {
        let Some(group) = self.groups.iter().nth(worker / GROUP_CAPACITY) else {
            return Doing::Absent;
        };
        let bit = (worker % GROUP_CAPACITY) as u32;
        let mask = 1 << bit;
        // Ordering: Relaxed, a hint.
        let word = group.load(Ordering::Relaxed);
        if group.live() & mask == 0 {
            Doing::Absent
        } else if word.is_held(bit) {
            match group.sleeping_holders() & mask {
                0 => Doing::Held,
                _ => Doing::HeldWaiting,
            }
        } else if word.is_restricted(bit) {
            Doing::Waiting
        } else if !word.is_parked(bit) {
            Doing::Awake
        } else if self.flags.bits_in(group) & mask != 0 {
            Doing::Watching
        } else {
            Doing::Parked
        }
    }
}
