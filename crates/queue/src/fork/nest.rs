//! [`Nest`]: which stolen jobs a thread is inside of, its *roots*. A joiner that waits for one runs descendants of it.
//!
//! A thread that waits in a join has no job below: thieves take the oldest, so the one that was stolen was its last. So while
//! thread T is inside of root J, T's deque holds jobs that have to end before J ends. These a joiner of J runs, and no others.
//!
//! ```text
//! begin J on T:  T has no job;  T waits for nothing;  nest[d] = J (Release);  the root of T's gifts = J;  J.thief = (T, d, number) (Release)
//! end:           nest[d] = 0;  epoch + 1 (Release);  latch
//! joiner of J:   w = J.thief;  up to a few times:  read top of w.seat (Acquire);  its nest[w.d] is not w -> J has ended
//!                a job -> claims it from that top                                          [success: inside of J]
//!                a gift of a root not older than w, and nest[w.d] is w behind that look -> takes it
//!                nothing -> nest is w;  w' = T waits for;  nest is w -> go on with w'      [w' is inside of w]
//! ```
//!
//! Why a claim is right: the joiner reads `top`, then `nest`. If J ended, and T has pushed a job of another root since, then T has begun
//! an epoch in between. Either the joiner read the new `top`, and with it the new `nest`; or its claim fails. A number is
//! never used again, so an old `nest` is never taken for a new one.

use core::fmt;

use terrace_sync::atomic::{AtomicU32, AtomicU64, Ordering};
use terrace_sync::{ordering, steal, weakened};

use super::consider::Offer;
use super::deque::ForkDeque;
use super::owner::Owner;
use super::word::Word;

/// So many roots of a thread, each inside of the one before, are shown. Joiners of deeper ones only wait.
///
/// Two threads that halve a long range, each by stealing the far half of what the other holds, are inside of one more root
/// each time: a range of 10^27 needs some fifty.
const SHOWN: usize = if cfg!(terrace_loom) { 8 } else { 64 };

/// A root: the seat of its thread, its depth there, and its number. [`Nest::begin`] has an example.
///
/// | bits | content |
/// |---|---|
/// | 13..0 | seat |
/// | 19..14 | depth |
/// | 63..20 | number, counted from 1 by each seat |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Root(u64);

const DEPTH_SHIFT: u32 = 14;
const NUMBER_SHIFT: u32 = 20;

impl Root {
    /// The root that a word says, or `None`.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::fork::Root;
    ///
    /// assert_eq!(Root::unpack(0), None);
    /// assert_eq!(Root::unpack(1 << 20).map(Root::pack), Some(1 << 20));
    /// ```
    #[inline]
    #[must_use = "the call only reads a value"]
    pub fn unpack(word: u64) -> Option<Self> {
        (word != 0).then_some(Self(word))
    }

    /// The root as a word, which is not 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::fork::{ForkDeque, Nest, Root};
    ///
    /// let deque = ForkDeque::<usize>::boxed();
    /// // SAFETY: one owner handle of this deque.
    /// let me = unsafe { deque.owner() };
    /// let root = Nest::of_seat(0).unwrap().begin(&me).unwrap();
    /// assert_eq!(Root::unpack(root.pack()), Some(root));
    /// ```
    #[inline]
    #[must_use = "the call only reads a value"]
    pub fn pack(self) -> u64 {
        self.0
    }

    /// The seat of the thread that runs it.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::fork::{ForkDeque, Nest};
    ///
    /// let deque = ForkDeque::<usize>::boxed();
    /// // SAFETY: one owner handle of this deque.
    /// let me = unsafe { deque.owner() };
    /// let root = Nest::of_seat(5).unwrap().begin(&me).unwrap();
    /// assert_eq!(root.seat(), 5);
    /// ```
    #[inline]
    #[must_use = "the call only reads a value"]
    pub fn seat(self) -> usize {
        self.0 as usize % (1 << DEPTH_SHIFT)
    }

    #[inline]
    fn depth(self) -> usize {
        (self.0 >> DEPTH_SHIFT) as usize % SHOWN
    }

    #[inline]
    fn number(self) -> u64 {
        self.0 >> NUMBER_SHIFT
    }
}

/// The roots that the thread in one seat is inside of.
///
/// # Examples
///
/// ```
/// use terrace_queue::fork::{ForkDeque, Nest};
///
/// let deque = ForkDeque::<usize>::boxed();
/// // SAFETY: one owner handle of this deque.
/// let me = unsafe { deque.owner() };
/// let nest = Nest::of_seat(0).expect("a small number");
///
/// // The thread begins a job that it has stolen from another seat.
/// let root = nest.begin(&me).expect("it has no job of its own");
/// assert!(nest.is_inside(root));
/// nest.end(&me, root);
/// assert!(!nest.is_inside(root));
/// ```
pub struct Nest {
    /// The root at each depth, or 0.
    roots: [AtomicU64; SHOWN],
    /// The root that its thread waits for, or 0.
    waits_for: AtomicU64,
    /// How many are shown. The owner's alone.
    depth: AtomicU32,
    /// Roots that were begun in this seat. The owner's alone.
    begun: AtomicU64,
    seat: u16,
}

