//! The ring itself: two positions and the slots.

use alloc::boxed::Box;
use core::fmt;
use core::mem::MaybeUninit;
use core::panic::{RefUnwindSafe, UnwindSafe};

use terrace_sync::CachePadded;
use terrace_sync::atomic::{AtomicU32, AtomicU64, Ordering};
use terrace_sync::cell::UnsafeCell;
use terrace_sync::ordering;

use super::head::Head;

/// Slots of a ring. A power of two, so that positions may wrap.
pub(super) const CAPACITY: usize = if cfg!(any(terrace_loom, terrace_shuttle)) {
    4
} else {
    512
};
#[expect(clippy::cast_possible_truncation, reason = "512 at most")]
pub(super) const CAPACITY_U32: u32 = CAPACITY as u32;
const _: () = assert!(CAPACITY.is_power_of_two() && CAPACITY >= 2);

/// Room for an item at each position.
pub(super) type Slots<T> = [UnsafeCell<MaybeUninit<T>>; CAPACITY];

/// A queue of at most [`Ring::CAPACITY`] items, first in first out. One owner pushes and pops. Any thread may steal,
/// one thief at a time.
///
/// The owner's first push allocates all slots, and nothing else allocates. So a ring takes no room for items until its owner pushes one.
///
/// Cost: push 0 RMW, pop 1 compare-exchange, a batch stolen 2 (claim and release), an overflow 1 and a batch into the
/// injector. Operations are lock-free: no thread waits for a thief that stalls while it copies. Such a thief keeps
/// other thieves out and its slots in use, so the owner overflows earlier.
///
/// Dropping the ring drops its items; if the destructor of one panics, the items behind it are leaked.
///
/// A thief claims wrongly if, between its read and its claim of the positions, the owner takes exactly a multiple of
/// 2³² items. At 10 ns an item that is a stall of 43 seconds, of exactly the right length.
///
/// # Examples
///
/// ```
/// use terrace_queue::Ring;
///
/// let (mine, other) = (Ring::new(), Ring::new());
/// // SAFETY: one owner handle of each ring.
/// let (me, thief) = unsafe { (mine.owner(), other.owner()) };
/// for n in 0..4 {
///     me.push(n).unwrap();
/// }
/// // A thief takes half: it gets the oldest, and the others go into its own ring.
/// assert_eq!(mine.steal_into(&thief), Some(0));
/// assert_eq!((thief.pop(), me.pop()), (Some(1), Some(2)));
/// ```
#[doc(alias("Stealer", "Steal", "local_queue"))]
pub struct Ring<T> {
    /// [`Head`]: moved by compare-exchange only.
    pub(super) head: CachePadded<AtomicU64>,
    /// Position of the next push. Written by the owner only.
    pub(super) tail: CachePadded<AtomicU32>,
    /// The owner makes the slots before its first push, and no thread replaces them afterwards. So a thief that takes an item has
    /// seen the slots.
    ///
    /// Slots of the positions in `steal..tail` are initialised, except those that the thief at work has moved
    /// out of. The owner alone writes slots, outside of that range. The thread that advances `real` past a position in
    /// `real..tail` reads its slot. No code of `T` runs in an access.
    slots: UnsafeCell<Option<Box<Slots<T>>>>,
}

// SAFETY: items move between threads, hence `T: Send`; a `&Ring` gives no access to an item in place. The protocol
// described at the fields hands slots from thread to thread.
unsafe impl<T: Send> Sync for Ring<T> {}

// A panic of an item's code leaves no operation half done: none of that code runs inside.
impl<T> UnwindSafe for Ring<T> {}
impl<T> RefUnwindSafe for Ring<T> {}

impl<T> Ring<T> {
    /// The number of items a ring holds: 512, or 4 under a model checker.
    pub const CAPACITY: usize = CAPACITY;

    /// An empty ring. Allocates nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// let ring = terrace_queue::Ring::<u32>::new();
    /// assert!(ring.is_empty());
    /// ```
    #[must_use = "a ring does nothing until it has an owner"]
    pub fn new() -> Self {
        Self::starting_at(0)
    }

    /// An empty ring whose first item gets this position.
    pub(super) fn starting_at(position: u32) -> Self {
        Self {
            head: CachePadded::new(AtomicU64::new(Head::idle(position).pack())),
            tail: CachePadded::new(AtomicU32::new(position)),
            slots: UnsafeCell::new(None),
        }
    }

