//! The side of all threads but home, and of all threads after the end.

use terrace_sync::atomic::Ordering;

use super::{
    CANCELLED, DETACHED, LIMIT, MERGED, NOTIFIED, ONE, State, Step, WOKEN, count,
    too_many_references,
};

/// The caller has a reference to the task.
impl State {
    /// Counts another reference.
    #[inline]
    pub fn clone_elsewhere(&self) {
        // Ordering: Relaxed, the caller's own reference keeps the cell.
        let before = self.abroad.fetch_add(ONE, Ordering::Relaxed);
        if count(before) > LIMIT {
            too_many_references();
        }
    }

    /// A wake, which with `owned` uses the reference up.
    pub fn wake_elsewhere(&self, owned: bool) -> Step {
        let before = self.update(|state| {
            if state & MERGED != 0 {
                return None;
            }
            let fresh = state & NOTIFIED == 0;
            // The item's reference is the caller's, or a new one; where there is an item, it has one.
            let added = usize::from(fresh).wrapping_sub(usize::from(owned));
            if !fresh && !owned && cfg!(terrace_weaken = "local-task-wake-coalesced") {
                return None;
            }
            // Where nothing changes it is a step all the same: the item that is there must bring what was written before.
            Some((state | NOTIFIED | WOKEN).wrapping_add(added.wrapping_mul(ONE)))
        });
        if before & MERGED != 0 {
            return if owned {
                self.release_elsewhere()
            } else {
                Step::Nothing
            };
        }
        if before & NOTIFIED == 0 {
            if !owned && count(before) > LIMIT {
                too_many_references();
            }
            return Step::Queue;
        }
        Step::Nothing
    }

    /// Drops a reference.
    pub fn release_elsewhere(&self) -> Step {
        self.let_go(0)
    }

    /// The handle is dropped, or goes and lets the task run on with `detach`.
    pub fn drop_handle_elsewhere(&self, detach: bool) -> Step {
        if detach {
            self.let_go(DETACHED)
        } else {
            self.ask(CANCELLED | DETACHED, true)
        }
    }

    /// The task is cancelled by its handle, which stays.
    pub fn cancel_elsewhere(&self) -> Step {
        self.ask(CANCELLED, false)
    }

    /// Sets `bits` and sees to it that home looks. With `owned` the reference is used up.
    fn ask(&self, bits: usize, owned: bool) -> Step {
        let before = self.update(|state| {
            (state & MERGED == 0).then(|| {
                let added = usize::from(state & NOTIFIED == 0).wrapping_sub(usize::from(owned));
                (state | bits | NOTIFIED).wrapping_add(added.wrapping_mul(ONE))
            })
        });
        if before & MERGED != 0 {
            Step::Ended
        } else if before & NOTIFIED == 0 {
            Step::Queue
        } else {
            Step::Nothing
        }
    }

    /// Sets `bits` and drops a reference; with any bits, the handle's.
    fn let_go(&self, bits: usize) -> Step {
        let mut asks = false;
        let before = self.update(|state| {
            if state & MERGED != 0 {
                return None;
            }
            // It may be the last one, which is home's to see: asked to look, it gets this one with the item. Where an
            // item is on its way, it comes later, and home looks when it is used up.
            // Ordering: Relaxed, see `set_registered`.
            asks = count(state) <= 1
                && state & NOTIFIED == 0
                && self.registered.load(Ordering::Relaxed) == 0
                && !cfg!(terrace_weaken = "local-task-last-elsewhere");
            Some(if asks {
                state | bits | NOTIFIED
            } else {
                (state | bits).wrapping_sub(ONE)
            })
        });
        if before & MERGED == 0 {
            return if asks { Step::Queue } else { Step::Nothing };
        }
        if bits != 0 {
            return Step::Ended;
        }
        Self::free_if(self.release_ended())
    }

    /// [`Step::Free`] if so.
    pub(super) fn free_if(last: bool) -> Step {
        if last { Step::Free } else { Step::Nothing }
    }
}
