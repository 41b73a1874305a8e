//! The owner's side: push, pop, give.

use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;
use core::num::NonZeroU32;

use terrace_sync::atomic::Ordering;
use terrace_sync::{ordering, steal, weakened};

use super::consider::{Consider, Considered, Offer};
use super::deque::{CAPACITY_U32, ForkDeque};
use super::gift::Gift;
use super::said::{Depth, Full, Popped};
use super::top::Top;
use super::word::Word;

/// The one handle of a [`ForkDeque`] that pushes and pops. Made by [`ForkDeque::owner`].
///
/// Not `Sync`, so one thread at a time uses it.
/// The [module](crate::fork) has an example.
pub struct Owner<'a, T> {
    pub(super) deque: &'a ForkDeque<T>,
    not_sync: PhantomData<Cell<()>>,
}

impl<T: Word> ForkDeque<T> {
    /// The handle that pushes and pops.
    ///
    /// # Safety
    ///
    /// The program uses at most one owner handle of a deque at a time. If it uses two one after the other, the uses of
    /// the first happen before those of the second.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::fork::{Considered, ForkDeque, Gives, Offer, Pace, Popped};
    ///
    /// # let share = |_: Considered| Pace { pushes: 1, offer: Offer::Open, gives: Gives::Asked };
    /// let deque = ForkDeque::<usize>::boxed();
    /// // SAFETY: one owner handle of this deque.
    /// let me = unsafe { deque.owner() };
    /// let job = me.push(1, share).unwrap();
    /// // SAFETY: it is the last job that was pushed.
    /// assert_eq!(unsafe { me.pop(job) }, Popped::Mine);
    /// ```
    #[inline(always)]
    pub unsafe fn owner(&self) -> Owner<'_, T> {
        Owner {
            deque: self,
            not_sync: PhantomData,
        }
    }
}

/// Ends the process if it is dropped by a panic.
struct Unwinding;

impl Drop for Unwinding {
    #[cold]
    fn drop(&mut self) {
        panic!(
            "a panic in `Consider::published`, while the job lies on the frame that would unwind"
        );
    }
}

