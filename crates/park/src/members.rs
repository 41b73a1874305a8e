//! The live workers: workers and spares come and go.

use terrace_sync::atomic::Ordering;
use terrace_sync::heavy;

use crate::idle::{Idle, Work};
use crate::token::Token;
use crate::word;

impl Idle {
    /// Adds places until there is one for `worker`. Never waits.
    ///
    /// Cost: one read-modify-write a group where anything is added.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_park::{GROUP_CAPACITY, Idle};
    ///
    /// # struct Nothing;
    /// # impl terrace_park::Work for Nothing {
    /// #     fn takeable(&self) -> bool { false }
    /// #     fn has_private_work(&self, _: usize) -> bool { false }
    /// # }
    /// let idle = Idle::new(1);
    /// idle.ensure(GROUP_CAPACITY);
    /// let token = idle.enter(GROUP_CAPACITY);
    /// idle.leave(GROUP_CAPACITY, token, &Nothing);
    /// ```
    pub fn ensure(&self, worker: usize) {
        self.groups.ensure(worker);
    }

    /// Counts `worker` as live from now on, before its thread runs.
    ///
    /// The worker's thread calls [`enter`](Self::enter). If it cannot be started, its starter calls
    /// [`abandon_live`](Self::abandon_live).
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_park::{Doing, Idle};
    ///
    /// # struct Nothing;
    /// # impl terrace_park::Work for Nothing {
    /// #     fn takeable(&self) -> bool { false }
    /// #     fn has_private_work(&self, _: usize) -> bool { false }
    /// # }
    /// let idle = Idle::new(1);
    /// // Its thread is about to start.
    /// idle.adopt_live(0);
    /// assert_eq!(idle.doing(0), Doing::Awake);
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         let token = idle.enter(0);
    ///         idle.leave(0, token, &Nothing);
    ///     });
    /// });
    /// ```
    pub fn adopt_live(&self, worker: usize) {
        let (group, place) = self.groups.place(worker);
        group.adopt(place.bit);
    }

    /// Takes back an adoption whose thread never called [`enter`](Self::enter).
    ///
    /// Publishers may have counted on that worker, so this publishes visible work again.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_park::{Doing, Idle};
    ///
    /// # struct Nothing;
    /// # impl terrace_park::Work for Nothing {
    /// #     fn takeable(&self) -> bool { false }
    /// #     fn has_private_work(&self, _: usize) -> bool { false }
    /// # }
    /// let idle = Idle::new(1);
    /// idle.adopt_live(0);
    /// // The system could not start the thread.
    /// idle.abandon_live(0, &Nothing);
    /// assert_eq!(idle.doing(0), Doing::Absent);
    /// ```
    pub fn abandon_live(&self, worker: usize, work: &impl Work) {
        let (group, place) = self.groups.place(worker);
        group.retire(place.bit);
        self.republish(work);
    }

    /// The calling thread becomes `worker`: live, and searching with the token returned.
    ///
    /// Cost: a few read-modify-writes. Waits until an unpark of the previous occupant, if one is in flight, has ended.
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
    /// let token = idle.enter(0);
    /// assert_eq!(idle.publish(), Wake::Covered, "it searches");
    /// idle.stop_search(token, &Nothing);
    /// assert_eq!(idle.publish(), Wake::NoneParked, "it runs");
    /// idle.leave(0, None, &Nothing);
    /// ```
    pub fn enter(&self, worker: usize) -> Token {
        self.adopt_live(worker);
        let (group, place) = self.groups.place(worker);
        group.bind(place.bit);
        // Ordering: AcqRel as for every change of S, see `stop_search`.
        let after = group.add(word::TOKEN, Ordering::AcqRel);
        debug_assert!(!after.is_parked(place.bit) && !after.is_restricted(place.bit));
        Token::new(place.group)
    }

    /// The calling thread stops being `worker`: its token goes, and so does its place among the live.
    ///
    /// A publisher may have counted on this worker to look again, or to stay out of a restricted wait. So this
    /// publishes visible work again. Before that, the caller has emptied or closed what only it could reach
    /// ([`Work::has_private_work`]).
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_park::{Doing, Idle};
    ///
    /// # struct Nothing;
    /// # impl terrace_park::Work for Nothing {
    /// #     fn takeable(&self) -> bool { false }
    /// #     fn has_private_work(&self, _: usize) -> bool { false }
    /// # }
    /// let idle = Idle::new(1);
    /// let token = idle.enter(0);
    /// idle.leave(0, token, &Nothing);
    /// assert_eq!((idle.doing(0), idle.searching()), (Doing::Absent, 0));
    /// ```
    pub fn leave(&self, worker: usize, token: impl Into<Option<Token>>, work: &impl Work) {
        let (group, place) = self.groups.place(worker);
        group.retire(place.bit);
        if let Some(token) = token.into() {
            debug_assert_eq!(token.group(), place.group, "a token of another group");
            token.into_group();
            // Ordering: AcqRel as for every change of S, see `stop_search`.
            group.add(word::TOKEN.wrapping_neg(), Ordering::AcqRel);
        }
        self.republish(work);
    }

    /// After a worker went: fence, look, and publish the work that it can no longer take.
    fn republish(&self, work: &impl Work) {
        // Fence pair: `light` in publish. Either the publisher reads the live mask without this worker, or
        // this worker sees its item.
        unless_weakened!("park-leave-fence", heavy());
        unless_weakened!("park-leave-rescan", self.publish_visible(work));
    }
}
