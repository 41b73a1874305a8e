//! The guard: one worker that sleeps with a time-out on behalf of work that was left alone for now.

use std::time::Duration;

use terrace_sync::atomic::Ordering;
use terrace_sync::heavy;

use crate::group::Group;
use crate::idle::{Idle, Work};
use crate::parker::Deadline;
use crate::search::{sleep, take_back};
use crate::{Token, Woken};

/// No guard.
const NONE: usize = 0;

impl Idle {
    /// Parks as the one guard of this `Idle`: as [`park`](Self::park), for at most `timeout`.
    ///
    /// # Errors
    ///
    /// Hands back what was given for a token if there is a guard already.
    ///
    /// # What the guard owes
    ///
    /// However the sleep ends, the flag is down and a fence has been made when this returns: whatever a
    /// [`publish_paced`](Self::publish_paced) has left to this guard is visible to the caller's scans,
    /// and the token obliges it to look (`stop_search`, `park` and `leave` do).
    pub fn park_as_guard<T: Into<Option<Token>>>(
        &self,
        worker: usize,
        token: T,
        work: &impl Work,
        timeout: Duration,
    ) -> Result<Woken, T> {
        // Ordering: the flag is ordered by fences alone. It goes up before the P bit, so that the
        // fence and the rescan of the park come after it.
        if self
            .guard
            .compare_exchange(NONE, worker + 1, Ordering::Relaxed, Ordering::Relaxed)
            .is_err()
        {
            return Err(token);
        }
        let woken = self.park_timeout(worker, token.into(), work, timeout);
        self.end_guard();
        Ok(woken)
    }

    /// Whether there is a guard that serves all of `lanes`. Exact if asked after a fence.
    pub fn guards(&self, lanes: u32) -> bool {
        match self.guard.load(Ordering::Relaxed) {
            NONE => false,
            guard => self.lanes_of(guard - 1) & lanes == lanes,
        }
    }

    /// Whether there is a guard.
    pub fn has_guard(&self) -> bool {
        self.guard.load(Ordering::Relaxed) != NONE
    }

    /// The guard's bit, if it is a worker of `group`. A hint.
    pub(crate) fn guard_bit(&self, group: &Group) -> u32 {
        // Ordering: relaxed; whom a wake reaches is a matter of speed only.
        match self
            .guard
            .load(Ordering::Relaxed)
            .checked_sub(group.base + 1)
        {
            Some(bit) if bit < group.seats.len() => 1 << bit,
            _ => 0,
        }
    }

    fn park_timeout(
        &self,
        worker: usize,
        token: Option<Token>,
        work: &impl Work,
        timeout: Duration,
    ) -> Woken {
        let (group, place) = self.place(worker);
        if !self.announce_park(worker, token, work) {
            return Woken::Unparked(Token::new(place.group));
        }
        let deadline = Deadline::after(timeout);
        // Ordering: Acquire pairs with the Release of whoever cleared the bit.
        while group.load(Ordering::Acquire).is_parked(place.bit) {
            if !deadline.park() {
                let timed_out = if cfg!(terrace_weaken = "park-guard-rescan") {
                    self.end_guard();
                    sleep(group, place);
                    false
                } else {
                    take_back(group, place)
                };
                let token = Token::new(place.group);
                return if timed_out {
                    Woken::TimedOut(token)
                } else {
                    Woken::Unparked(token)
                };
            }
        }
        Woken::Unparked(Token::new(place.group))
    }

    fn end_guard(&self) {
        unless_weakened!(
            "park-guard-flag-kept",
            self.guard.store(NONE, Ordering::Relaxed)
        );
        // Fence pair: `light` in publish_paced. Either the publisher finds the flag down, or
        // every scan from here on sees its item.
        unless_weakened!("park-guard-fence", heavy());
    }
}
