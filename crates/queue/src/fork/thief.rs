//! A thief's side: take a gift, ask, force.

use terrace_sync::atomic::Ordering;
use terrace_sync::{ordering, steal, weakened};

use super::consider::Offer;
use super::deque::ForkDeque;
use super::gift::Gift;
use super::top::Top;
use super::word::Word;

/// The job that a thief got, and how. [`ForkDeque::steal`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stolen<T> {
    /// The owner gave it.
    Given(T),
    /// The thief took it, with a heavy fence.
    Forced(T),
}

impl<T> Stolen<T> {
    /// The job.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::fork::{Considered, ForkDeque, Gives, Offer, Pace};
    ///
    /// # let share = |_: Considered| Pace { pushes: 1, offer: Offer::Open, gives: Gives::Asked };
    /// let deque = ForkDeque::<usize>::boxed();
    /// // SAFETY: one owner handle of this deque.
    /// let me = unsafe { deque.owner() };
    /// me.push(1, share).unwrap();
    /// let stolen = deque.steal(Offer::Open, || false);
    /// assert_eq!(stolen.map(|job| job.into_inner()), Some(1));
    /// ```
    #[inline]
    pub fn into_inner(self) -> T {
        match self {
            Self::Given(job) | Self::Forced(job) => job,
        }
    }
}

impl<T: Word> ForkDeque<T> {
    /// Whether a thief that takes jobs from `least` on finds one here, as a hint: two or three relaxed loads.
    ///
    /// After the fences of a parking protocol it misses no job that its owner published before, but one that the owner is
    /// giving away at this moment. [`Consider::published`](super::Consider::published) comes after that gift: there the owner looks for
    /// sleepers where [`Considered::asked`](super::Considered) says that it may have given.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::fork::{Considered, ForkDeque, Gives, Offer, Pace};
    ///
    /// # let share = |_: Considered| Pace { pushes: 1, offer: Offer::Quiet, gives: Gives::Asked };
    /// let deque = ForkDeque::<usize>::boxed();
    /// // SAFETY: one owner handle of this deque.
    /// let me = unsafe { deque.owner() };
    /// me.push(1, share).unwrap();
    /// assert!(deque.has_jobs(Offer::Quiet) && !deque.has_jobs(Offer::Open));
    /// ```
    #[inline]
    pub fn has_jobs(&self, least: Offer) -> bool {
        // Ordering: Relaxed, a hint as `offer`.
        let gift = Gift::unpack(self.shared.gift.load(Ordering::Relaxed));
        gift.is_given() || (self.offer() >= least.max(Offer::Quiet) && !self.is_empty())
    }

    /// Whether a thief gets a job that is here: a gift, or any where the system allows [`force`](Self::force). A hint.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::fork::{Considered, ForkDeque, Gives, Offer, Pace};
    ///
    /// # let share = |_: Considered| Pace { pushes: 1, offer: Offer::Open, gives: Gives::Unasked };
    /// let deque = ForkDeque::<usize>::boxed();
    /// // SAFETY: one owner handle of this deque.
    /// let me = unsafe { deque.owner() };
    /// me.push(1, share).unwrap();
    /// // A gift is, also in a sandbox whose system refuses the fence.
    /// assert!(deque.is_takeable());
    /// ```
    #[inline]
    pub fn is_takeable(&self) -> bool {
        // Ordering: Relaxed, a hint as `offer`.
        let gift = Gift::unpack(self.shared.gift.load(Ordering::Relaxed));
        !steal::is_refused() || gift.is_given()
    }

    /// Takes the oldest job, if the offer is at least `least`: a gift, else asks and polls while `waits` says so, then forces.
    ///
    /// `waits` is called after each poll, so it says how long a poll takes. A quiet owner does not answer, and is not asked.
    /// `None` also where other threads were faster.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::fork::{Considered, ForkDeque, Gives, Offer, Pace, Stolen};
    ///
    /// # let share = |_: Considered| Pace { pushes: 1, offer: Offer::Open, gives: Gives::Asked };
    /// let deque = ForkDeque::<usize>::boxed();
    /// // SAFETY: one owner handle of this deque.
    /// let me = unsafe { deque.owner() };
    /// me.push(1, share).unwrap();
    /// let mut polls = 0;
    /// let stolen = deque.steal(Offer::Open, || {
    ///     polls += 1;
    ///     polls < 10
    /// });
    /// // The owner has not answered in that time.
    /// assert_eq!(stolen, Some(Stolen::Forced(1)));
    /// ```
    pub fn steal(&self, least: Offer, waits: impl FnMut() -> bool) -> Option<Stolen<T>> {
        self.steal_if(least, waits, |_| true)
    }

