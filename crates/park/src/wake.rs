//! The publishing side: decides whether to wake a worker or driver, and wakes it.

use terrace_sync::atomic::Ordering;
use terrace_sync::{light, weakened};

use crate::group::Group;
use crate::idle::{Idle, Work};
use crate::outcome::Wake;
use crate::token::Token;
use crate::word::{Word, bits_of, lowest};

/// Workers woken at once by a batch, and again by each worker that was woken for it.
const BATCH_WAKES: usize = 2;

impl Idle {
    /// Announces one item, made visible by the caller before.
    ///
    /// Cost: one light fence and one relaxed load a group where a worker searches or none sleeps.
    /// Else one compare-and-swap, two more read-modify-writes on the seat of the woken thread, and its unpark.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_park::{Idle, Wake};
    ///
    /// # struct Nothing;
    /// # impl terrace_park::Work for Nothing {
    /// #     fn takeable(&self) -> bool { false }
    /// #     fn has_private_work(&self, _: usize) -> bool { false }
    /// # }
    /// let idle = Idle::new(1);
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         let token = idle.enter(0);
    ///         let token = idle.park(0, token, &Nothing);
    ///         // The worker is awake, and searches.
    ///         idle.leave(0, token, &Nothing);
    ///     });
    ///     while !idle.any_parked() {
    ///         std::thread::yield_now();
    ///     }
    ///     assert_eq!(idle.publish(), Wake::Woke(0));
    /// });
    /// ```
    #[inline]
    pub fn publish(&self) -> Wake {
        // Fence pair: `heavy` in park, stop_search, wait_restricted and leave. Either the worker there sees the
        // item, or this publisher sees what the worker wrote to the word before.
        unless_weakened!("park-publish-fence", light());
        self.nobody_to_wake().unwrap_or_else(|| self.wake_one())
    }

    /// As [`publish`](Self::publish), but leaves the item to the sentinel, if there is one. The sentinel looks at it
    /// within its time-out.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_park::{Idle, Wake};
    ///
    /// # struct Nothing;
    /// # impl terrace_park::Work for Nothing {
    /// #     fn takeable(&self) -> bool { false }
    /// #     fn has_private_work(&self, _: usize) -> bool { false }
    /// # }
    /// let idle = Idle::new(1);
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         let token = idle.enter(0);
    ///         let token = idle.park(0, token, &Nothing);
    ///         // The worker is awake, and searches.
    ///         idle.leave(0, token, &Nothing);
    ///     });
    ///     while !idle.any_parked() {
    ///         std::thread::yield_now();
    ///     }
    ///     // No worker watches, so it does what a publish does.
    ///     assert_eq!(idle.publish_paced(), Wake::Woke(0));
    /// });
    /// ```
    pub fn publish_paced(&self) -> Wake {
        // Fence pair: the fences named in publish, and `heavy` at the end of a sentinel's watch.
        unless_weakened!("park-paced-fence", light());
        if self.has_sentinel() {
            return Wake::Watched;
        }
        self.wake_one()
    }

    /// Announces `items` items at once, made visible by the caller before. Returns how many threads it has woken.
    ///
    /// Wakes up to two parked workers, even while others search. Where none is parked it does what
    /// [`publish`](Self::publish) does. A worker woken for a batch spreads it with [`wake_more`](Self::wake_more).
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_park::Idle;
    ///
    /// # struct Nothing;
    /// # impl terrace_park::Work for Nothing {
    /// #     fn takeable(&self) -> bool { false }
    /// #     fn has_private_work(&self, _: usize) -> bool { false }
    /// # }
    /// let idle = Idle::new(1);
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         let token = idle.enter(0);
    ///         let token = idle.park(0, token, &Nothing);
    ///         // The worker is awake, and searches.
    ///         idle.leave(0, token, &Nothing);
    ///     });
    ///     while !idle.any_parked() {
    ///         std::thread::yield_now();
    ///     }
    ///     // As many as sleep, and two at most.
    ///     assert_eq!(idle.publish_batch(100), 1);
    /// });
    /// ```
    pub fn publish_batch(&self, items: usize) -> usize {
        if items == 0 {
            return 0;
        }
        // Fence pair: `heavy` in park, stop_search, wait_restricted and leave, as in publish.
        unless_weakened!("park-batch-fence", light());
        match self.wake_some(items.min(BATCH_WAKES)) {
            0 => match self.wake_one() {
                Wake::Woke(_) | Wake::WokeRestricted(_) | Wake::Driver => 1,
                Wake::Covered | Wake::Watched | Wake::NoneParked => 0,
            },
            woken => woken,
        }
    }

