//! The steps of the owner: plain, until the task has ended. The second half is a turn: the task's item arrives, the owner polls it, and it
//! ends or waits.

use terrace_sync::atomic::Ordering;
use terrace_sync::{ordering, weakened};

use super::state::{
    HandleEnd, LIMIT, LocalWord, State, Step, count, local, remote, too_many_references,
};
use crate::on_owner::OnOwner;

const LOCAL_LIMIT: u32 = LIMIT as u32;

/// The owner's next step for an item of the inbox.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use = "a runnable that arrived has to be queued"]
pub enum Arrival {
    /// It goes to the run queue, its reference with it.
    Queue,
    /// The step has used it up.
    Nothing,
    /// The task has ended before. The step has used the item up, and no thread pushes one of this task any more. The caller
    /// follows the step: [`Step::Free`] or nothing.
    Ended(Step),
}

/// The owner's next step after a poll that returned `Pending`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use = "the caller queues a task that was woken in its poll"]
pub enum Pended {
    /// Nothing.
    Wait,
    /// A waker woke the task during the poll: an item for the run queue.
    Queue,
    /// The handle cancelled the task, or no waker is left: the caller drops the future.
    Abandon,
}

/// What a future has left in its cell.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Left {
    /// Its outcome.
    Outcome,
    /// Nothing: it was dropped before it was done.
    Nothing,
}

/// What comes after the end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use = "the caller wakes who waits for the end"]
pub struct Finished {
    /// The caller has the only reference, and frees the cell.
    pub alone: bool,
    /// The caller still has its reference, which the next two fields need. If neither this nor `alone` is set, the cell
    /// may be gone.
    pub held: bool,
    /// No handle will take the outcome: the caller drops it.
    pub discard: bool,
    /// The caller wakes the awaiter; see [`State::take_awaiter`].
    pub awaited: bool,
    /// Another thread pushes an item of this task to the inbox, or has done so.
    pub pushing: bool,
}

impl LocalWord {
    /// Marks a task that has not ended as cancelled. True if the caller queues an item, so that the owner sees it.
    #[inline]
    fn cancel(&mut self) -> bool {
        self.flags |= local::CANCELLED;
        let queue = self.flags & (local::QUEUED | local::RUNNING) == 0;
        if queue {
            self.flags |= local::QUEUED;
        }
        queue
    }
}

