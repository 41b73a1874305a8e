//! The deque itself: its words.

use alloc::boxed::Box;
use core::fmt;
use core::marker::PhantomData;
use core::panic::{RefUnwindSafe, UnwindSafe};

use terrace_sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use terrace_sync::cell::UnsafeCell;
use terrace_sync::{CachePadded, FenceKind, steal};

use super::consider::Offer;
use super::gift::Gift;
use super::top::Top;
use super::word::Word;

/// Slots of a deque.
pub(super) const CAPACITY: usize = if cfg!(any(terrace_loom, terrace_shuttle)) {
    4
} else {
    16_384
};
#[expect(clippy::cast_possible_truncation, reason = "16,384 at most")]
pub(super) const CAPACITY_U32: u32 = CAPACITY as u32;

/// The jobs that one thread has forked and not joined. The thread pushes and pops in nested order. Any other thread may take the
/// oldest.
///
/// Cost: a nested push and pop 0 RMW, and 0 fences where [`steal::fence_kind`] is asymmetric, else 1. A pop of the last job is
/// 1 compare-exchange. A job taken by force is 1 compare-exchange and 1 [`steal::heavy`]; a gift is 1 of either side, and
/// the request. Nothing waits: a thief that stalls keeps nothing from the owner or from other thieves.
///
/// A job is a copy of a word, and dropping the deque drops no jobs. A deque of jobs that live long does not take others:
///
/// ```compile_fail
/// use terrace_queue::fork::ForkDeque;
///
/// fn shorter<'short>(deque: &'short ForkDeque<&'static u32>) -> &'short ForkDeque<&'short u32> {
///     deque
/// }
/// ```
/// The [module](crate::fork) has an example.
#[doc(alias("Deque", "Stealer"))]
#[repr(C)]
pub struct ForkDeque<T> {
    /// [`Top`]. By compare-exchange; the owner stores while the deque is empty.
    pub(super) top: CachePadded<AtomicU64>,
    pub(super) shared: CachePadded<Shared>,
    pub(super) mine: CachePadded<Mine>,
    /// Jobs go in and come out by a shared reference, so a deque of long-lived jobs is none of shorter-lived ones.
    jobs: PhantomData<fn(T) -> T>,
}

/// What the owner writes now and then, and searchers look at.
pub(super) struct Shared {
    /// [`Offer`]. Written by the owner only.
    pub(super) offer: AtomicU32,
    /// [`Gift`].
    pub(super) gift: AtomicU64,
    /// The job of a gift. Written by the owner, while `gift` is asked for.
    pub(super) gift_job: AtomicPtr<()>,
    /// The root that a gift belongs to. Written with `gift_job`.
    pub(super) gift_root: AtomicU64,
    /// The root that the owner's jobs belong to. Written by the owner only.
    pub(super) root: AtomicU64,
    /// Gifts so far. The owner's alone.
    pub(super) gifts: UnsafeCell<u64>,
}

/// What the owner writes in each push.
#[repr(C)]
pub(super) struct Mine {
    /// Index of the next push. Written by the owner only; at most [`CAPACITY`].
    pub(super) bottom: AtomicU32,
    /// Pushes until the owner considers, the next one included. At least 1, and at most one more than there are slots from
    /// `bottom` on. The owner's alone.
    pub(super) left: UnsafeCell<u32>,
    /// The mark of `top`, where a look at it has to add no step to the search.
    #[cfg(terrace_loom)]
    pub(super) marked: bool,
    /// Written by the owner only.
    pub(super) slots: [AtomicPtr<()>; CAPACITY],
}

// SAFETY: jobs move between threads, hence `T: Send`; the protocol hands each to one thread. `left` and `gifts` are touched by
// the owner's handle only, of which its maker promises one.
unsafe impl<T: Send> Sync for ForkDeque<T> {}
// SAFETY: it holds words of jobs, which are `Send`, and nothing of a thread.
unsafe impl<T: Send> Send for ForkDeque<T> {}

// A panic of the caller's code leaves no operation half done.
impl<T> UnwindSafe for ForkDeque<T> {}
impl<T> RefUnwindSafe for ForkDeque<T> {}

impl<T: Word> ForkDeque<T> {
    /// The number of unfinished forks that a deque holds: 16,384, or 4 under a model checker.
    pub const CAPACITY: usize = CAPACITY;

    /// An empty deque in the form of fences that the process has. It chooses that form if no thread has.
    ///
    /// One allocation of about 128 KiB, of which the system gives the pages that pushes touch.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::fork::ForkDeque;
    ///
    /// let deque = ForkDeque::<usize>::boxed();
    /// assert!(deque.is_empty() && !deque.is_in_use());
    /// ```
    #[must_use = "a deque does nothing until it has an owner"]
    pub fn boxed() -> Box<Self> {
        Self::boxed_with(steal::fence_kind())
    }

