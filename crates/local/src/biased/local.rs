//! The steps of the owner: plain, until the task has ended.

use terrace_sync::atomic::Ordering;
use terrace_sync::weakened;

use super::state::{HandleEnd, LIMIT, State, Step, count, local, remote, too_many_references};
use crate::on_owner::OnOwner;

const LOCAL_LIMIT: u32 = LIMIT as u32;

impl State {
    /// All references, with this many in the local word, and the remote word at `word`.
    #[inline]
    pub(super) fn sum(references: u32, word: usize) -> isize {
        count(word).wrapping_add_unsigned(references as usize)
    }

    /// Ends a new task that no queue took. The caller has dropped its future, and uses up the item's reference; the handle
    /// is left.
    ///
    /// # Safety
    /// No other thread knows of the task. The caller may be on any thread.
    pub unsafe fn reject(&self) {
        self.local.with_mut(|word| {
            // SAFETY: no other thread knows of the task, and the borrow ends with this block.
            let word = unsafe { &mut *word };
            word.flags = local::ENDED;
            word.references = 0;
        });
        // Ordering: Relaxed. The handle, which is on this thread, takes it along.
        self.remote
            .store(remote::ENDED + remote::ONE, Ordering::Relaxed);
    }
}

impl OnOwner<'_, State> {
    /// Whether all references are on this thread, with the remote word at `word`: the caller's, and that of an item in the
    /// run queue. Then no other thread can take a step. (During a poll it can: the task may have lent its waker to another
    /// thread, uncounted.)
    #[inline]
    pub(super) fn has_all_references(self, word: usize) -> bool {
        let item = if weakened!("local-task-lent-waker") {
            local::QUEUED | local::RUNNING
        } else {
            local::QUEUED
        };
        self.with_word(|own| own.flags & item != 0 && State::sum(own.references, word) == 2)
    }

    /// Counts another reference, of a task that has not ended.
    #[inline]
    fn refer(self) {
        let references = self.with_word(|word| {
            word.references += 1;
            word.references
        });
        if references > LOCAL_LIMIT {
            self.balance();
        }
    }

    /// A reference for an item, if there is one.
    #[inline]
    fn refer_if(self, queue: bool) -> Step {
        if !queue {
            return Step::Nothing;
        }
        self.refer();
        Step::Queue
    }

    /// Takes the references that remote threads gave back off the local count.
    #[cold]
    fn balance(self) {
        // Ordering: Relaxed, here and below: a count orders nothing. Other threads may change it in between. The local count
        // stays at least as large, by the caller's reference.
        let given_back = count(self.remote.load(Ordering::Relaxed)).min(0);
        let given_back = given_back.unsigned_abs();
        self.remote
            .fetch_add(given_back.wrapping_mul(remote::ONE), Ordering::Relaxed);
        let left = self.with_word(|word| {
            word.references -= given_back as u32;
            word.references
        });
        if left > LOCAL_LIMIT {
            too_many_references();
        }
    }

    /// Counts another reference.
    #[inline]
    pub fn clone_local(self) {
        if self.has_ended() {
            self.clone_remote();
        } else {
            self.refer();
        }
    }

    /// A wake by reference.
    #[inline]
    pub fn wake_local(self) -> Step {
        let queue = self.with_word(|word| {
            if word.flags & (local::QUEUED | local::ENDED) != 0 {
                return false;
            }
            if word.flags & local::RUNNING != 0 {
                word.flags |= local::WOKEN;
                return false;
            }
            word.flags |= local::QUEUED;
            true
        });
        self.refer_if(queue)
    }

    /// Drops a reference. The last one of a task that has not ended becomes an item; the owner drops the future when
    /// the item's turn comes.
    #[inline]
    pub fn release_local(self) -> Step {
        if self.has_ended() {
            return Step::free_if(self.release_ended());
        }
        // An item takes over the last reference.
        if self.release_unless_last(local::QUEUED | local::CANCELLED) {
            Step::Nothing
        } else {
            Step::Queue
        }
    }

    /// Drops a reference of a task that has not ended, unless it is the last one. The caller keeps a last one, with `flags`
    /// set, and the result is false.
    #[inline]
    pub(super) fn release_unless_last(self, flags: u8) -> bool {
        if !self.count_down() {
            return true;
        }
        self.with_word(|word| {
            word.references += 1;
            word.flags |= flags;
        });
        false
    }

    /// Takes a reference of a task that has not ended off the counts; true if none is left.
    #[inline]
    fn count_down(self) -> bool {
        let local = self.with_word(|word| {
            let local = word.references.checked_sub(1);
            word.references = local.unwrap_or(0);
            local
        });
        match local {
            // Ordering: Acquire, pairs with the Release of remote decrements.
            Some(left) => State::sum(left, self.remote.load(Ordering::Acquire)) == 0,
            // A remote thread counted it.
            // Ordering: AcqRel, as for every decrement.
            None => count(self.remote.fetch_sub(remote::ONE, Ordering::AcqRel)) == 1,
        }
    }

    /// The handle goes.
    #[inline]
    pub fn drop_handle_local(self, end: HandleEnd) -> Step {
        let step = self.with_word(|word| {
            if word.flags & local::ENDED != 0 {
                return Some(Step::Ended);
            }
            word.flags |= local::DETACHED;
            if end == HandleEnd::Detach {
                return None;
            }
            word.flags |= local::CANCELLED;
            if word.flags & (local::QUEUED | local::RUNNING) != 0 {
                return None;
            }
            // An item takes over the handle's reference.
            word.flags |= local::QUEUED;
            Some(Step::Queue)
        });
        match step {
            Some(step) => step,
            None => self.release_local(),
        }
    }

    /// The handle cancels the task, and stays.
    pub fn cancel_local(self) -> Step {
        let queue = self.with_word(|word| {
            if word.flags & local::ENDED != 0 {
                return false;
            }
            word.flags |= local::CANCELLED;
            let queue = word.flags & (local::QUEUED | local::RUNNING) == 0;
            if queue {
                word.flags |= local::QUEUED;
            }
            queue
        });
        self.refer_if(queue)
    }
}
