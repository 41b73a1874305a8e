//! The publishing side: decide whether somebody has to be woken, and wake them.

use terrace_sync::atomic::Ordering;
use terrace_sync::light;

use crate::group::Group;
use crate::idle::{Idle, Work, each_lane, follow};
use crate::word::{Word, lowest};
use crate::{Token, Wake};

/// Workers woken at once by a batch, and again by each worker that was woken for it.
const BATCH_WAKES: usize = 2;

impl Idle {
    /// Announces one item of the lane in `lanes` (one bit), made visible by the caller before.
    ///
    /// Cost: one light fence and one relaxed load a group where a worker searches or nobody sleeps;
    /// else one compare-and-swap, two more read-modify-writes on the seat of the woken thread, and its unpark.
    #[inline]
    pub fn publish(&self, lanes: u32) -> Wake {
        // Fence pair: `heavy` in park, stop_search, wait_restricted and leave. Either those see our
        // item, or we see what they wrote to the word before.
        unless_weakened!("park-publish-fence", light());
        self.nobody_to_wake(lanes)
            .unwrap_or_else(|| self.wake_one(lanes))
    }

    /// As [`publish`](Self::publish), but leaves the item to the guard if there is one that serves
    /// `lanes` and `eager` is false: it is then looked at within the guard's time-out.
    pub fn publish_paced(&self, lanes: u32, eager: bool) -> Wake {
        // Fence pair: as in publish, and `heavy` at the end of a guard.
        unless_weakened!("park-paced-fence", light());
        if !eager && self.guards(lanes) {
            return Wake::Guarded;
        }
        self.wake_one(lanes)
    }

    /// Announces `items` items at once, made visible by the caller before: wakes up to two parked
    /// workers whoever searches, else does what [`publish`](Self::publish) does. Returns how many were
    /// woken. A worker woken for a batch spreads it with [`hand_on`](Self::hand_on).
    pub fn publish_batch(&self, lanes: u32, items: usize) -> usize {
        if items == 0 {
            return 0;
        }
        // Fence pair: as in publish.
        unless_weakened!("park-batch-fence", light());
        match self.wake_some(lanes, items.min(BATCH_WAKES)) {
            0 => match self.wake_one(lanes) {
                Wake::Woke(_) | Wake::WokeRestricted(_) | Wake::Driver => 1,
                Wake::Covered | Wake::Guarded | Wake::NoneParked => 0,
            },
            woken => woken,
        }
    }

    /// For a driver, or a worker without a token, that has moved shared work into its own ring, where others see it
    /// again: as [`publish`](Self::publish). One that looked before it lay down may have seen it in neither place.
    #[inline]
    pub fn moved(&self, lanes: u32) {
        unless_weakened!("park-moved", {
            self.publish(lanes);
        });
    }

    /// For a searching worker that has taken an item and sees `surplus` more: wakes up to two parked workers,
    /// whoever searches. Returns how many. No fence: nothing depends on it but speed, since the last
    /// token given back looks again.
    pub fn hand_on(&self, token: &Token, lanes: u32, surplus: usize) -> usize {
        debug_assert!(token.group() < self.groups().count());
        self.wake_some(lanes, surplus.min(BATCH_WAKES))
    }

    /// Wakes `worker`, if it sleeps in whatever way, for something the caller has put where only it can reach
    /// (its [`Work::inlet`], or what its restricted wait is about). Whether it slept.
    ///
    /// Cost: as [`publish`](Self::publish).
    pub fn targeted(&self, worker: usize) -> bool {
        let (group, place) = self.place(worker);
        // Fence pair: `heavy` in park and wait_restricted: either the worker sees what we put there,
        // or we see its bit.
        unless_weakened!("park-targeted-fence", light());
        let mut word = group.load(Ordering::Relaxed);
        let own = 1 << place.bit;
        loop {
            let next = if word.is_parked(place.bit) {
                word.unparked(own)
            } else if word.is_restricted(place.bit) {
                word.released(own)
            } else {
                return false;
            };
            match group.claim(word, next) {
                Ok(()) => break,
                Err(now) => word = now,
            }
        }
        group.unpark(own);
        true
    }

    /// Wakes everybody, for instance to stop: the reason has to be visible in each worker's
    /// [`Work::inlet`] (and in what its restricted wait is about) before. Returns how many slept.
    pub fn unpark_all(&self) -> usize {
        // Fence pair: as in targeted.
        unless_weakened!("park-unpark-all-fence", light());
        let mut woken = 0;
        for group in self.groups() {
            let mut word = group.load(Ordering::Relaxed);
            let sleepers = loop {
                let (parked, restricted) = (word.parked(), word.restricted());
                if parked | restricted == 0 {
                    break 0;
                }
                match group.claim(word, word.unparked(parked).released(restricted)) {
                    Ok(()) => break parked | restricted,
                    Err(now) => word = now,
                }
            };
            group.unpark(sleepers);
            woken += sleepers.count_ones() as usize;
        }
        woken
    }

    /// For every lane of `lanes` of which work is visible: a publish without item and fence.
    ///
    /// The caller has fenced after its own change of the word or the live mask.
    pub(crate) fn publish_visible(&self, lanes: u32, work: &impl Work) {
        for lane in each_lane(lanes) {
            if work.takeable(lane) {
                self.wake_one(lane);
            }
        }
    }

