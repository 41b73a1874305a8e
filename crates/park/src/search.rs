//! The worker's side: search, stop searching, park.

use terrace_sync::atomic::Ordering;
use terrace_sync::{heavy, ordering, thread};

use crate::Token;
use crate::group::Group;
use crate::idle::{Idle, Place, Work, each_lane};
use crate::word::{self, Word};

impl Idle {
    /// A token for `worker` to search with, unless half of its group (rounded up) searches already.
    ///
    /// Called by the running worker itself, which owns no token. On `None` it looks at what only it
    /// can reach, and may [`park`](Self::park) without a token: whoever searches looks again later.
    pub fn try_search(&self, worker: usize) -> Option<Token> {
        let (group, place) = self.place(worker);
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

    /// Gives `token` back, always before anything is run. The last searcher of a group fences and
    /// looks at all lanes it serves; what is visible it publishes.
    ///
    /// Cost: one read-modify-write; for the last of its group one heavy fence more, unless there is
    /// one group only, no async driver ever was, and nobody is parked.
    pub fn stop_search(&self, token: Token, work: &impl Work) {
        if cfg!(terrace_weaken = "park-token-kept") {
            std::mem::forget(token);
            return;
        }
        let group = self.group(token.into_group());
        // Ordering: the last to stop looks on behalf of all: its Acquire pairs with the Release of every
        // earlier change of S, so that it sees what those searchers have moved about.
        let after = group.add(
            word::TOKEN.wrapping_neg(),
            ordering!("park-stop-search-ordering", AcqRel),
        );
        debug_assert!(after.searching() < u32::from(u16::MAX), "S fell below zero");
        if after.searching() != 0 {
            return;
        }
        // Publishers that were told `Covered` relied on us; there may be nobody to wake for them.
        if !after.is_wide() && after.parked() == 0 {
            return;
        }
        // Fence pair: `light` in publish. Either the publisher reads S without us, or we see its item.
        // The bits of other groups are loaded after it too.
        let early = cfg!(terrace_weaken = "park-stop-search-early-load")
            && !self.anyone_asleep(group.lanes);
        unless_weakened!("park-stop-search-fence", heavy());
        if early || cfg!(terrace_weaken = "park-stop-search-rescan") {
            return;
        }
        for lane in each_lane(group.lanes) {
            if self.anyone_asleep(lane) && work.takeable(lane) {
                self.wake_one(lane);
            }
        }
    }

    /// Sleeps until woken, and returns a token: the one added by whoever cleared the worker's bit.
    ///
    /// Takes the token the worker owns, if any. Returns at once if its inlet has something, or if
    /// nobody of its group searches and work is visible. The worker then searches, and gives the token
    /// back before it runs anything.
    ///
    /// Cost: one read-modify-write, one heavy fence, one scan, one thread park.
    pub fn park(&self, worker: usize, token: impl Into<Option<Token>>, work: &impl Work) -> Token {
        let (group, place) = self.place(worker);
        if self.announce_park(worker, token.into(), work) {
            sleep(group, place);
        }
        Token::new(place.group)
    }

    /// Sets the `P` bit, gives the token up, fences and looks again. False: the bit has been taken
    /// back, or cleared by somebody, and the worker owns a token.
    pub(crate) fn announce_park(
        &self,
        worker: usize,
        token: Option<Token>,
        work: &impl Work,
    ) -> bool {
        let (group, place) = self.place(worker);
        let mut delta = word::parked_bit(place.bit);
        if let Some(token) = token {
            debug_assert_eq!(token.group(), place.group, "a token of another group");
            token.into_group();
            delta = delta.wrapping_sub(word::TOKEN);
        }
        // Ordering: AcqRel as for every change of S, see `stop_search`.
        let after = group.add(delta, Ordering::AcqRel);
        debug_assert!(after.is_parked(place.bit), "a worker parked twice");
        // Fence pair: `light` in publish and targeted. Either they see our bit, or we see their item.
        unless_weakened!("park-fence", heavy());
        if self.sleep_in_vain(worker, group, after, work) {
            take_back(group, place);
            return false;
        }
        true
    }

    /// Whether a worker that has announced its sleep sees something it should get up for. `after` is
    /// the word its announcement made: a searcher in there looks later than the announcement.
    fn sleep_in_vain(&self, worker: usize, group: &Group, after: Word, work: &impl Work) -> bool {
        (!cfg!(terrace_weaken = "park-inlet-rescan") && work.inlet(worker))
            || (!cfg!(terrace_weaken = "park-rescan")
                && after.searching() == 0
                && work.takeable(group.lanes))
    }

    /// Whether anybody who serves `lanes` is parked, in a restricted wait, or a driver that is asleep.
    fn anyone_asleep(&self, lanes: u32) -> bool {
        self.drivers.any_asleep()
            || self.serving(lanes).any(|group| {
                let word = group.load(Ordering::Relaxed);
                word.parked() | word.restricted() != 0
            })
    }
}

/// Sleeps for as long as the `P` bit is set.
pub(crate) fn sleep(group: &Group, place: Place) {
    // Ordering: Acquire pairs with the Release of whoever cleared the bit.
    while group
        .load(ordering!("park-bit-acquire", Acquire))
        .is_parked(place.bit)
    {
        thread::park();
    }
}

/// Clears the worker's own `P` bit and adds a token; false if somebody else has done both already.
/// Either way the worker owns one token now.
pub(crate) fn take_back(group: &Group, place: Place) -> bool {
    // Ordering: every load that finds the bit cleared is an Acquire, see `park`.
    let mut word = group.load(ordering!("park-take-back-acquire", Acquire));
    while word.is_parked(place.bit) {
        let next = word.unparked(1 << place.bit);
        match group.swap(
            word,
            next,
            Ordering::AcqRel,
            ordering!("park-take-back-acquire", Acquire),
        ) {
            Ok(()) => return true,
            Err(now) => word = now,
        }
    }
    if cfg!(terrace_weaken = "park-take-back-twice") {
        group.add(word::TOKEN, Ordering::AcqRel);
    }
    false
}