    /// As [`steal`](Self::steal), of jobs that `may` allows: for a thief that is after the jobs of one root.
    ///
    /// `may` is called before each try to take a job. For a gift it gets the [root](super::Owner::set_root) of it. For the
    /// oldest job it gets `None`, after an Acquire look at the deque: the job is taken only if the owner has begun no
    /// [epoch](super::Owner::begin_epoch) since that look.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::fork::{Considered, ForkDeque, Gives, Offer, Pace, Stolen};
    ///
    /// # let share = |_: Considered| Pace { pushes: 1, offer: Offer::Open, gives: Gives::Unasked };
    /// let deque = ForkDeque::<usize>::boxed();
    /// // SAFETY: one owner handle of this deque.
    /// let me = unsafe { deque.owner() };
    /// me.set_root(7);
    /// me.push(1, share).unwrap();
    /// let of = |wanted| move |root: Option<u64>| root == Some(wanted);
    /// assert_eq!(deque.steal_if(Offer::Open, || false, of(8)), None);
    /// assert_eq!(deque.steal_if(Offer::Open, || false, of(7)), Some(Stolen::Given(1)));
    /// ```
    pub fn steal_if(
        &self,
        least: Offer,
        mut waits: impl FnMut() -> bool,
        may: impl Fn(Option<u64>) -> bool,
    ) -> Option<Stolen<T>> {
        if let Some(job) = self.take_gift_if(&may) {
            return Some(Stolen::Given(job));
        }
        let least = least.max(Offer::Quiet);
        if self.offer() < least || self.is_empty() {
            return None;
        }
        if self.offer() == Offer::Open {
            self.ask();
            loop {
                if let Some(job) = self.take_gift_if(&may) {
                    return Some(Stolen::Given(job));
                }
                // The request stays: the next gift is for any thread.
                if self.offer() < least {
                    return None;
                }
                // In a sandbox it takes nothing by force, so it has nothing to wait for.
                if steal::is_refused() || !waits() {
                    break;
                }
            }
        }
        self.force_if(may).map(Stolen::Forced)
    }

    /// Takes the job that the owner gives away. One load where there is none, else one compare-exchange.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::fork::{Considered, ForkDeque, Gives, Offer, Pace};
    ///
    /// # let share = |_: Considered| Pace { pushes: 1, offer: Offer::Open, gives: Gives::Asked };
    /// let deque = ForkDeque::<usize>::boxed();
    /// // SAFETY: one owner handle of this deque.
    /// let me = unsafe { deque.owner() };
    /// me.push(1, share).unwrap();
    /// assert_eq!(deque.take_gift(), None);
    /// deque.ask();
    /// // The owner considers in this push, and answers with its oldest job.
    /// me.push(2, share).unwrap();
    /// assert_eq!(deque.take_gift(), Some(1));
    /// ```
    #[inline]
    pub fn take_gift(&self) -> Option<T> {
        self.take_gift_if(|_| true)
    }

    #[inline]
    fn take_gift_if(&self, may: impl Fn(Option<u64>) -> bool) -> Option<T> {
        let acquire = ordering!("queue-fork-take-relaxed", Acquire);
        // Ordering: Acquire pairs with the Release store in `give`: the job's word and its frame are written.
        let word = self.shared.gift.load(acquire);
        if !Gift::unpack(word).is_given() {
            return None;
        }
        // Ordering: Relaxed, acquired with the gift. If the owner has given again since, the exchange fails.
        let job = self.shared.gift_job.load(Ordering::Relaxed);
        // Ordering: Relaxed, likewise.
        let root = self.shared.gift_root.load(Ordering::Relaxed);
        if !may(Some(root)) {
            return None;
        }
        let none = Gift::NONE.pack();
        // Ordering: Release: the read of `gift_job` comes before the owner's next write of it, which follows an Acquire load
        // of a later request.
        self.shared
            .gift
            .compare_exchange(word, none, Ordering::Release, Ordering::Relaxed)
            .ok()?;
        // SAFETY: `give` stored it, out of a slot of this deque, and the exchange made this thread its only taker.
        Some(unsafe { T::from_raw(job) })
    }

