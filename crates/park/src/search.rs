//! The worker's side: search, stop searching, park.

use terrace_sync::atomic::Ordering;
use terrace_sync::{heavy, ordering, thread, weakened};

use crate::group::Group;
use crate::groups::Place;
use crate::idle::{Idle, Work};
use crate::outcome::Wake;
use crate::token::Token;
use crate::word::{self, Word};

/// The result of a worker's announcement that it parks.
#[must_use = "a worker whose announcement stands sleeps; one whose was taken back owns a token"]
pub(crate) enum Announced {
    /// The `P` bit was set when the worker looked: it sleeps for as long as it is.
    Stands,
    /// The `P` bit is clear again, and the worker owns a token.
    TakenBack,
}

/// How a worker's attempt to clear its own `P` bit ended.
#[must_use = "the caller goes by how the search ended"]
pub(crate) enum Back {
    /// It has cleared the bit, and added the token.
    ByItself,
    /// Another thread had done both.
    ByAnother,
    /// Another thread has the worker's place: the worker sleeps on.
    Held,
}

impl Idle {
    /// A token for `worker` to search with, unless half of its group (rounded up) searches already.
    ///
    /// The running worker itself calls this; it owns no token. On `None` it looks at the places
    /// that only it can reach, and may [`park`](Self::park) without a token: the searchers look
    /// again later.
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
    /// let token = idle.enter(0);
    /// idle.stop_search(token, &Nothing);
    /// // It has run an item, and looks for the next one.
    /// let token = idle.try_search(0).expect("no other worker searches");
    /// idle.leave(0, token, &Nothing);
    /// ```
    pub fn try_search(&self, worker: usize) -> Option<Token> {
        let (group, place) = self.groups.place(worker);
        let limit = group.search_limit();
        let mut word = group.load(Ordering::Relaxed);
        while word.searching() < limit {
            // Ordering: AcqRel as for every change of S, see `stop_search`.
            match group.swap(word, word.with_token(), Ordering::AcqRel, Ordering::Relaxed) {
                Ok(()) => return Some(Token::new(place.group)),
                Err(now) => word = now,
            }
        }
        None
    }

    /// Gives `token` back, always before the worker runs anything. The last searcher of a group fences, looks, and
    /// publishes the work that it sees.
    ///
    /// Cost: one read-modify-write. The last searcher of a group makes one heavy fence more. It does not if there is
    /// one group only, there never was an async driver, and no worker is parked.
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
    /// let token = idle.enter(0);
    /// // It has found an item. It gives the token back, and runs the item then.
    /// idle.stop_search(token, &Nothing);
    /// assert_eq!(idle.searching(), 0);
    /// idle.leave(0, None, &Nothing);
    /// ```
    pub fn stop_search(&self, token: Token, work: &impl Work) {
        if weakened!("park-token-kept") {
            std::mem::forget(token);
            return;
        }
        let group = self.groups.get(token.into_group());
        // Ordering: the last to stop looks on behalf of all. Its Acquire pairs with the Release of every
        // earlier change of S: it sees the work that those searchers have moved.
        let after = group.add(
            word::TOKEN.wrapping_neg(),
            ordering!("park-stop-search-ordering", AcqRel),
        );
        debug_assert!(after.searching() < u32::from(u16::MAX), "S fell below zero");
        if after.searching() != 0 {
            return;
        }
        // Publishers that got `Covered` relied on this worker. Here it could wake no thread for them, as none is
        // asleep.
        if !after.is_wide() && after.parked() == 0 {
            return;
        }
        // Fence pair: `light` in publish. Either the publisher reads S without this token, or this worker sees its item.
        // The bits of other groups are loaded after it too.
        let early = weakened!("park-stop-search-early-load") && !self.anyone_asleep();
        unless_weakened!("park-stop-search-fence", heavy());
        if early || weakened!("park-stop-search-rescan") {
            return;
        }
        if self.anyone_asleep() && work.takeable() {
            self.wake_one();
        }
    }