impl State {
    /// All references, with this many in the local word, and the remote word at `word`.
    #[inline]
    pub(super) fn sum(references: u32, word: usize) -> isize {
        count(word).wrapping_add_unsigned(references as usize)
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
            // An item takes over the handle's reference.
            (end == HandleEnd::Cancel && word.cancel()).then_some(Step::Queue)
        });
        match step {
            Some(step) => step,
            None => self.release_local(),
        }
    }

    /// The handle cancels the task, and stays.
    pub fn cancel_local(self) -> Step {
        let queue = self.with_word(|word| word.flags & local::ENDED == 0 && word.cancel());
        self.refer_if(queue)
    }

    /// An item has come out of the inbox.
    pub fn arrive(self) -> Arrival {
        if self.has_ended() {
            return Arrival::Ended(Step::free_if(self.release_ended()));
        }
        // One exchange clears the bits of the push, and moves the item's reference to the local count.
        let mut word = self.remote.load(Ordering::Relaxed);
        let mut given_back;
        loop {
            let bits = remote::NOTIFIED | remote::WOKEN | remote::CANCELLED;
            let new = (word & !bits).wrapping_sub(remote::ONE);
            given_back = count(new).min(0).unsigned_abs();
            let new = new.wrapping_add(given_back.wrapping_mul(remote::ONE));
            // Ordering: Release hands the link, which the inbox has used, to the thread that sets `NOTIFIED` next. `start`
            // reads this value or a later one, and acquires there what came before the wakes.
            match self.remote.compare_exchange_weak(
                word,
                new,
                ordering!("local-task-arrive-release", Release),
                Ordering::Relaxed,
            ) {
                Ok(_) => break,
                Err(found) => word = found,
            }
        }
        let wanted = word & (remote::WOKEN | remote::CANCELLED) != 0;
        let goes_on = self.with_word(|own| {
            // The sum is right again: plus the item, less what the remote count is rid of.
            own.references += 1;
            own.references -= given_back as u32;
            if word & remote::CANCELLED != 0 {
                own.flags |= local::CANCELLED;
            }
            let goes_on = own.flags & (local::QUEUED | local::RUNNING) != 0;
            if goes_on {
                // Not the last: the run queue, or the poll, has one.
                own.references -= 1;
            }
            if wanted {
                own.flags |= match own.flags & local::RUNNING {
                    0 => local::QUEUED,
                    _ => local::WOKEN,
                };
            }
            goes_on
        });
        if goes_on {
            return Arrival::Nothing;
        }
        if wanted || self.release_local() == Step::Queue {
            return Arrival::Queue;
        }
        Arrival::Nothing
    }

    /// An item has come out of the run queue. True if the caller polls the task; else it drops the future.
    #[inline]
    pub fn start(self) -> bool {
        // Ordering: Acquire, pairs with the Release of every wake whose item has arrived, and of a cancellation whose item is
        // still to come. The poll, or the future's destructor, sees what came before either.
        let acquire = ordering!("local-task-start-acquire", Acquire);
        let cancelled = self.remote.load(acquire) & remote::CANCELLED != 0;
        self.with_word(|word| {
            word.flags = word.flags & !(local::QUEUED | local::WOKEN) | local::RUNNING;
            if cancelled {
                word.flags |= local::CANCELLED;
            }
            word.flags & local::CANCELLED == 0
        })
    }

    /// The poll returned `Pending`. [`Pended::Wait`] uses the poll's reference up.
    #[inline]
    pub fn pend(self) -> Pended {
        let next = self.with_word(|word| {
            if word.flags & local::CANCELLED != 0 {
                return Some(Pended::Abandon);
            }
            let woken = word.flags & local::WOKEN != 0;
            word.flags &= !(local::RUNNING | local::WOKEN);
            if woken {
                word.flags |= local::QUEUED;
                return Some(Pended::Queue);
            }
            None
        });
        if let Some(next) = next {
            return next;
        }
        if self.release_unless_last(local::RUNNING | local::CANCELLED) {
            Pended::Wait
        } else {
            Pended::Abandon
        }
    }

    /// [`finish`](Self::finish) with an outcome, for the first poll of a task that the caller is about to give its handle out
    /// of. Takes no read-modify-write if the handle's reference is the only other one. Else it does nothing, and the result is
    /// false. [`State::is_fresh`] says so until the handle goes, if the cell is in memory `of_class`.
    #[inline]
    pub fn finish_at_spawn(self, of_class: bool) -> bool {
        // Ordering: Acquire, pairs with the Release of remote decrements. What other threads did with the cell comes before
        // its next use.
        let acquire = ordering!("local-eager-alone-acquire", Acquire);
        if self.remote.load(acquire) != 0 && !weakened!("local-eager-remote") {
            return false;
        }
        let alone = self.with_word(|word| {
            if word.references != 2 {
                return false;
            }
            word.flags |= local::ENDED;
            true
        });
        if alone {
            // Ordering: Relaxed. The poll is over, and with it each use of the waker that it lent out. All references are on this
            // thread, so no other thread can take a step. The handle takes the outcome along.
            let unset = if of_class { 0 } else { remote::FRESH };
            self.remote
                .store(remote::FRESH_END & !unset, Ordering::Relaxed);
        }
        alone
    }

    /// The caller has started the task and dropped its future, which left `left` in its place. Uses up the reference of the
    /// turn, unless [`held`](Finished::held) says otherwise.
    #[inline]
    pub fn finish(self, left: Left) -> Finished {
        let (references, flags) = self.with_word(|word| {
            word.flags |= local::ENDED;
            (word.references, word.flags)
        });
        let acquire = ordering!("local-task-alone-acquire", Acquire);
        // Ordering: Acquire, pairs with the Release of remote decrements.
        let mut word = self.remote.load(acquire);
        let both = ordering!("local-task-merge-order", AcqRel);
        let outcome = left == Left::Outcome;
        loop {
            let gone = if weakened!("local-task-detached") {
                remote::CANCELLED
            } else {
                remote::CANCELLED | remote::DETACHED
            };
            let unwanted = flags & (local::CANCELLED | local::DETACHED) != 0 || word & gone != 0;
            let alone = State::sum(references, word) == 1;
            let discard = outcome && (unwanted || alone);
            let awaited = word & remote::JOIN != 0;
            let held = !alone && (discard || awaited);
            let finished = Finished {
                alone,
                held,
                discard,
                awaited,
                pushing: word & remote::NOTIFIED != 0,
            };
            if alone {
                return finished;
            }
            // It wraps if the remote word counts all references, including this one.
            let kept = (references as usize).wrapping_sub(usize::from(!held));
            let bits = if outcome && !discard {
                remote::ENDED | remote::OUTCOME
            } else {
                remote::ENDED
            };
            let new = (word | bits).wrapping_add(kept.wrapping_mul(remote::ONE));
            // Ordering: AcqRel. Release hands the outcome to the handle, and the owner's uses of the cell to the thread that
            // frees it. Acquire takes over the awaiter.
            match self
                .remote
                .compare_exchange_weak(word, new, both, Ordering::Acquire)
            {
                Ok(_) => return finished,
                Err(found) => word = found,
            }
        }
    }
}