    /// As [`publish`](Self::publish), for a driver or a worker without a token that has moved shared work into its own ring.
    ///
    /// A worker that looked just before it slept may have seen the work in neither place.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_park::{Idle, Wake};
    ///
    /// # struct Nothing;
    /// # impl terrace_park::Work for Nothing {
    /// #     fn takeable(&self) -> bool { false }
    /// #     fn has_private_work(&self, _: usize) -> bool { false }
    /// # }
    /// let idle = Idle::new(1);
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         let token = idle.enter(0);
    ///         let token = idle.park(0, token, &Nothing);
    ///         // The worker is awake, and searches.
    ///         idle.leave(0, token, &Nothing);
    ///     });
    ///     while !idle.any_parked() {
    ///         std::thread::yield_now();
    ///     }
    ///     // An async driver has moved ten items from the shared queue to its own.
    ///     assert_eq!(idle.moved(), Wake::Woke(0));
    /// });
    /// ```
    #[inline]
    pub fn moved(&self) -> Wake {
        if weakened!("park-moved") {
            return Wake::Covered;
        }
        self.publish()
    }

    /// A searching worker that has taken an item and sees `surplus` more calls this. It wakes up to two parked workers,
    /// even while others search, and returns how many. It makes no fence: the worker that gives the last token back
    /// looks again, so only speed depends on this.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_park::Idle;
    ///
    /// # struct Nothing;
    /// # impl terrace_park::Work for Nothing {
    /// #     fn takeable(&self) -> bool { false }
    /// #     fn has_private_work(&self, _: usize) -> bool { false }
    /// # }
    /// let idle = Idle::new(2);
    /// let token = idle.enter(0);
    /// // It has taken an item and sees nine more. No worker sleeps that could take them.
    /// assert_eq!(idle.wake_more(&token, 9), 0);
    /// idle.leave(0, token, &Nothing);
    /// ```
    pub fn wake_more(&self, token: &Token, surplus: usize) -> usize {
        debug_assert!(token.group() < self.groups.iter().count());
        self.wake_some(surplus.min(BATCH_WAKES))
    }