impl Nest {
    /// Of the seat with this number. `None` if the number is too large to be shown.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::fork::Nest;
    ///
    /// assert!(Nest::of_seat(0).is_some());
    /// assert!(Nest::of_seat(1 << 14).is_none());
    /// ```
    #[must_use = "a nest does nothing until it begins"]
    pub fn of_seat(seat: usize) -> Option<Self> {
        Some(Self {
            roots: core::array::from_fn(|_| AtomicU64::new(0)),
            waits_for: AtomicU64::new(0),
            depth: AtomicU32::new(0),
            begun: AtomicU64::new(0),
            seat: u16::try_from(seat)
                .ok()
                .filter(|seat| seat >> DEPTH_SHIFT == 0)?,
        })
    }

    /// The owner begins a stolen job. `None` if the root is not shown: it lies too deep, or above jobs of the owner.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::fork::{ForkDeque, Nest};
    ///
    /// let deque = ForkDeque::<usize>::boxed();
    /// // SAFETY: one owner handle of this deque.
    /// let me = unsafe { deque.owner() };
    /// let nest = Nest::of_seat(3).unwrap();
    /// let outer = nest.begin(&me).unwrap();
    /// let inner = nest.begin(&me).unwrap();
    /// assert_eq!((outer.seat(), inner.seat()), (3, 3));
    /// assert!(nest.is_inside(outer) && nest.is_inside(inner));
    /// ```
    pub fn begin<T: Word>(&self, owner: &Owner<'_, T>) -> Option<Root> {
        // Ordering: Relaxed, the owner's word; so are all accesses to `depth` and `begun`.
        let depth = self.depth.load(Ordering::Relaxed);
        if depth as usize == SHOWN || !owner.is_idle() {
            return None;
        }
        let number = self.begun.load(Ordering::Relaxed) + 1;
        self.begun.store(number, Ordering::Relaxed);
        let root =
            Root(number << NUMBER_SHIFT | u64::from(depth) << DEPTH_SHIFT | u64::from(self.seat));
        // Ordering: Relaxed, published with the root.
        self.waits_for.store(0, Ordering::Relaxed);
        // Ordering: Release: a joiner that sees the root sees that its thread does not wait for an older one any more.
        self.roots[depth as usize].store(root.pack(), Ordering::Release);
        self.depth.store(depth + 1, Ordering::Relaxed);
        owner.set_root(number);
        // What the owner thought of pushes outside of the root says nothing of those inside: other threads may wait for them.
        owner.consider_next();
        Some(root)
    }

    /// The job of `root`, the last that was begun, has ended; each job that the owner pushed in it was popped.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::fork::{ForkDeque, Nest};
    ///
    /// let deque = ForkDeque::<usize>::boxed();
    /// // SAFETY: one owner handle of this deque.
    /// let me = unsafe { deque.owner() };
    /// let nest = Nest::of_seat(0).unwrap();
    /// let first = nest.begin(&me).unwrap();
    /// nest.end(&me, first);
    /// let second = nest.begin(&me).unwrap();
    /// assert!(!nest.is_inside(first) && nest.is_inside(second));
    /// ```
    pub fn end<T: Word>(&self, owner: &Owner<'_, T>, root: Root) {
        let depth = root.depth();
        // Ordering: Relaxed, published by the epoch.
        let hide = || self.roots[depth].store(0, Ordering::Relaxed);
        if !weakened!("queue-root-hidden-late") {
            hide();
        }
        if !weakened!("queue-root-same-epoch") {
            owner.begin_epoch();
        }
        if weakened!("queue-root-hidden-late") {
            hide();
        }
        self.depth.store(depth as u32, Ordering::Relaxed);
        let outer = match depth.checked_sub(1) {
            // Ordering: Relaxed, the owner's own store.
            Some(outer) => self.roots[outer].load(Ordering::Relaxed) >> NUMBER_SHIFT,
            None => 0,
        };
        owner.set_root(outer);
    }

    /// Whether the thread is inside of `root`.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::fork::{ForkDeque, Nest};
    ///
    /// let deque = ForkDeque::<usize>::boxed();
    /// // SAFETY: one owner handle of this deque.
    /// let me = unsafe { deque.owner() };
    /// let nest = Nest::of_seat(0).unwrap();
    /// let root = nest.begin(&me).unwrap();
    /// assert!(nest.is_inside(root));
    /// nest.end(&me, root);
    /// assert!(!nest.is_inside(root));
    /// ```
    #[inline]
    pub fn is_inside(&self, root: Root) -> bool {
        // Ordering: Acquire pairs with the Release in `begin`.
        self.roots[root.depth()].load(Ordering::Acquire) == root.pack()
            || weakened!("queue-root-unchecked")
    }

