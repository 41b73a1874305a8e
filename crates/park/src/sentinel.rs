//! Sentinels: workers that sleep with a time-out, and so watch work that publishers left alone for now.

use std::time::Duration;

use terrace_sync::atomic::Ordering;
use terrace_sync::thread::PreciseSleeps;
use terrace_sync::{heavy, weakened};

use crate::deadline::Deadline;
use crate::idle::{Idle, Work};
use crate::outcome::Woken;
use crate::search::{Announced, Back, sleep, take_back};
use crate::token::Token;

/// A sleep shorter than this has to end on time: what the system adds to each sleep would double it.
const SHORT: Duration = Duration::from_micros(200);

impl Idle {
    /// Parks as a sentinel of this `Idle`: as [`park`](Self::park), for as long as `sleeps` has items.
    ///
    /// Each item is how long to sleep until the next is asked for. So the iterator can look at the work that is watched,
    /// and ends when it sees something to do. It is called with a bit of the worker set, as [`Work`] is. It fences
    /// nothing: what it sees is a hint.
    ///
    /// Cost: as `park`, and one read-modify-write and one heavy fence; a look costs no fence. Sleeps of less than 200 us
    /// end on time on Linux, which takes three system calls a call ([`PreciseSleeps`]).
    ///
    /// # Errors
    ///
    /// Hands the token back if two other workers are sentinels.
    ///
    /// # What a sentinel owes
    ///
    /// However the sleep ends, this lowers the worker's flag and fences before it returns. The caller's scans then see every
    /// item that a [`publish_paced`](Self::publish_paced) has left to this sentinel. The token obliges the caller to
    /// look: `stop_search`, `park` and `leave` do.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_park::{Idle, Wake, Woken};
    ///
    /// # struct Nothing;
    /// # impl terrace_park::Work for Nothing {
    /// #     fn takeable(&self) -> bool { false }
    /// #     fn has_private_work(&self, _: usize) -> bool { false }
    /// # }
    /// use std::time::Duration;
    ///
    /// let idle = Idle::new(1);
    /// let token = idle.enter(0);
    /// let mut looks = 0;
    /// let sleeps = std::iter::from_fn(|| {
    ///     looks += 1;
    ///     // Its own look would find what this leaves to it.
    ///     assert_eq!(idle.publish_paced(), Wake::Watched);
    ///     (looks < 3).then_some(Duration::from_micros(50))
    /// });
    /// let Ok(Woken::TimedOut(token)) = idle.park_as_sentinel(0, token, &Nothing, sleeps) else {
    ///     panic!("no other thread wakes it");
    /// };
    /// assert_eq!(looks, 3);
    /// idle.leave(0, token, &Nothing);
    /// ```
    pub fn park_as_sentinel<T: Into<Option<Token>>>(
        &self,
        worker: usize,
        token: T,
        work: &impl Work,
        sleeps: impl IntoIterator<Item = Duration>,
    ) -> Result<Woken, T> {
        // The flag goes up before the P bit, so that the fence and the rescan of the park come after it.
        if !self.flags.raise(worker) {
            return Err(token);
        }
        let woken = self.park_watching(worker, token.into(), work, sleeps.into_iter());
        self.end_watch(worker);
        Ok(woken)
    }

    fn park_watching(
        &self,
        worker: usize,
        token: Option<Token>,
        work: &impl Work,
        sleeps: impl Iterator<Item = Duration>,
    ) -> Woken {
        let (group, place) = self.groups.place(worker);
        if let Announced::TakenBack = self.announce_park(worker, (group, place), token, work) {
            return Woken::Unparked(Token::new(place.group));
        }
        let mut precise = None;
        for timeout in sleeps {
            if timeout < SHORT {
                precise.get_or_insert_with(PreciseSleeps::begin);
            }
            let deadline = Deadline::after(timeout);
            let mut goes_on = true;
            while goes_on {
                // Ordering: Acquire pairs with the Release of the thread that cleared the bit.
                if !group.load(Ordering::Acquire).sleeps(place.bit) {
                    return Woken::Unparked(Token::new(place.group));
                }
                goes_on = deadline.park();
                // A look may have moved it to another processor.
                group.seat(place.bit).falls_asleep();
            }
        }
        let back = if weakened!("park-sentinel-rescan") {
            self.end_watch(worker);
            sleep(group, place);
            Back::ByAnother
        } else {
            take_back(group, place)
        };
        if let Back::ByItself = back {
            return Woken::TimedOut(Token::new(place.group));
        }
        if let Back::Held = back {
            // It cannot get up, so it must not look as if it watched: another worker gets the work.
            self.end_watch(worker);
            self.pass_on(worker, work);
            sleep(group, place);
        }
        Woken::Unparked(Token::new(place.group))
    }

    fn end_watch(&self, worker: usize) {
        unless_weakened!("park-sentinel-flag-kept", self.flags.lower(worker));
        // Fence pair: `light` in publish_paced. Either the publisher finds the flag down, or
        // every scan of this worker from here on sees its item.
        unless_weakened!("park-sentinel-fence", heavy());
    }
}
