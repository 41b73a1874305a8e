//! One turn of a task, at home: its item arrives, it is polled, and ends or waits.

use terrace_sync::atomic::Ordering;

use super::{
    AGAIN, CANCELLED, CLOSED, DETACHED, DONE, JOIN, LET_GO, MERGED, NOTIFIED, ONE, OUTCOME, QUEUED,
    RUNNING, State, Step, WOKEN, count,
};

/// What becomes of an item of the inbox.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use]
pub enum Arrival {
    /// It goes to the run queue, its reference with it.
    Queue,
    /// It is used up.
    Nothing,
    /// The task has ended before: it is used up, and no push of the task is under way any more. The flag says that the cell
    /// is to be freed.
    Ended(bool),
}

/// What comes after a poll that returned `Pending`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use]
pub enum Pended {
    /// Nothing.
    Wait,
    /// The task was woken meanwhile: an item for the run queue.
    Queue,
    /// Nobody can wake it, or it was cancelled: its future is to be dropped.
    Abandon,
}

/// What comes after the end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use]
pub struct Finished {
    /// Nobody else refers to the cell: the caller frees it.
    pub alone: bool,
    /// The caller still has its reference, to do what the next two say; if neither this nor `alone`, the cell may be gone.
    pub held: bool,
    /// The outcome is nobody's: the caller drops it.
    pub discard: bool,
    /// There is an awaiter; see [`State::take_awaiter`].
    pub awaited: bool,
    /// An item of this task is on its way to the inbox, or in it.
    pub pushing: bool,
}

/// "At home" is the promise that the caller is on the home thread and has a reference to the task.
impl State {
    /// An item has come out of the inbox.
    ///
    /// # Safety
    /// At home.
    pub unsafe fn arrive(&self) -> Arrival {
        // SAFETY: forwarded to the caller.
        if unsafe { self.is_done() } {
            return Arrival::Ended(self.release_ended());
        }
        let release = if cfg!(terrace_weaken = "local-task-arrive-release") {
            Ordering::Relaxed
        } else {
            Ordering::Release
        };
        // Its reference is counted here from now on, so that one step does it all. The bits are those that a push sets.
        let mut state = self.abroad.load(Ordering::Relaxed);
        let mut given_back;
        loop {
            let new = (state & !(NOTIFIED | WOKEN | CANCELLED)).wrapping_sub(ONE);
            given_back = count(new).min(0).unsigned_abs();
            let new = new.wrapping_add(given_back.wrapping_mul(ONE));
            // Ordering: Release, hands the link, which the inbox has used, to who sets `NOTIFIED` next. What came before the
            // wakes since it was set is acquired by `start`, which reads this or what came later.
            match self
                .abroad
                .compare_exchange_weak(state, new, release, Ordering::Relaxed)
            {
                Ok(_) => break,
                Err(found) => state = found,
            }
        }
        // SAFETY: forwarded to the caller.
        let arrival = unsafe {
            self.with_home(|home| {
                // The sum is right again: the item, less what the atomic count is rid of.
                home.references += 1;
                home.references -= given_back as u32;
                if state & CANCELLED != 0 {
                    home.flags |= CLOSED;
                }
                if home.flags & QUEUED != 0 {
                    return Some(Arrival::Nothing);
                }
                let wanted = state & (WOKEN | CANCELLED) != 0;
                if home.flags & RUNNING != 0 {
                    home.flags |= if wanted { AGAIN } else { 0 };
                    return Some(Arrival::Nothing);
                }
                if wanted {
                    home.flags |= QUEUED;
                    return Some(Arrival::Queue);
                }
                None
            })
        };
        match arrival {
            Some(Arrival::Nothing) => {
                // Not the last: the run queue, or the poll, has one.
                // SAFETY: forwarded to the caller.
                unsafe { self.with_home(|home| home.references -= 1) };
                Arrival::Nothing
            }
            Some(arrival) => arrival,
            // SAFETY: forwarded to the caller.
            None => match unsafe { self.release_at_home() } {
                Step::Queue => Arrival::Queue,
                _ => Arrival::Nothing,
            },
        }
    }