    /// An empty deque whose owner fences as `form` says; symmetric in any case if the process is.
    ///
    /// A deque with the symmetric form may be used in a process with the asymmetric one.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::fork::ForkDeque;
    /// use terrace_sync::FenceKind;
    ///
    /// // Its owner fences in each pop, and no thief needs a system call.
    /// let deque = ForkDeque::<usize>::boxed_with(FenceKind::Symmetric);
    /// assert!(deque.is_empty());
    /// ```
    #[must_use = "a deque does nothing until it has an owner"]
    pub fn boxed_with(form: FenceKind) -> Box<Self> {
        let asymmetric =
            form == FenceKind::Asymmetric && steal::fence_kind() == FenceKind::Asymmetric;
        #[cfg_attr(not(terrace_loom), expect(unused_mut, reason = "loom's flag"))]
        let mut deque = allocate::<T>();
        #[cfg(terrace_loom)]
        {
            deque.mine.marked = !asymmetric;
        }
        // Ordering: Relaxed, no other thread has the deque yet.
        let top = Top::start(!asymmetric).pack();
        deque.top.store(top, Ordering::Relaxed);
        deque.mine.left.with_mut(|left| {
            // SAFETY: no other thread has the deque yet.
            unsafe { *left = 1 };
        });
        deque
    }

    /// Which threads the jobs are for, as a hint: one relaxed load.
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
    /// assert_eq!(deque.offer(), Offer::None);
    /// let job = me.push(1, share).unwrap();
    /// assert_eq!(deque.offer(), Offer::Open);
    /// // SAFETY: it is the last job that was pushed.
    /// unsafe { me.pop(job) };
    /// assert_eq!(deque.offer(), Offer::None);
    /// ```
    #[inline]
    pub fn offer(&self) -> Offer {
        // Ordering: Relaxed, a hint. A thread that may sleep fences before its look, and the owner before it wakes.
        Offer::of(self.shared.offer.load(Ordering::Relaxed))
    }

    /// A number that changes when a thread takes or gives away the oldest job, and when the deque becomes empty. `None` if no
    /// job is here. A hint as [`offer`](Self::offer): of two looks that are the same, the second sees a job that stood still.
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
    /// assert_eq!(deque.look(), None);
    /// me.push(1, share).unwrap();
    /// me.push(2, share).unwrap();
    /// let before = deque.look();
    /// assert_eq!(deque.look(), before, "the oldest job stands still");
    /// deque.force();
    /// assert_ne!(deque.look(), before);
    /// ```
    #[inline]
    pub fn look(&self) -> Option<u64> {
        // Ordering: Relaxed, both, a hint as `offer`.
        let gift = self.shared.gift.load(Ordering::Relaxed);
        if !Gift::unpack(gift).is_given() && self.is_empty() {
            return None;
        }
        Some(self.top.load(Ordering::Relaxed) ^ gift.rotate_right(1))
    }

    /// Whether the owner has pushed a job that it has not popped, also one that another thread has taken. A hint.
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
    /// deque.force();
    /// assert!(deque.is_empty() && deque.is_in_use());
    /// // SAFETY: it is the last job that was pushed.
    /// unsafe { me.pop(job) };
    /// assert!(!deque.is_in_use());
    /// ```
    #[inline]
    pub fn is_in_use(&self) -> bool {
        // Ordering: Relaxed, a hint as `offer`.
        self.mine.bottom.load(Ordering::Relaxed) > 0
    }

    /// Whether there is no job but one that is given away, as a hint.
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
    /// assert!(deque.is_empty());
    /// me.push(1, share).unwrap();
    /// assert!(!deque.is_empty());
    /// ```
    #[inline]
    pub fn is_empty(&self) -> bool {
        // Ordering: Relaxed, both, a hint as `offer`.
        let top = Top::unpack(self.top.load(Ordering::Relaxed));
        top.index() >= self.mine.bottom.load(Ordering::Relaxed)
    }
}

/// A deque of zeros, without touching its slots.
#[cfg(not(any(terrace_loom, terrace_shuttle)))]
fn allocate<T>() -> Box<ForkDeque<T>> {
    let layout = core::alloc::Layout::new::<ForkDeque<T>>();
    // SAFETY: the layout has a size.
    let place = unsafe { alloc::alloc::alloc_zeroed(layout) };
    if place.is_null() {
        alloc::alloc::handle_alloc_error(layout);
    }
    // SAFETY: the place is of this layout and the global allocator. Zeros are a value of it: its fields are atomics and
    // integers, and null pointers.
    unsafe { Box::from_raw(place.cast()) }
}

/// A deque whose atomics the checker knows.
#[cfg(any(terrace_loom, terrace_shuttle))]
fn allocate<T>() -> Box<ForkDeque<T>> {
    let null = core::ptr::null_mut;
    Box::new(ForkDeque {
        top: CachePadded::new(AtomicU64::new(0)),
        shared: CachePadded::new(Shared {
            offer: AtomicU32::new(0),
            gift: AtomicU64::new(0),
            gift_job: AtomicPtr::new(null()),
            gift_root: AtomicU64::new(0),
            root: AtomicU64::new(0),
            gifts: UnsafeCell::new(0),
        }),
        mine: CachePadded::new(Mine {
            bottom: AtomicU32::new(0),
            left: UnsafeCell::new(0),
            #[cfg(terrace_loom)]
            marked: false,
            slots: core::array::from_fn(|_| AtomicPtr::new(null())),
        }),
        jobs: PhantomData,
    })
}

impl<T: Word> fmt::Debug for ForkDeque<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForkDeque")
            .field("offer", &self.offer())
            .field("is_empty", &self.is_empty())
            .finish_non_exhaustive()
    }
}
