//! Restricted waits: a worker that sleeps in the middle of a job, for its own work only.

use terrace_sync::atomic::Ordering;
use terrace_sync::{heavy, ordering, thread};

use crate::Restricted;
use crate::group::Group;
use crate::idle::{Idle, Work, each_lane};
use crate::word::{self, lowest};

impl Idle {
    /// Sleeps until [`targeted`](Self::targeted), or until this worker is needed as a last resort.
    ///
    /// The worker owns no token. `ready` and [`Work::inlet`] are what it waits for: whoever makes
    /// either true calls `targeted` afterwards. The caller loops: every outcome means to look again.
    ///
    /// Cost: one read-modify-write, one heavy fence, one scan, one thread park.
    pub fn wait_restricted(
        &self,
        worker: usize,
        work: &impl Work,
        ready: impl Fn() -> bool,
    ) -> Restricted {
        let (group, place) = self.place(worker);
        // Ordering: AcqRel as for every change of the word; the fence orders it before what follows.
        let after = group.add(word::restricted_bit(place.bit), Ordering::AcqRel);
        debug_assert!(after.is_restricted(place.bit), "a worker waits twice");
        // Fence pair: `light` in targeted and publish: either they see our bit, or we see what they
        // wrote. And `heavy` here: of two workers that go to wait, one sees the other's bit.
        let early =
            cfg!(terrace_weaken = "park-wait-early-load") && !self.all_restricted(group.lanes);
        unless_weakened!("park-wait-fence", heavy());
        let found = if !cfg!(terrace_weaken = "park-wait-rescan") && (ready() || work.inlet(worker))
        {
            Restricted::Ready
        } else if !early && self.last_resort(group.lanes, work) {
            Restricted::LastResort
        } else {
            // Ordering: Acquire pairs with the Release of whoever cleared the bit.
            while group
                .load(ordering!("park-wait-acquire", Acquire))
                .is_restricted(place.bit)
            {
                thread::park();
            }
            return Restricted::Woken;
        };
        // Whether or not somebody was faster: we are up, and no token goes with an R bit.
        // Ordering: Acquire pairs with the Release of whoever was faster.
        group.clear_restricted(place.bit, Ordering::AcqRel);
        found
    }

    /// Ends the restricted wait of some other worker of the same lanes, so that it looks whether it is the last resort:
    /// for a worker that is asked and cannot help, called while that worker is in a restricted wait itself (else the
    /// other would not find everybody waiting, and sleep on). The next one in the order of indices, so that workers
    /// that pass it on reach everybody. Whether there was one.
    ///
    /// Cost: one compare-and-swap, and the unpark.
    pub fn release_other(&self, worker: usize) -> bool {
        let (own, place) = self.place(worker);
        let above = !((2 << place.bit) - 1);
        let below = (1 << place.bit) - 1;
        let groups = self.groups().count();
        (0..=groups).any(|step| {
            let group = self.group((place.group + step) % groups);
            let allowed = match step {
                0 => above,
                _ if step == groups => below,
                _ => u32::MAX,
            };
            group.lanes & own.lanes != 0 && group.release_one(allowed)
        })
    }

    /// Whether work of some lane is visible while all who could take it wait as we do.
    fn last_resort(&self, lanes: u32, work: &impl Work) -> bool {
        !cfg!(terrace_weaken = "park-last-resort")
            && each_lane(lanes).any(|lane| self.all_restricted(lane) && work.takeable(lane))
    }
}

impl Group {
    /// Clears the lowest of the `allowed` R bits that is set, and unparks its worker.
    fn release_one(&self, allowed: u32) -> bool {
        let mut word = self.load(Ordering::Relaxed);
        loop {
            let mask = lowest(word.restricted() & allowed, 1);
            if mask == 0 {
                return false;
            }
            match self.claim(word, word.released(mask)) {
                Ok(()) => {
                    self.unpark(mask);
                    return true;
                }
                Err(now) => word = now,
            }
        }
    }
}