    /// Sleeps until woken, and returns a token: the one added by the thread that cleared the worker's bit.
    ///
    /// Takes the token the worker owns, if any. Returns at once if the worker has private work, or if work is visible and no
    /// worker of its group searches. The worker then searches, and gives the token back before it runs anything.
    ///
    /// Cost: one read-modify-write, one heavy fence, one scan, one thread park.
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
    pub fn park(&self, worker: usize, token: impl Into<Option<Token>>, work: &impl Work) -> Token {
        let (group, place) = self.groups.place(worker);
        if let Announced::Stands = self.announce_park(worker, (group, place), token.into(), work) {
            sleep(group, place);
        }
        Token::new(place.group)
    }

    /// Sets the `P` bit, gives the token up, fences, looks again, and takes the bit back if it sees something.
    pub(crate) fn announce_park(
        &self,
        worker: usize,
        (group, place): (&Group, Place),
        token: Option<Token>,
        work: &impl Work,
    ) -> Announced {
        let mut delta = word::parked_bit(place.bit);
        if let Some(token) = token {
            debug_assert_eq!(token.group(), place.group, "a token of another group");
            token.into_group();
            delta = delta.wrapping_sub(word::TOKEN);
        }
        group.seat(place.bit).falls_asleep();
        // Ordering: AcqRel as for every change of S, see `stop_search`.
        let after = group.add(delta, Ordering::AcqRel);
        debug_assert!(after.is_parked(place.bit), "a worker parked twice");
        // Fence pair: `light` in publish and wake_worker. Either they see this bit, or this worker sees their item.
        unless_weakened!("park-fence", heavy());
        if self.sleep_in_vain(worker, after, work) {
            match take_back(group, place) {
                Back::ByItself | Back::ByAnother => return Announced::TakenBack,
                Back::Held => self.pass_on(worker, work),
            }
        }
        Announced::Stands
    }

    /// A worker that sees a reason to get up sleeps on, as another thread has its place. Its own work waits for that thread to
    /// give the place back. It may owe a look to publishers that relied on its token, so a parked worker gets the other work.
    #[cold]
    pub(crate) fn pass_on(&self, worker: usize, work: &impl Work) {
        if work.has_private_work(worker) {
            self.wake_worker(worker);
        }
        if !weakened!("park-held-pass-on")
            && work.takeable()
            && matches!(self.wake_one(), Wake::NoneParked | Wake::Driver)
        {
            work.unattended();
        }
    }

    /// Whether a worker that has announced its sleep sees a reason to get up. `after` is the word its announcement
    /// made: a searcher in that word looks later than the announcement.
    fn sleep_in_vain(&self, worker: usize, after: Word, work: &impl Work) -> bool {
        (!weakened!("park-private-rescan") && work.has_private_work(worker))
            || (!weakened!("park-rescan") && after.searching() == 0 && work.takeable())
    }

    /// Whether a worker is parked or in a restricted wait, or a driver is asleep.
    fn anyone_asleep(&self) -> bool {
        self.drivers.any_asleep()
            || self.groups.iter().any(|group| {
                let word = group.load(Ordering::Relaxed);
                word.parked() | word.restricted() != 0
            })
    }
}

/// Sleeps for as long as the `P` bit is set.
pub(crate) fn sleep(group: &Group, place: Place) {
    // Ordering: Acquire pairs with the Release of the thread that cleared the bit.
    while group
        .load(ordering!("park-bit-acquire", Acquire))
        .sleeps(place.bit)
    {
        thread::park();
    }
}

/// Clears the worker's own `P` bit and adds a token, unless another thread has done both already. Either way the worker owns one
/// token now. It owns none, and sleeps on, if another thread has its place.
pub(crate) fn take_back(group: &Group, place: Place) -> Back {
    // Ordering: Acquire, here and below, pairs with the Release of the thread that cleared the bit, if one has.
    let mut word = group.load(ordering!("park-take-back-acquire", Acquire));
    while word.sleeps(place.bit) {
        if word.is_held(place.bit) && !weakened!("park-held-take-back") {
            return Back::Held;
        }
        let next = word.unparked(1 << place.bit);
        match group.swap(
            word,
            next,
            Ordering::AcqRel,
            ordering!("park-take-back-acquire", Acquire),
        ) {
            Ok(()) => return Back::ByItself,
            Err(now) => word = now,
        }
    }
    if weakened!("park-take-back-twice") {
        group.add(word::TOKEN, Ordering::AcqRel);
    }
    Back::ByAnother
}
