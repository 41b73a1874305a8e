//! Who is live: workers and spares that come and go.

use terrace_sync::atomic::Ordering;
use terrace_sync::heavy;

use crate::group::Group;
use crate::idle::{Idle, Work, follow};
use crate::{GROUP_CAPACITY, Token, word};

impl Idle {
    /// Adds places until there is one for `worker`; they serve the lanes of the first group. Never waits.
    ///
    /// Cost: one read-modify-write a group where anything is added.
    pub fn ensure(&self, worker: usize) {
        while self.capacity() <= worker {
            // Before the new group's workers can sleep, every group is told that it is not the only one; see `driver`.
            self.widen();
            let mut link = &self.grown;
            while let Some(group) = follow(link) {
                link = &group.next;
            }
            let lanes = self.groups().next().map_or(1, |group| group.lanes);
            let base = self.capacity();
            let new = Box::into_raw(Box::new(Group::new(base, GROUP_CAPACITY, lanes, true)));
            // Ordering: Release pairs with the Acquire in `follow`.
            let added = link.compare_exchange(
                std::ptr::null_mut(),
                new,
                Ordering::Release,
                Ordering::Relaxed,
            );
            if added.is_err() {
                // SAFETY: it came from `Box::into_raw` above and nobody else has seen it.
                drop(unsafe { Box::from_raw(new) });
            }
        }
    }

    /// Counts `worker` as live from now on, before its thread runs; whether it was not live yet.
    ///
    /// Whoever starts threads adopts the regular workers first, so that
    /// [`reserve_spare`](Self::reserve_spare) does not hand out their numbers. The worker's thread calls
    /// [`enter`](Self::enter); if it cannot be started, its starter calls [`abandon_live`](Self::abandon_live).
    pub fn adopt_live(&self, worker: usize) -> bool {
        let (group, place) = self.place(worker);
        // Ordering: AcqRel chains the occupants of a place; publishers read it after a fence.
        group.live.fetch_or(1 << place.bit, Ordering::AcqRel) & (1 << place.bit) == 0
    }

    /// Takes a free number for a spare that serves the lanes of `like`, and counts it live.
    ///
    /// `None` if every place of those lanes is taken. What [`adopt_live`](Self::adopt_live) says
    /// about threads that cannot be started holds here too.
    pub fn reserve_spare(&self, like: usize) -> Option<usize> {
        let lanes = self.lanes_of(like);
        self.groups()
            .filter(|group| group.lanes == lanes)
            .find_map(Group::adopt_any)
    }

    /// Takes back an adoption or reservation whose thread never called [`enter`](Self::enter).
    ///
    /// Publishers may have counted on that worker: work left visible is published again.
    pub fn abandon_live(&self, worker: usize, work: &impl Work) {
        let (group, place) = self.place(worker);
        group.retire(place.bit);
        self.cover_for(group, work);
    }

    /// The calling thread becomes `worker`: live, and searching with the token returned.
    ///
    /// Cost: a few read-modify-writes; waits for an unpark of the previous occupant that is still in flight.
    pub fn enter(&self, worker: usize) -> Token {
        self.adopt_live(worker);
        let (group, place) = self.place(worker);
        group.seats[place.bit as usize].bind();
        // Ordering: AcqRel as for every change of S, see `stop_search`.
        let after = group.add(word::TOKEN, Ordering::AcqRel);
        debug_assert!(!after.is_parked(place.bit) && !after.is_restricted(place.bit));
        Token::new(place.group)
    }

    /// The calling thread stops being `worker`: its token goes, and so does its place among the live.
    ///
    /// Whoever published may have counted on this worker to look again, or on its not being in a
    /// restricted wait: work left visible is published again. The caller has emptied or closed what
    /// only it could reach (its [`Work::inlet`]) before.
    pub fn leave(&self, worker: usize, token: impl Into<Option<Token>>, work: &impl Work) {
        let (group, place) = self.place(worker);
        group.retire(place.bit);
        if let Some(token) = token.into() {
            debug_assert_eq!(token.group(), place.group, "a token of another group");
            token.into_group();
            // Ordering: AcqRel as for every change of S, see `stop_search`.
            group.add(word::TOKEN.wrapping_neg(), Ordering::AcqRel);
        }
        self.cover_for(group, work);
    }

    /// The number of live workers that serve any of `lanes`: a hint.
    pub fn live(&self, lanes: u32) -> usize {
        self.serving(lanes)
            .map(|group| group.live.load(Ordering::Relaxed).count_ones() as usize)
            .sum()
    }

    /// After a worker of `group` went: fence, look, and publish what it can no longer take.
    fn cover_for(&self, group: &Group, work: &impl Work) {
        // Fence pair: `light` in publish. Either the publisher reads the live mask without us, or
        // we see its item.
        unless_weakened!("park-leave-fence", heavy());
        unless_weakened!("park-leave-rescan", self.publish_visible(group.lanes, work));
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        // Ordering: Relaxed, `&mut self` excludes everybody else.
        let mut next = self.grown.load(Ordering::Relaxed);
        while !next.is_null() {
            // SAFETY: the pointer came from `Box::into_raw` in `ensure`, and nobody borrows from an `Idle` being dropped.
            let group = unsafe { Box::from_raw(next) };
            next = group.next.load(Ordering::Relaxed);
        }
    }
}

impl Group {
    /// Adopts the lowest worker of the group that is not live.
    fn adopt_any(&self) -> Option<usize> {
        let mut live = self.live.load(Ordering::Relaxed);
        loop {
            let bit = live.trailing_ones();
            if bit as usize >= self.seats.len() {
                return None;
            }
            // Ordering: as in `adopt_live`.
            match self.live.compare_exchange(
                live,
                live | 1 << bit,
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(self.base + bit as usize),
                Err(now) => live = now,
            }
        }
    }

    /// Takes `bit` off the live mask.
    fn retire(&self, bit: u32) {
        // Ordering: as in `adopt_live`; the fence that follows orders it before the rescan.
        let before = self.live.fetch_and(!(1 << bit), Ordering::AcqRel);
        debug_assert!(before & (1 << bit) != 0, "a worker left that was not live");
    }
}