    /// The owner waits for `root` from now on, or for none. It says so again when it has run another root in the wait.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::fork::{ForkDeque, Nest, Root};
    ///
    /// let deque = ForkDeque::<usize>::boxed();
    /// // SAFETY: one owner handle of this deque.
    /// let me = unsafe { deque.owner() };
    /// let nest = Nest::of_seat(0).unwrap();
    /// let root = nest.begin(&me).unwrap();
    /// let elsewhere = Root::unpack(1 << 20 | 5);
    /// nest.set_wait(elsewhere);
    /// assert_eq!(nest.next_of(root), elsewhere);
    /// nest.set_wait(None);
    /// assert_eq!(nest.next_of(root), None);
    /// ```
    pub fn set_wait(&self, root: Option<Root>) {
        let release = ordering!("queue-root-wait-relaxed", Release);
        // Ordering: Release pairs with the Acquire in `next_of`: the roots that have ended are hidden.
        self.waits_for.store(root.map_or(0, Root::pack), release);
    }

    /// The root that the thread in `root` waits for: it lies inside of `root`.
    /// [`set_wait`](Self::set_wait) has an example.
    pub fn next_of(&self, root: Root) -> Option<Root> {
        if !self.is_inside(root) {
            return None;
        }
        // Ordering: Acquire pairs with the Release in `set_wait`: a wait of a later root shows that this one is hidden.
        let next = Root::unpack(self.waits_for.load(Ordering::Acquire))?;
        self.is_inside(root).then_some(next)
    }

    /// Whether [`steal`](Self::steal) would find an open job or a gift inside of `root`, as a hint. Valid after a fence.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::fork::{Considered, ForkDeque, Gives, Nest, Offer, Pace};
    ///
    /// let deque = ForkDeque::<usize>::boxed();
    /// // SAFETY: one owner handle of this deque.
    /// let me = unsafe { deque.owner() };
    /// let nest = Nest::of_seat(0).unwrap();
    /// let share = |_: Considered| Pace { pushes: 1, offer: Offer::Open, gives: Gives::Unasked };
    /// let root = nest.begin(&me).unwrap();
    /// assert!(!nest.has_jobs(&deque, root));
    /// me.push(1, share).unwrap();
    /// assert!(nest.has_jobs(&deque, root));
    /// ```
    pub fn has_jobs<T: Word>(&self, deque: &ForkDeque<T>, root: Root) -> bool {
        let is_old = |given_in| given_in < root.number();
        let is_open = deque.offer() == Offer::Open && !deque.is_empty() && !steal::is_refused();
        let is_given = !weakened!("queue-root-gift-unseen")
            && deque.gift_root().is_some_and(|given_in| !is_old(given_in));
        (is_open || is_given) && self.is_inside(root)
    }

    /// Takes a job inside of `root` out of the deque of this seat, as [`ForkDeque::steal`] does.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::fork::{Considered, ForkDeque, Gives, Nest, Offer, Pace};
    ///
    /// let deque = ForkDeque::<usize>::boxed();
    /// // SAFETY: one owner handle of this deque.
    /// let me = unsafe { deque.owner() };
    /// let nest = Nest::of_seat(0).unwrap();
    /// let share = |_: Considered| Pace { pushes: 1, offer: Offer::Open, gives: Gives::Unasked };
    /// let root = nest.begin(&me).unwrap();
    /// me.push(1, share).unwrap();
    /// // The thread that waits for the root's end helps with what the root has forked.
    /// assert_eq!(nest.steal(&deque, root, Offer::Open, || false), Some(1));
    /// ```
    pub fn steal<T: Word>(
        &self,
        deque: &ForkDeque<T>,
        root: Root,
        least: Offer,
        waits: impl FnMut() -> bool,
    ) -> Option<T> {
        let may = |gift: Option<u64>| {
            let old = gift.is_some_and(|given_in| given_in < root.number());
            (!old || weakened!("queue-root-old-gift")) && self.is_inside(root)
        };
        let stolen = deque.steal_if(least, waits, may)?;
        Some(stolen.into_inner())
    }
}

impl fmt::Debug for Nest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nest")
            .field("seat", &self.seat)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(any(terrace_loom, terrace_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_root_are_apart() {
        let word = 5 << NUMBER_SHIFT | 63 << DEPTH_SHIFT | 16_383;
        let root = Root::unpack(word).expect("not 0");
        assert_eq!((root.number(), root.depth(), root.seat()), (5, 63, 16_383));
        assert_eq!(Root::unpack(0), None);
        assert_eq!(SHOWN, 1 << (NUMBER_SHIFT - DEPTH_SHIFT));
        assert!(Nest::of_seat(16_383).is_some() && Nest::of_seat(16_384).is_none());
    }
}