    /// Wakes `worker`, whether it is parked or in a restricted wait. Returns whether it slept. If another thread has its place
    /// ([`hold`](Self::hold)), the worker wakes when that thread gives the place back.
    ///
    /// The caller has made the reason visible before: to [`Work::has_private_work`], or to the `ready` of a restricted wait.
    ///
    /// Cost: as [`publish`](Self::publish).
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_park::Idle;
    ///
    /// # struct Nothing;
    /// # impl terrace_park::Work for Nothing {
    /// #     fn takeable(&self) -> bool { false }
    /// #     fn has_private_work(&self, _: usize) -> bool { false }
    /// # }
    /// let idle = Idle::new(1);
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         let token = idle.enter(0);
    ///         let token = idle.park(0, token, &Nothing);
    ///         // The worker is awake, and searches.
    ///         idle.leave(0, token, &Nothing);
    ///     });
    ///     while !idle.any_parked() {
    ///         std::thread::yield_now();
    ///     }
    ///     assert!(idle.wake_worker(0));
    /// });
    /// ```
    pub fn wake_worker(&self, worker: usize) -> bool {
        let (group, place) = self.groups.place(worker);
        // Fence pair: `heavy` in park and wait_restricted. Either the worker sees the reason, or this thread sees its bit.
        unless_weakened!("park-wake-worker-fence", light());
        let mut word = group.load(Ordering::Relaxed);
        let own = 1 << place.bit;
        loop {
            let next = if word.is_parked(place.bit) {
                word.unparked(own)
            } else if word.is_restricted(place.bit) {
                word.released(own)
            } else if word.is_held(place.bit) && !weakened!("park-held-unwanted") {
                group.seat(place.bit).want();
                // Fence pair: `heavy` in unhold. Either the holder sees the wish, or this thread sees the place given back.
                unless_weakened!("park-want-fence", light());
                word = group.load(Ordering::Relaxed);
                if word.is_held(place.bit) {
                    return false;
                }
                continue;
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

    /// Wakes every worker, for instance to stop. Returns how many slept.
    ///
    /// The caller has made the reason visible before: to each worker's [`Work::has_private_work`], and to the `ready` of each
    /// restricted wait.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_park::Idle;
    ///
    /// # struct Nothing;
    /// # impl terrace_park::Work for Nothing {
    /// #     fn takeable(&self) -> bool { false }
    /// #     fn has_private_work(&self, _: usize) -> bool { false }
    /// # }
    /// let idle = Idle::new(1);
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         let token = idle.enter(0);
    ///         let token = idle.park(0, token, &Nothing);
    ///         // The worker is awake, and searches.
    ///         idle.leave(0, token, &Nothing);
    ///     });
    ///     while !idle.any_parked() {
    ///         std::thread::yield_now();
    ///     }
    ///     assert_eq!(idle.unpark_all(), 1);
    /// });
    /// ```
    pub fn unpark_all(&self) -> usize {
        // Fence pair: `heavy` in park and wait_restricted, as in wake_worker.
        unless_weakened!("park-unpark-all-fence", light());
        let mut woken = 0;
        for group in self.groups.iter() {
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
            for bit in bits_of(word.held()) {
                self.wake_worker(group.base + bit as usize);
            }
        }
        woken
    }

    /// If work is visible: a publish without an item of its own, and without a fence.
    ///
    /// The caller has fenced after its own change of the word or the live mask.
    pub(crate) fn publish_visible(&self, work: &impl Work) {
        if work.takeable() {
            self.wake_one();
        }
    }

    /// The decision of [`wake_one`](Self::wake_one) if it is to wake no thread: a worker searches, or no worker sleeps, and no driver.
    #[inline]
    fn nobody_to_wake(&self) -> Option<Wake> {
        // Most pools have one group, and it is the first.
        if let [group] = &*self.groups.first {
            // Ordering: relaxed, after the fence.
            let word = group.load(Ordering::Relaxed);
            if word.is_calm() {
                return Some(Wake::NoneParked);
            }
            if word.searching() > 0 {
                return Some(Wake::Covered);
            }
        }
        self.nobody_sleeps()
    }

    /// That decision where it takes more than one look.
    fn nobody_sleeps(&self) -> Option<Wake> {
        for group in self.groups.iter() {
            // Ordering: relaxed, after the fence.
            let word = group.load(Ordering::Relaxed);
            if word.searching() > 0 {
                return Some(Wake::Covered);
            }
            if word.any_asleep() {
                return None;
            }
        }
        (!self.drivers.any_asleep()).then_some(Wake::NoneParked)
    }

    /// The decision of a publish, after its fence.
    pub(crate) fn wake_one(&self) -> Wake {
        let wake = self.wake_any_worker();
        match wake {
            // Drivers may be left unpolled, so no publisher relies on one while a worker can be woken.
            Wake::NoneParked => self.drivers.notify(),
            Wake::WokeRestricted(_) => {
                self.drivers.notify();
                wake
            }
            _ => wake,
        }
    }

    /// Wakes a worker, unless one searches.
    fn wake_any_worker(&self) -> Wake {
        loop {
            let mut parked: Option<(&Group, Word)> = None;
            let mut any_waits = false;
            for group in self.groups.iter() {
                // Ordering: relaxed, after the fence; the claim below checks what it claims.
                let word = group.load(Ordering::Relaxed);
                if word.searching() > 0 {
                    return Wake::Covered;
                }
                any_waits |= word.restricted() | word.held() != 0;
                if parked.is_none() && word.parked() != 0 {
                    parked = Some((group, word));
                }
            }
            let Some((group, word)) = parked else {
                return if any_waits {
                    self.end_any_wait()
                } else {
                    Wake::NoneParked
                };
            };
            let mask = self.choose(group, word.parked());
            // A failed claim has read the newest word, so the next round decides on that.
            if group.claim(word, word.unparked(mask)).is_ok() {
                group.unpark(mask);
                return Wake::Woke(group.base + mask.trailing_zeros() as usize);
            }
        }
    }

    /// One of the parked workers of `group`: better one that did not fall asleep on the caller's processor. Where the processors are busy
    /// the kernel wakes a thread where it slept. There it would wait until the caller sleeps, or its slice ends. Of those that are
    /// left, sentinels come last, so that they go on watching while others can run.
    fn choose(&self, group: &Group, parked: u32) -> u32 {
        let others = parked & !self.flags.bits_in(group);
        let elsewhere = |mask| bits_of(mask).find(|&bit| !group.seat(bit).slept_here());
        match elsewhere(others).or_else(|| elsewhere(parked)) {
            Some(bit) => 1 << bit,
            None => lowest(if others == 0 { parked } else { others }, 1),
        }
    }

    /// The R rule: if every live worker is in a restricted wait, or its holder is, one of these waits ends. A holder that another thread
    /// has woken first looks before it sleeps again.
    fn end_any_wait(&self) -> Wake {
        if weakened!("park-r-rule") || !self.all_restricted() {
            return Wake::NoneParked;
        }
        let mut groups = self.groups.iter();
        let ended = groups.find_map(|group| group.end_one_wait(u32::MAX));
        ended.map_or(Wake::NoneParked, Wake::WokeRestricted)
    }

    /// Whether there are live workers, and each of them, or the holder of its place, is in a restricted wait.
    ///
    /// The caller has fenced. It reads group by group: a worker or holder that it does not see waiting fences later, and will look
    /// itself.
    pub(crate) fn all_restricted(&self) -> bool {
        let mut any = false;
        for group in self.groups.iter() {
            let live = group.live();
            if live & !group.waiting(group.load(Ordering::Relaxed)) != 0 {
                return false;
            }
            any |= live != 0;
        }
        any
    }

    /// Wakes up to `count`: parked workers, then drivers.
    fn wake_some(&self, count: usize) -> usize {
        let mut woken = self.wake_many(count);
        while woken < count && self.drivers.notify() == Wake::Driver {
            woken += 1;
        }
        woken
    }

    /// Claims up to `count` parked workers, all of a group at once, then unparks them. Does so even while others search.
    fn wake_many(&self, count: usize) -> usize {
        let mut woken = 0;
        for group in self.groups.iter() {
            let mut word = group.load(Ordering::Relaxed);
            let claimed = loop {
                let mask = match (word.parked(), count - woken) {
                    (0, _) | (_, 0) => break 0,
                    (parked, 1) => self.choose(group, parked),
                    (parked, count) => lowest(parked, count),
                };
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
