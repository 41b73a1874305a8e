//! The steps of every thread but the owner's, and of all threads once the task has ended.

use terrace_sync::atomic::Ordering;
use terrace_sync::weakened;

use super::state::{HandleEnd, LIMIT, Reference, State, Step, count, remote, too_many_references};

impl State {
    /// Counts another reference.
    #[inline]
    pub fn clone_remote(&self) {
        // Ordering: Relaxed. The caller's own reference keeps the cell.
        let before = self.remote.fetch_add(remote::ONE, Ordering::Relaxed);
        if count(before) > LIMIT {
            too_many_references();
        }
    }

    /// A wake.
    pub fn wake_remote(&self, reference: Reference) -> Step {
        match (self.ask(remote::WOKEN, reference), reference) {
            (Step::Ended, Reference::UsedUp) => self.release_remote(),
            (Step::Ended, Reference::Kept) => Step::Nothing,
            (step, _) => step,
        }
    }

    /// Drops a reference.
    pub fn release_remote(&self) -> Step {
        self.leave(0)
    }

    /// The handle goes.
    pub fn drop_handle_remote(&self, end: HandleEnd) -> Step {
        match end {
            HandleEnd::Detach => self.leave(remote::DETACHED),
            HandleEnd::Cancel => self.ask(remote::CANCELLED | remote::DETACHED, Reference::UsedUp),
        }
    }

    /// The handle cancels the task, and stays.
    pub fn cancel_remote(&self) -> Step {
        self.ask(remote::CANCELLED, Reference::Kept)
    }

    /// Sets `bits`, and makes the owner look at them. If the task has [ended](Step::Ended), the caller keeps its reference in any case.
    fn ask(&self, bits: usize, reference: Reference) -> Step {
        let given = usize::from(reference == Reference::UsedUp);
        let before = self.update(|word| {
            if word & remote::ENDED != 0 {
                return None;
            }
            let is_first = word & remote::NOTIFIED == 0;
            // A new item takes the caller's reference, or a new one; an item that exists has its own.
            let added = usize::from(is_first).wrapping_sub(given);
            let coalesces = bits == remote::WOKEN && !is_first && given == 0;
            if coalesces && weakened!("local-task-wake-coalesced") {
                return None;
            }
            // A step even where no bit changes: the item that exists must bring what this thread wrote before.
            let new = word | bits | remote::NOTIFIED;
            Some(new.wrapping_add(added.wrapping_mul(remote::ONE)))
        });
        if before & remote::ENDED != 0 {
            return Step::Ended;
        }
        if before & remote::NOTIFIED != 0 {
            return Step::Nothing;
        }
        if reference == Reference::Kept && count(before) > LIMIT {
            too_many_references();
        }
        Step::Queue
    }

    /// Sets `bits` and drops a reference. With any bits the reference is the handle's.
    fn leave(&self, bits: usize) -> Step {
        let mut asks = false;
        let before = self.update(|word| {
            if word & remote::ENDED != 0 {
                return None;
            }
            // Only the owner can tell whether this reference is the last one. If it may be, the owner gets it with an item.
            // An item that is on its way makes the owner look, too: when it uses up that item's reference.
            // Ordering: Relaxed, see `set_registered`.
            asks = count(word) <= 1
                && word & remote::NOTIFIED == 0
                && self.registered.load(Ordering::Relaxed) == 0
                && !weakened!("local-task-last-remote");
            Some(if asks {
                word | bits | remote::NOTIFIED
            } else {
                (word | bits).wrapping_sub(remote::ONE)
            })
        });
        if before & remote::ENDED == 0 {
            return if asks { Step::Queue } else { Step::Nothing };
        }
        if bits != 0 {
            return Step::Ended;
        }
        Step::free_if(self.release_ended())
    }
}
