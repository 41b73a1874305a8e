//! The home thread's side: plain, until the task has ended.

use terrace_sync::atomic::Ordering;

use super::{
    AGAIN, CLOSED, DONE, LET_GO, LIMIT, MERGED, ONE, QUEUED, RUNNING, State, Step, count,
    too_many_references,
};

const LIMIT_AT_HOME: u32 = LIMIT as u32;

/// For the home thread. "At home" is the promise that the caller is on it and has a reference to the task.
impl State {
    /// All references.
    #[inline]
    pub(super) fn sum(references: u32, state: usize) -> isize {
        count(state).wrapping_add_unsigned(references as usize)
    }

    /// Whether the task has ended.
    ///
    /// # Safety
    /// At home.
    #[inline]
    pub(super) unsafe fn is_done(&self) -> bool {
        // SAFETY: forwarded to the caller.
        unsafe { self.with_home(|home| home.flags & DONE != 0) }
    }

    /// Whether all references are here, with the atomic word at `state`: the caller's, and that of an item in the run queue. No
    /// other thread can take a step then. (In a poll it could: the waker there may be lent to it, uncounted.)
    ///
    /// # Safety
    /// At home.
    #[inline]
    pub(super) unsafe fn is_all_at_home(&self, state: usize) -> bool {
        let item = if cfg!(terrace_weaken = "local-task-lent-waker") {
            QUEUED | RUNNING
        } else {
            QUEUED
        };
        // SAFETY: forwarded to the caller.
        unsafe {
            self.with_home(|home| home.flags & item != 0 && Self::sum(home.references, state) == 2)
        }
    }

    /// Counts another reference, of a task that has not ended.
    ///
    /// # Safety
    /// At home.
    #[inline]
    unsafe fn refer(&self) {
        // SAFETY: forwarded to the caller.
        let references = unsafe {
            self.with_home(|home| {
                home.references += 1;
                home.references
            })
        };
        if references > LIMIT_AT_HOME {
            // SAFETY: forwarded to the caller.
            unsafe { self.settle() };
        }
    }

    /// A reference for an item, if there is one.
    ///
    /// # Safety
    /// At home, and the task has not ended.
    #[inline]
    unsafe fn refer_if(&self, queue: bool) -> Step {
        if !queue {
            return Step::Nothing;
        }
        // SAFETY: forwarded to the caller.
        unsafe { self.refer() };
        Step::Queue
    }

    /// Takes off the plain count what was given back elsewhere.
    ///
    /// # Safety
    /// At home.
    #[cold]
    unsafe fn settle(&self) {
        // Ordering: Relaxed, here and below: nothing follows from a count but how many there are. It may become less or more
        // meanwhile; the plain one is at least as much, with the caller's reference.
        let given_back = count(self.abroad.load(Ordering::Relaxed)).min(0);
        let given_back = given_back.unsigned_abs();
        self.abroad
            .fetch_add(given_back.wrapping_mul(ONE), Ordering::Relaxed);
        // SAFETY: forwarded to the caller.
        let left = unsafe {
            self.with_home(|home| {
                home.references -= given_back as u32;
                home.references
            })
        };
        if left > LIMIT_AT_HOME {
            too_many_references();
        }
    }

    /// Counts another reference.
    ///
    /// # Safety
    /// At home.
    #[inline]
    pub unsafe fn clone_at_home(&self) {
        // SAFETY: forwarded to the caller.
        if unsafe { self.is_done() } {
            self.clone_elsewhere();
        } else {
            // SAFETY: as above.
            unsafe { self.refer() };
        }
    }

    /// A wake by reference.
    ///
    /// # Safety
    /// At home.
    #[inline]
    pub unsafe fn wake_at_home(&self) -> Step {
        // SAFETY: forwarded to the caller.
        let queue = unsafe {
            self.with_home(|home| {
                if home.flags & (QUEUED | DONE) != 0 {
                    return false;
                }
                if home.flags & RUNNING != 0 {
                    home.flags |= AGAIN;
                    return false;
                }
                home.flags |= QUEUED;
                true
            })
        };
        // SAFETY: forwarded to the caller.
        unsafe { self.refer_if(queue) }
    }