    /// The [root](super::Owner::set_root) of the job that the owner gives away, as a hint: two loads. After the fences of a parking
    /// protocol as [`has_jobs`](Self::has_jobs).
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::fork::{Considered, ForkDeque, Gives, Offer, Pace};
    ///
    /// # let share = |_: Considered| Pace { pushes: 1, offer: Offer::Open, gives: Gives::Unasked };
    /// let deque = ForkDeque::<usize>::boxed();
    /// // SAFETY: one owner handle of this deque.
    /// let me = unsafe { deque.owner() };
    /// assert_eq!(deque.gift_root(), None);
    /// me.set_root(3);
    /// me.push(1, share).unwrap();
    /// assert_eq!(deque.gift_root(), Some(3));
    /// ```
    #[inline]
    pub fn gift_root(&self) -> Option<u64> {
        // Ordering: Acquire pairs with the Release store in `give`: the root is that of this gift, or of a later one.
        let gift = Gift::unpack(self.shared.gift.load(Ordering::Acquire));
        // Ordering: Relaxed, acquired with the gift.
        gift.is_given()
            .then(|| self.shared.gift_root.load(Ordering::Relaxed))
    }

    /// Asks the owner for a job, which it gives when it considers. Returns whether the request is new: there may be one
    /// already, or a gift. At most one compare-exchange.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::fork::ForkDeque;
    ///
    /// let deque = ForkDeque::<usize>::boxed();
    /// assert!(deque.ask());
    /// assert!(!deque.ask(), "one request is there");
    /// ```
    #[inline]
    pub fn ask(&self) -> bool {
        let (none, asked) = (Gift::NONE.pack(), Gift::ASKED.pack());
        if weakened!("queue-fork-ask-unchecked") {
            return self.shared.gift.swap(asked, Ordering::Relaxed) == none;
        }
        // Ordering: Relaxed, it hands over nothing; as a read-modify-write it continues the release of the last taker.
        self.shared.gift.load(Ordering::Relaxed) == none
            && self
                .shared
                .gift
                .compare_exchange(none, asked, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    /// Takes the oldest job, whatever the owner does: one heavy fence and one compare-exchange. `None` if there is no job, or
    /// if another thread was faster. No fence where the deque looks empty.
    ///
    /// `None`, too, if the system refuses the fence, as in a sandbox that the process has entered later: thieves then get
    /// gifts only.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::fork::{Considered, ForkDeque, Gives, Offer, Pace};
    ///
    /// # let share = |_: Considered| Pace { pushes: 1, offer: Offer::Open, gives: Gives::Asked };
    /// let deque = ForkDeque::<usize>::boxed();
    /// // SAFETY: one owner handle of this deque.
    /// let me = unsafe { deque.owner() };
    /// assert_eq!(deque.force(), None);
    /// me.push(1, share).unwrap();
    /// me.push(2, share).unwrap();
    /// assert_eq!((deque.force(), deque.force()), (Some(1), Some(2)));
    /// ```
    pub fn force(&self) -> Option<T> {
        self.force_if(|_| true)
    }

    fn force_if(&self, may: impl Fn(Option<u64>) -> bool) -> Option<T> {
        if self.is_empty() || steal::is_refused() {
            return None;
        }
        let early = weakened!("queue-fork-heavy-early");
        let late = weakened!("queue-fork-heavy-late");
        if early {
            steal::heavy();
        }
        let may_early = weakened!("queue-fork-may-early");
        if may_early && !may(None) {
            return None;
        }
        let acquire = ordering!("queue-fork-look-relaxed", Acquire);
        // Ordering: Acquire pairs with the Release of the store that began the epoch: `may` sees the owner's roots of then. The
        // fence orders it before the look at `bottom`, and the exchange checks it.
        let top = Top::unpack(self.top.load(acquire));
        if !may_early && !may(None) {
            return None;
        }
        // Ordering: the fence pairs with the owner's in `pop`. Either this thread sees that `bottom` was moved down, or the owner
        // sees a `top` that is not older than the one just read.
        let fenced = early || late || steal::try_heavy();
        if !fenced {
            return None;
        }
        let acquire = ordering!("queue-fork-bottom-relaxed", Acquire);
        // Ordering: Acquire pairs with the Release stores of `push` and `pop`: the slots below are written, and the frames.
        let bottom = self.mine.bottom.load(acquire);
        let index = top.index();
        if index >= bottom {
            return None;
        }
        let slot = &self.mine.slots[index as usize];
        if late {
            steal::heavy();
        }
        // Ordering: Relaxed, acquired with `bottom`. If the owner has written it again since, the exchange fails.
        let mut job = slot.load(Ordering::Relaxed);
        // Ordering: Release pairs with the owner's Acquire loads of `top`: the slot is read before the owner writes it again.
        self.top
            .compare_exchange(
                top.pack(),
                top.next().pack(),
                Ordering::Release,
                Ordering::Relaxed,
            )
            .ok()?;
        if weakened!("queue-fork-slot-late") {
            job = slot.load(Ordering::Relaxed);
        }
        // SAFETY: a push stored it; the exchange made this thread its only taker.
        Some(unsafe { T::from_raw(job) })
    }
}