    /// An item has come out of the run queue. True if the task is to be polled, else its future is to be dropped.
    ///
    /// # Safety
    /// At home.
    #[inline]
    pub unsafe fn start(&self) -> bool {
        let acquire = if cfg!(terrace_weaken = "local-task-start-acquire") {
            Ordering::Relaxed
        } else {
            Ordering::Acquire
        };
        // Ordering: Acquire, pairs with the Release of every wake whose item has arrived, and of a cancellation whose item is
        // still to come: what came before it is seen by the poll, or by the future's destructor.
        let cancelled = self.abroad.load(acquire) & CANCELLED != 0;
        // SAFETY: forwarded to the caller.
        unsafe {
            self.with_home(|home| {
                home.flags = home.flags & !(QUEUED | AGAIN) | RUNNING;
                if cancelled {
                    home.flags |= CLOSED;
                }
                home.flags & CLOSED == 0
            })
        }
    }

    /// The poll returned `Pending`. Unless it says otherwise, the reference is used up.
    ///
    /// # Safety
    /// At home.
    #[inline]
    pub unsafe fn pend(&self) -> Pended {
        // SAFETY: forwarded to the caller.
        let next = unsafe {
            self.with_home(|home| {
                if home.flags & CLOSED != 0 {
                    return Some(Pended::Abandon);
                }
                let again = home.flags & AGAIN != 0;
                home.flags &= !(RUNNING | AGAIN);
                if again {
                    home.flags |= QUEUED;
                    return Some(Pended::Queue);
                }
                None
            })
        };
        if let Some(next) = next {
            return next;
        }
        // SAFETY: forwarded to the caller.
        if unsafe { self.release_unless_last(RUNNING | CLOSED) } {
            Pended::Wait
        } else {
            Pended::Abandon
        }
    }

    /// The future has been dropped; `outcome` says whether there is an outcome in its place. The caller has started the task,
    /// whose reference is used up unless `held` says otherwise.
    ///
    /// # Safety
    /// At home.
    #[inline]
    pub unsafe fn finish(&self, outcome: bool) -> Finished {
        // SAFETY: forwarded to the caller.
        let (references, flags) = unsafe {
            self.with_home(|home| {
                home.flags |= DONE;
                (home.references, home.flags)
            })
        };
        let acquire = if cfg!(terrace_weaken = "local-task-alone-acquire") {
            Ordering::Relaxed
        } else {
            Ordering::Acquire
        };
        // Ordering: Acquire, pairs with the Release of decrements elsewhere.
        let mut state = self.abroad.load(acquire);
        let release = if cfg!(terrace_weaken = "local-task-merge-release") {
            Ordering::Acquire
        } else {
            Ordering::AcqRel
        };
        loop {
            let elsewhere = if cfg!(terrace_weaken = "local-task-detached") {
                CANCELLED
            } else {
                CANCELLED | DETACHED
            };
            let unwanted = flags & (CLOSED | LET_GO) != 0 || state & elsewhere != 0;
            let alone = Self::sum(references, state) == 1;
            let discard = outcome && (unwanted || alone);
            let awaited = state & JOIN != 0;
            let held = !alone && (discard || awaited);
            let finished = Finished {
                alone,
                held,
                discard,
                awaited,
                pushing: state & NOTIFIED != 0,
            };
            if alone {
                return finished;
            }
            // Below 0 where they are all counted elsewhere, this one, too.
            let kept = (references as usize).wrapping_sub(usize::from(!held));
            let bits = if outcome && !discard {
                MERGED | OUTCOME
            } else {
                MERGED
            };
            let new = (state | bits).wrapping_add(kept.wrapping_mul(ONE));
            // Ordering: AcqRel. Release hands the outcome to the handle, and all that home did with the cell to whoever
            // frees it; Acquire takes over the awaiter.
            match self
                .abroad
                .compare_exchange_weak(state, new, release, Ordering::Acquire)
            {
                Ok(_) => return finished,
                Err(found) => state = found,
            }
        }
    }
}
