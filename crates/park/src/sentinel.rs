//! The sentinel: one worker that sleeps with a time-out, and so watches work that publishers left alone for now.

use std::time::Duration;

use terrace_sync::atomic::Ordering;
use terrace_sync::{heavy, weakened};

use crate::deadline::Deadline;
use crate::flag::Taken;
use crate::idle::{Idle, Work};
use crate::outcome::Woken;
use crate::search::{Announced, ClearedBy, sleep, take_back};
use crate::token::Token;

impl Idle {
    /// Parks as the one sentinel of this `Idle`: as [`park`](Self::park), for at most `timeout`.
    ///
    /// # Errors
    ///
    /// Hands the token back if another worker is the sentinel.
    ///
    /// # What the sentinel owes
    ///
    /// However the sleep ends, this lowers the flag and fences before it returns. The caller's scans then see every
    /// item that a [`publish_paced`](Self::publish_paced) has left to this sentinel. The token obliges the caller to
    /// look: `stop_search`, `park` and `leave` do.
    pub fn park_as_sentinel<T: Into<Option<Token>>>(
        &self,
        worker: usize,
        token: T,
        work: &impl Work,
        timeout: Duration,
    ) -> Result<Woken, T> {
        // The flag goes up before the P bit, so that the fence and the rescan of the park come after it.
        if let Err(Taken) = self.flag.raise(worker) {
            return Err(token);
        }
        let woken = self.park_timeout(worker, token.into(), work, timeout);
        self.end_watch();
        Ok(woken)
    }

    fn park_timeout(
        &self,
        worker: usize,
        token: Option<Token>,
        work: &impl Work,
        timeout: Duration,
    ) -> Woken {
        let (group, place) = self.groups.place(worker);
        if let Announced::TakenBack = self.announce_park(worker, (group, place), token, work) {
            return Woken::Unparked(Token::new(place.group));
        }
        let deadline = Deadline::after(timeout);
        // Ordering: Acquire pairs with the Release of the thread that cleared the bit.
        while group.load(Ordering::Acquire).is_parked(place.bit) {
            if !deadline.park() {
                let cleared = if weakened!("park-sentinel-rescan") {
                    self.end_watch();
                    sleep(group, place);
                    ClearedBy::Another
                } else {
                    take_back(group, place)
                };
                let token = Token::new(place.group);
                return match cleared {
                    ClearedBy::Itself => Woken::TimedOut(token),
                    ClearedBy::Another => Woken::Unparked(token),
                };
            }
        }
        Woken::Unparked(Token::new(place.group))
    }

    fn end_watch(&self) {
        unless_weakened!("park-sentinel-flag-kept", self.flag.lower());
        // Fence pair: `light` in publish_paced. Either the publisher finds the flag down, or
        // every scan of this worker from here on sees its item.
        unless_weakened!("park-sentinel-fence", heavy());
    }
}