    /// Drops a reference. The last one of a task that has not ended becomes an item, which has the future dropped.
    ///
    /// # Safety
    /// At home.
    #[inline]
    pub unsafe fn release_at_home(&self) -> Step {
        // SAFETY: forwarded to the caller.
        if unsafe { self.is_done() } {
            return Self::free_if(self.release_ended());
        }
        // The item's is the one that was to be dropped.
        // SAFETY: as above.
        if unsafe { self.release_unless_last(QUEUED | CLOSED) } {
            Step::Nothing
        } else {
            Step::Queue
        }
    }

    /// Drops a reference of a task that has not ended, unless it is the last one: that stays the caller's, `flags` are set,
    /// and the result is false.
    ///
    /// # Safety
    /// At home.
    #[inline]
    pub(super) unsafe fn release_unless_last(&self, flags: u8) -> bool {
        // SAFETY: forwarded to the caller.
        if !unsafe { self.count_down() } {
            return true;
        }
        // SAFETY: as above: nobody else has a reference.
        unsafe {
            self.with_home(|home| {
                home.references += 1;
                home.flags |= flags;
            });
        }
        false
    }

    /// Takes a reference of a task that has not ended off the counts; true if none is left.
    ///
    /// # Safety
    /// At home.
    #[inline]
    unsafe fn count_down(&self) -> bool {
        // SAFETY: forwarded to the caller.
        let plain = unsafe {
            self.with_home(|home| {
                let plain = home.references.checked_sub(1);
                home.references = plain.unwrap_or(0);
                plain
            })
        };
        match plain {
            // Ordering: Acquire, pairs with the Release of decrements elsewhere.
            Some(left) => Self::sum(left, self.abroad.load(Ordering::Acquire)) == 0,
            // It was counted elsewhere.
            // Ordering: AcqRel, as for every decrement.
            None => count(self.abroad.fetch_sub(ONE, Ordering::AcqRel)) == 1,
        }
    }

    /// The handle is dropped, or goes and lets the task run on with `detach`.
    ///
    /// # Safety
    /// At home.
    #[inline]
    pub unsafe fn drop_handle_at_home(&self, detach: bool) -> Step {
        // SAFETY: forwarded to the caller.
        let step = unsafe {
            self.with_home(|home| {
                if home.flags & DONE != 0 {
                    return Some(Step::Ended);
                }
                home.flags |= LET_GO;
                if detach {
                    return None;
                }
                home.flags |= CLOSED;
                if home.flags & (QUEUED | RUNNING) != 0 {
                    return None;
                }
                // The handle's reference is the item's.
                home.flags |= QUEUED;
                Some(Step::Queue)
            })
        };
        match step {
            Some(step) => step,
            // SAFETY: forwarded to the caller.
            None => unsafe { self.release_at_home() },
        }
    }

    /// The task is cancelled by its handle, which stays.
    ///
    /// # Safety
    /// At home.
    pub unsafe fn cancel_at_home(&self) -> Step {
        // SAFETY: forwarded to the caller.
        let queue = unsafe {
            self.with_home(|home| {
                if home.flags & DONE != 0 {
                    return false;
                }
                home.flags |= CLOSED;
                let queue = home.flags & (QUEUED | RUNNING) == 0;
                if queue {
                    home.flags |= QUEUED;
                }
                queue
            })
        };
        // SAFETY: forwarded to the caller.
        unsafe { self.refer_if(queue) }
    }

    /// The item and the handle are all there is of a task that was to be queued and could not: no other thread knows of it.
    /// Its future has been dropped; what is left is the handle.
    ///
    /// # Safety
    /// As just said; the caller may be on any thread.
    pub unsafe fn reject(&self) {
        // SAFETY: nobody else has a reference.
        unsafe {
            self.with_home(|home| {
                home.flags = DONE;
                home.references = 0;
            });
        }
        // Ordering: Relaxed, nobody else has a reference.
        self.abroad.store(MERGED + ONE, Ordering::Relaxed);
    }
}