impl<'a, T: Word> Owner<'a, T> {
    /// The deque this is the owner of.
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
    /// assert!(me.deque().is_in_use());
    /// ```
    #[inline]
    #[must_use = "the call only reads a value"]
    pub fn deque(&self) -> &'a ForkDeque<T> {
        self.deque
    }

    /// Makes a job visible to thieves. 0 RMW, no fence. Where the pace has run out, and in a first push, the owner considers:
    /// it calls `consider`, and answers a request (1 RMW).
    ///
    /// # Errors
    /// If no slot is left. The job was not pushed.
    ///
    /// # Panics
    /// If `consider` panics in `pace`.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::fork::{Considered, ForkDeque, Full, Gives, Offer, Pace};
    ///
    /// let deque = ForkDeque::<usize>::boxed();
    /// // SAFETY: one owner handle of this deque.
    /// let me = unsafe { deque.owner() };
    /// let mut considered = 0;
    /// let mut each_fourth = |_: Considered| {
    ///     considered += 1;
    ///     Pace { pushes: 4, offer: Offer::Open, gives: Gives::Asked }
    /// };
    /// for job in 0..ForkDeque::<usize>::CAPACITY {
    ///     me.push(job, &mut each_fourth).unwrap();
    /// }
    /// assert_eq!(me.push(0, &mut each_fourth), Err(Full));
    /// assert!(considered >= ForkDeque::<usize>::CAPACITY / 4);
    /// ```
    #[inline(always)]
    pub fn push(&self, job: T, consider: impl Consider) -> Result<Depth, Full> {
        let mine = &self.deque.mine;
        let left = mine.left.with_mut(|left| {
            // SAFETY: the owner's word; this is the only handle of the owner, and no other reference lives.
            let left = unsafe { &mut *left };
            // It is 1 or more.
            *left -= 1;
            *left
        });
        if left == 0 {
            // Taken apart here, where each case is known: the hot path then has nothing to ask.
            return match Self::push_and_consider(self.deque, job, consider) {
                Some(above) => Ok(Depth::of(above.get() - 1)),
                None => Err(Full),
            };
        }
        // Ordering: Relaxed, written by this owner.
        let index = mine.bottom.load(Ordering::Relaxed);
        self.put(index, job);
        Ok(Depth::of(index))
    }

    /// Puts a job into its slot and shows it. `left` was above 0 after its decrement, or the caller has looked: there is a slot.
    #[inline(always)]
    fn put(&self, index: u32, job: T) {
        let mine = &self.deque.mine;
        debug_assert!(index < CAPACITY_U32, "`left` exceeds the room");
        // SAFETY: `left` never exceeds the room by more than 1, and it was 2 or more before a hot push. So there is a slot.
        let slot = unsafe { mine.slots.get_unchecked(index as usize) };
        // Ordering: Relaxed, published with `bottom`.
        slot.store(job.into_raw(), Ordering::Relaxed);
        let release = ordering!("queue-fork-push-relaxed", Release);
        // Ordering: Release pairs with the Acquire load of a thief: it sees the slot written, and what the job refers to.
        mine.bottom.store(index + 1, release);
    }

    /// The push in which the owner considers. Not inlined into callers: the hot path is short. Returns the job's index and 1 in one
    /// register, or none if no slot is left.
    #[cold]
    #[inline(never)]
    fn push_and_consider<C: Consider>(
        deque: &'a ForkDeque<T>,
        job: T,
        mut consider: C,
    ) -> Option<NonZeroU32> {
        let (mine, shared) = (&deque.mine, &deque.shared);
        // A reference to the caller's handle would keep that out of the registers of the hot path.
        let owner = Self {
            deque,
            not_sync: PhantomData,
        };
        // For a push that fails, and for a panic below: the next push considers.
        owner.set_left(1);
        // Ordering: Relaxed, written by this owner.
        let bottom = mine.bottom.load(Ordering::Relaxed);
        if bottom == CAPACITY_U32 {
            return None;
        }
        // Ordering: Relaxed, a hint.
        let asked = shared.gift.load(Ordering::Relaxed) == Gift::ASKED.pack();
        // Ordering: Relaxed, thieves only raise it: an old index says that the deque is not empty.
        let top = Top::unpack(deque.top.load(Ordering::Relaxed));
        let now = Considered {
            first: top.index() == bottom,
            asked,
            level: bottom,
        };
        let pace = consider.pace(now);
        // `pace` is the caller's code, and may have pushed: this job lies above those.
        // Ordering: Relaxed, written by this owner.
        let index = mine.bottom.load(Ordering::Relaxed);
        if index == CAPACITY_U32 {
            return None;
        }
        owner.put(index, job);
        let room = CAPACITY_U32 - (index + 1);
        owner.set_left(pace.pushes.clamp(1, room + 1));
        // Ordering: Relaxed, a hint.
        shared.offer.store(pace.offer.word(), Ordering::Relaxed);
        // A request may have come since the first look.
        let asked = owner.give(index + 1, pace) || now.asked;
        let unwinding = Unwinding;
        consider.published(Considered { asked, ..now });
        core::mem::forget(unwinding);
        NonZeroU32::new(index + 1)
    }

    /// Takes back the job of `at`, or finds that it was stolen. A nested pop is 0 RMW, and no fence where the form is asymmetric;
    /// the pop of the last job is 1 RMW.
    ///
    /// # Safety
    ///
    /// `at` came out of [`push`](Self::push) of this deque, and every later push of it has been popped.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::fork::{Considered, ForkDeque, Gives, Offer, Pace, Popped};
    ///
    /// # let share = |_: Considered| Pace { pushes: 1, offer: Offer::Open, gives: Gives::Asked };
    /// let deque = ForkDeque::<usize>::boxed();
    /// // SAFETY: one owner handle of this deque.
    /// let me = unsafe { deque.owner() };
    /// let outer = me.push(1, share).unwrap();
    /// let inner = me.push(2, share).unwrap();
    /// assert_eq!(deque.force(), Some(1));
    /// // SAFETY: the jobs are popped in the reverse order of their pushes.
    /// let popped = unsafe { (me.pop(inner), me.pop(outer)) };
    /// assert_eq!(popped, (Popped::Mine, Popped::Stolen));
    /// ```
    #[inline(always)]
    pub unsafe fn pop(&self, at: Depth) -> Popped {
        // SAFETY: the contract of this function is that of the other.
        unsafe { self.pop_and(at, |_| {}) }
    }

    /// As [`pop`](Self::pop). Calls `emptied` with the job's [level](Considered::level) if the deque is empty now, in a path that is not inlined.
    ///
    /// # Safety
    ///
    /// As [`pop`](Self::pop).
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::fork::{Considered, ForkDeque, Gives, Offer, Pace, Popped};
    ///
    /// # let share = |_: Considered| Pace { pushes: 1, offer: Offer::Open, gives: Gives::Asked };
    /// let deque = ForkDeque::<usize>::boxed();
    /// // SAFETY: one owner handle of this deque.
    /// let me = unsafe { deque.owner() };
    /// let job = me.push(1, share).unwrap();
    /// let mut last = None;
    /// // SAFETY: it is the last job that was pushed.
    /// let popped = unsafe { me.pop_and(job, |level| last = Some(level)) };
    /// assert_eq!((popped, last), (Popped::Mine, Some(0)));
    /// ```
    #[inline(always)]
    #[expect(clippy::needless_pass_by_value, reason = "a job is popped once")]
    pub unsafe fn pop_and(&self, at: Depth, emptied: impl FnOnce(u32)) -> Popped {
        let index = at.index();
        let release = ordering!("queue-fork-pop-relaxed", Release);
        // Ordering: Release, as in `put`: a thief that reads this value sees the slots below it.
        self.deque.mine.bottom.store(index, release);
        // Ordering: pairs with `steal::heavy` in `force`. Where the mark is, this is no fence on the machine, so loom sees none.
        if !cfg!(terrace_loom) || !self.is_marked() {
            steal::light_asymmetric();
        }
        // Ordering: Relaxed. The fences order it; a job that no thief has claimed is this owner's.
        let top = Top::unpack(self.deque.top.load(Ordering::Relaxed));
        if top.is_unmarked_below(index) {
            return Popped::Mine;
        }
        Self::pop_or_wait(self.deque, index, emptied)
    }

    /// A pop whose comparison failed: of the last job, of one that is gone, or of any where the owner has to fence.
    #[cold]
    #[inline(never)]
    fn pop_or_wait(deque: &'a ForkDeque<T>, index: u32, emptied: impl FnOnce(u32)) -> Popped {
        // As in `push_and_consider`.
        let owner = Self {
            deque,
            not_sync: PhantomData,
        };
        if owner.is_marked() && !weakened!("queue-fork-mark-ignored") {
            // Ordering: pairs with `steal::heavy` in `force`.
            steal::light();
        }
        // Ordering: Acquire pairs with the Release of a thief's claim: it has read the slot that this owner writes next.
        let top = Top::unpack(deque.top.load(Ordering::Acquire));
        if top.index() < index {
            return Popped::Mine;
        }
        let mut popped = Popped::Stolen;
        if top.index() == index {
            popped = owner.pop_last(top, index);
        }
        if popped == Popped::Stolen {
            if owner.take_back(index) {
                popped = Popped::Mine;
            }
            let renewed = match weakened!("queue-fork-stolen-epoch") {
                true => top.moved(index),
                false => top.renewed(index),
            };
            // Ordering: Release. A thief that reads it has its fence behind the one of this pop, and sees `bottom`. A thief of
            // one root's jobs acquires which roots had ended.
            deque.top.store(renewed.pack(), Ordering::Release);
        }
        // Ordering: Relaxed, a hint.
        let none = Offer::None.word();
        deque.shared.offer.store(none, Ordering::Relaxed);
        owner.set_left(1);
        emptied(index);
        popped
    }

    /// The root that jobs belong to which this owner gives away from now on. Cost: one store.
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
    /// me.set_root(7);
    /// me.push(1, share).unwrap();
    /// assert_eq!(deque.gift_root(), Some(7));
    /// ```
    #[inline]
    pub fn set_root(&self, root: u64) {
        // Ordering: Relaxed, published with the gift.
        self.deque.shared.root.store(root, Ordering::Relaxed);
    }

    /// The owner considers in its next push. Cost: one store.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::fork::{Considered, ForkDeque, Gives, Offer, Pace};
    ///
    /// let deque = ForkDeque::<usize>::boxed();
    /// // SAFETY: one owner handle of this deque.
    /// let me = unsafe { deque.owner() };
    /// let mut considered = 0;
    /// let mut seldom = |_: Considered| {
    ///     considered += 1;
    ///     Pace { pushes: 1_000, offer: Offer::Open, gives: Gives::Asked }
    /// };
    /// me.push(1, &mut seldom).unwrap();
    /// me.push(2, &mut seldom).unwrap();
    /// me.consider_next();
    /// me.push(3, &mut seldom).unwrap();
    /// assert_eq!(considered, 2, "in the first push, and in the last");
    /// ```
    #[inline]
    pub fn consider_next(&self) {
        self.set_left(1);
    }

    /// Begins an epoch: a thief that has looked before takes no job that is pushed afterwards. What this owner wrote before
    /// is visible to a [thief of one root](ForkDeque::steal_if) that takes one of these jobs. Cost: one store.
    ///
    /// # Panics
    /// In debug builds, if a job is in the deque.
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
    /// let job = me.push(1, share).unwrap();
    /// let before = deque.look();
    /// // SAFETY: it is the last job that was pushed.
    /// unsafe { me.pop(job) };
    /// me.begin_epoch();
    /// me.push(2, share).unwrap();
    /// assert_ne!(deque.look(), before, "a thief that looked before takes no job of this epoch");
    /// ```
    #[inline]
    pub fn begin_epoch(&self) {
        let deque = self.deque;
        // Ordering: Relaxed, both: this owner's words, and no thief takes from an empty deque.
        let bottom = deque.mine.bottom.load(Ordering::Relaxed);
        let top = Top::unpack(deque.top.load(Ordering::Relaxed));
        debug_assert!(top.index() == bottom, "an epoch begins while a job is here");
        let release = ordering!("queue-fork-epoch-relaxed", Release);
        // Ordering: Release pairs with the Acquire of a thief's look, in `force_if`. No claim can succeed, as in `pop_or_wait`.
        deque.top.store(top.renewed(bottom).pack(), release);
    }

    /// Whether the owner has no job in the deque. Exact: only the owner adds one.
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
    /// assert!(me.is_idle());
    /// me.push(1, share).unwrap();
    /// assert!(!me.is_idle());
    /// ```
    #[inline]
    #[must_use = "the call only answers a question"]
    pub fn is_idle(&self) -> bool {
        // Ordering: Relaxed, both. An old index of `top` only makes a deque look full that a thief has emptied.
        let top = Top::unpack(self.deque.top.load(Ordering::Relaxed));
        top.index() == self.deque.mine.bottom.load(Ordering::Relaxed)
    }

    /// Whether the owner has to fence.
    fn is_marked(&self) -> bool {
        #[cfg(terrace_loom)]
        return self.deque.mine.marked;
        // Ordering: Relaxed, the mark never changes.
        #[cfg(not(terrace_loom))]
        Top::unpack(self.deque.top.load(Ordering::Relaxed)).is_marked()
    }

    /// Takes the last job of the deque, unless a thief does.
    fn pop_last(&self, top: Top, index: u32) -> Popped {
        let emptied = match weakened!("queue-fork-last-epoch") {
            true => top,
            false => top.renewed(index),
        };
        if weakened!("queue-fork-last-unchecked") {
            self.deque.top.store(emptied.pack(), Ordering::Relaxed);
            return Popped::Mine;
        }
        // Ordering: Relaxed on success, as the store in `pop_or_wait`. Acquire on failure pairs with the Release of the
        // thief's claim: it has read the slot that this owner writes next.
        let exchanged = self.deque.top.compare_exchange(
            top.pack(),
            emptied.pack(),
            Ordering::Relaxed,
            Ordering::Acquire,
        );
        match exchanged {
            Ok(_) => Popped::Mine,
            Err(_) => Popped::Stolen,
        }
    }

    fn set_left(&self, pushes: u32) {
        self.deque.mine.left.with_mut(|left| {
            // SAFETY: the owner's word, and this is the only handle of the owner.
            unsafe { *left = pushes };
        });
    }
}

impl<T: Word> fmt::Debug for Owner<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owner").field("deque", self.deque).finish()
    }
}