    /// What [`wake_one`](Self::wake_one) decides where a look says it all: somebody in the first group searches, or nobody
    /// in it sleeps and there is neither another group nor a driver.
    #[inline]
    fn nobody_to_wake(&self, lanes: u32) -> Option<Wake> {
        let group = match &*self.first {
            [group] => group,
            [] if self.drivers.were_none() && follow(&self.grown).is_none() => {
                return Some(Wake::NoneParked);
            }
            _ => return None,
        };
        // Ordering: relaxed, after the fence.
        let word = group.load(Ordering::Relaxed);
        if word.nobody_sleeps() {
            Some(Wake::NoneParked)
        } else if word.searching() > 0 && group.lanes & lanes != 0 {
            Some(Wake::Covered)
        } else {
            None
        }
    }

    /// The decision of a publish, after its fence.
    pub(crate) fn wake_one(&self, lanes: u32) -> Wake {
        let wake = self.wake_worker(lanes);
        match wake {
            // Drivers may be left unpolled, so nobody relies on one while a worker can be woken.
            Wake::NoneParked => self.drivers.notify(),
            Wake::WokeRestricted(_) => {
                self.drivers.notify();
                wake
            }
            _ => wake,
        }
    }

    /// Wakes a worker, unless one searches.
    fn wake_worker(&self, lanes: u32) -> Wake {
        loop {
            let mut parked: Option<(&Group, Word)> = None;
            let mut any_restricted = false;
            for group in self.serving(lanes) {
                // Ordering: relaxed, after the fence; the claim below checks what it claims.
                let word = group.load(Ordering::Relaxed);
                if word.searching() > 0 {
                    return Wake::Covered;
                }
                any_restricted |= word.restricted() != 0;
                if parked.is_none() && word.parked() != 0 {
                    parked = Some((group, word));
                }
            }
            let attempt = match parked {
                Some((group, word)) => {
                    let bit = self.choose(group, word.parked());
                    (group, word, word.unparked(bit), bit)
                }
                None if any_restricted => match self.restricted_to_release(lanes) {
                    Some((group, word)) => {
                        let bit = lowest(word.restricted(), 1);
                        (group, word, word.released(bit), bit)
                    }
                    None => return Wake::NoneParked,
                },
                None => return Wake::NoneParked,
            };
            let (group, word, next, mask) = attempt;
            // A failed claim has read the newest word, so the next round decides on that.
            if group.claim(word, next).is_ok() {
                group.unpark(mask);
                let worker = group.base + mask.trailing_zeros() as usize;
                return match parked {
                    Some(_) => Wake::Woke(worker),
                    None => Wake::WokeRestricted(worker),
                };
            }
        }
    }

    /// One of the parked workers of `group`: the guard last, so that it goes on watching while others can run.
    fn choose(&self, group: &Group, parked: u32) -> u32 {
        let others = parked & !self.guard_bit(group);
        lowest(if others == 0 { parked } else { others }, 1)
    }

    /// The R rule: if every live worker of `lanes` is in a restricted wait, a group with one of them.
    fn restricted_to_release(&self, lanes: u32) -> Option<(&Group, Word)> {
        if cfg!(terrace_weaken = "park-r-rule") || !self.all_restricted(lanes) {
            return None;
        }
        self.serving(lanes).find_map(|group| {
            let word = group.load(Ordering::Relaxed);
            (word.restricted() != 0).then_some((group, word))
        })
    }

    /// Whether there are live workers of `lanes` and every one of them is in a restricted wait.
    ///
    /// Read after a fence, group by group: a worker missed in `R` has not fenced yet, and will look itself.
    pub(crate) fn all_restricted(&self, lanes: u32) -> bool {
        let mut any = false;
        for group in self.serving(lanes) {
            let live = group.live.load(Ordering::Relaxed);
            if group.load(Ordering::Relaxed).restricted() != live {
                return false;
            }
            any |= live != 0;
        }
        any
    }

    /// Wakes up to `count`: parked workers, then drivers.
    fn wake_some(&self, lanes: u32, count: usize) -> usize {
        let mut woken = self.wake_many(lanes, count);
        while woken < count && self.drivers.notify() == Wake::Driver {
            woken += 1;
        }
        woken
    }

    /// Claims up to `count` parked workers of `lanes` at once, whoever searches, then unparks them.
    fn wake_many(&self, lanes: u32, count: usize) -> usize {
        let mut woken = 0;
        for group in self.serving(lanes) {
            let mut word = group.load(Ordering::Relaxed);
            let claimed = loop {
                let mask = lowest(word.parked(), count - woken);
                if mask == 0 {
                    break 0;
                }
                match group.claim(word, word.unparked(mask)) {
                    Ok(()) => break mask,
                    Err(now) => word = now,
                }
            };
            group.unpark(claimed);
            woken += claimed.count_ones() as usize;
            if woken == count {
                break;
            }
        }
        woken
    }
}

impl Group {
    /// Swaps `old` for `next`, by which bits of sleepers are cleared.
    pub(crate) fn claim(&self, old: Word, next: Word) -> Result<(), Word> {
        // Ordering: Release pairs with the Acquire by which a sleeper finds its bit cleared; Acquire pairs
        // with the Release by which it set it.
        self.swap(old, next, Ordering::AcqRel, Ordering::Relaxed)
    }
}