    /// The number of items, as a hint: exact for the owner while no thief is at work.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut ring = terrace_queue::OwnedRing::new();
    /// let owner = ring.owner();
    /// owner.push('a').unwrap();
    /// owner.push('b').unwrap();
    /// assert_eq!(owner.ring().len(), 2);
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        // Ordering: Relaxed for the tail, a hint. The parking protocol fences between the push and this load, so a
        // parking thread does not miss a push. Acquire for the head pairs with the Release of the owner's pop; thieves'
        // exchanges continue its release sequence. So a thread that sees an item gone sees the items that the owner had
        // pushed behind it.
        let head = self.head.load(ordering!("queue-look-relaxed", Acquire));
        let real = Head::unpack(head).real;
        let length = self.tail.load(Ordering::Relaxed).wrapping_sub(real);
        // The two loads are not one: a length that makes no sense is either stale end of an empty or of a
        // full ring.
        if length > u32::MAX / 2 {
            0
        } else {
            (length as usize).min(CAPACITY)
        }
    }

    /// Whether there is no item, as a hint: an acquiring load of the head, then a relaxed one of the tail.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut ring = terrace_queue::OwnedRing::new();
    /// let looker = ring.share();
    /// assert!(looker.is_empty());
    /// ring.owner().push('a').unwrap();
    /// assert!(!looker.is_empty());
    /// ```
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many items were ever taken out, wrapping at 2³²: if it is the same at two looks, none was taken between them.
    /// One relaxed load.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut ring = terrace_queue::OwnedRing::new();
    /// let owner = ring.owner();
    /// owner.push('a').unwrap();
    /// let before = owner.ring().taken();
    /// assert_eq!(owner.pop(), Some('a'));
    /// assert_ne!(owner.ring().taken(), before, "the owner moves");
    /// ```
    #[inline]
    pub fn taken(&self) -> u32 {
        // Ordering: Relaxed, a hint.
        Head::unpack(self.head.load(Ordering::Relaxed)).real
    }

    pub(super) fn index(position: u32) -> usize {
        (position % CAPACITY_U32) as usize
    }

    /// The slots, if something was pushed.
    ///
    /// # Safety
    ///
    /// The caller is the owner, or has taken an item, for which it has acquired the tail behind that item.
    #[inline]
    pub(super) unsafe fn made_slots(&self) -> Option<&Slots<T>> {
        self.slots.with(|slots| {
            // SAFETY: the owner alone writes this, and never again once there are slots. Another thread that calls this
            // has acquired a tail that the owner stored later.
            unsafe { (*slots).as_deref() }
        })
    }

    /// The slots, to which something was pushed.
    ///
    /// # Safety
    ///
    /// The caller has taken an item, for which it has acquired the tail behind that item unless it is the owner.
    #[inline]
    pub(super) unsafe fn slots(&self) -> &Slots<T> {
        // SAFETY: the caller's promise.
        let made = unsafe { self.made_slots() };
        // SAFETY: the push of that item made the slots, or found some.
        unsafe { made.unwrap_unchecked() }
    }

    /// The slots, which the owner's first push makes.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[cold]
    pub(super) unsafe fn make_slots(&self) -> &Slots<T> {
        // SAFETY: the caller is the owner.
        if let Some(slots) = unsafe { self.made_slots() } {
            return slots;
        }
        let made = Box::new(core::array::from_fn(|_| {
            UnsafeCell::new(MaybeUninit::uninit())
        }));
        self.slots.with_mut(|slots| {
            // SAFETY: no other thread looks at this before it has taken an item, and nothing was pushed so far. There are no slots
            // that a reference could be to.
            unsafe { (*slots).insert(made) }
        })
    }

    /// Moves the item out of a position's slot.
    ///
    /// # Safety
    ///
    /// The caller alone has taken `position` out of the ring, and reads it once.
    #[inline]
    pub(super) unsafe fn read(&self, position: u32) -> T {
        // SAFETY: the caller has taken the item.
        let slots = unsafe { self.slots() };
        // `with_mut`: a read moves the item out, so loom has to see two reads of one slot as a
        // race, too.
        slots[Self::index(position)].with_mut(|slot| {
            // SAFETY: the caller alone has taken the position, so no other thread touches the slot.
            let item = unsafe { slot.read() };
            // SAFETY: the slot was initialised: the position was below the tail, which the owner stores after the
            // write. The caller reads it only this once.
            unsafe { item.assume_init() }
        })
    }
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for Ring<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring")
            .field("len", &self.len())
            .field("capacity", &CAPACITY)
            .finish()
    }
}
