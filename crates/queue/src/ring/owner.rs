//! The owner's side of a ring: push, pop, overflow.

use core::array;
use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

use terrace_sync::atomic::Ordering;
use terrace_sync::{ordering, weakened};

use super::body::{CAPACITY, CAPACITY_U32, Ring, Slots};
use super::head::Head;
use crate::spill::Spill;

/// The one handle of a [`Ring`] that pushes and pops. Made by [`Ring::owner`].
///
/// Not `Sync`, so one thread at a time uses it.
///
/// # Examples
///
/// ```
/// let mut ring = terrace_queue::OwnedRing::new();
/// let owner = ring.owner();
/// owner.push('a').unwrap();
/// assert_eq!(owner.ring().len(), 1);
/// assert_eq!((owner.pop(), owner.pop()), (Some('a'), None));
/// ```
#[doc(alias = "Worker")]
pub struct Owner<'a, T> {
    ring: &'a Ring<T>,
    not_sync: PhantomData<Cell<()>>,
}

/// What [`Owner::push`] gives back when the ring is full: the item.
///
/// # Examples
///
/// ```
/// use terrace_queue::{OwnedRing, Overflow, Ring};
///
/// let mut ring = OwnedRing::new();
/// let owner = ring.owner();
/// for n in 0..Ring::<usize>::CAPACITY {
///     owner.push(n).unwrap();
/// }
/// assert_eq!(owner.push(1_000), Err(Overflow(1_000)));
/// ```
#[must_use = "the item was not pushed"]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Overflow<T>(pub T);

impl<T> Overflow<T> {
    /// The item that found no room.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::{OwnedRing, Ring};
    ///
    /// let mut ring = OwnedRing::new();
    /// let owner = ring.owner();
    /// for n in 0..Ring::<usize>::CAPACITY {
    ///     owner.push(n).unwrap();
    /// }
    /// assert_eq!(owner.push(1_000).unwrap_err().into_inner(), 1_000);
    /// ```
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> fmt::Debug for Overflow<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Overflow(..)")
    }
}

impl<T> fmt::Display for Overflow<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the ring holds {CAPACITY} items already")
    }
}

impl<T> core::error::Error for Overflow<T> {}

impl<T> Ring<T> {
    /// The handle that pushes and pops.
    ///
    /// # Safety
    ///
    /// The program uses at most one owner handle of a ring at a time. If it uses two one after the other, the uses of
    /// the first happen before those of the second.
    ///
    /// # Examples
    ///
    /// ```
    /// let ring = terrace_queue::Ring::new();
    /// // SAFETY: one owner handle of this ring.
    /// let owner = unsafe { ring.owner() };
    /// owner.push(1).unwrap();
    /// assert_eq!(ring.steal_one(), Some(1));
    /// ```
    #[inline]
    pub unsafe fn owner(&self) -> Owner<'_, T> {
        Owner::new(self)
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        // SAFETY: `&mut self` proves that every owner handle has ended, and that its uses happen
        // before this.
        let owner = unsafe { self.owner() };
        while !weakened!("queue-drop-forgets") && owner.pop().is_some() {}
    }
}

impl<'a, T> Owner<'a, T> {
    pub(super) fn new(ring: &'a Ring<T>) -> Self {
        Self {
            ring,
            not_sync: PhantomData,
        }
    }

    /// The ring this is the owner of.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut ring = terrace_queue::OwnedRing::new();
    /// let owner = ring.owner();
    /// owner.push(1).unwrap();
    /// assert_eq!(owner.ring().len(), 1);
    /// ```
    #[inline]
    #[must_use = "the call only reads a value"]
    pub fn ring(&self) -> &'a Ring<T> {
        self.ring
    }

    /// Appends an item. No RMW.
    ///
    /// # Errors
    /// Gives the item back if the ring is full, or if all room left is still being copied out by a thief.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::{OwnedRing, Overflow, Ring};
    ///
    /// let mut ring = OwnedRing::new();
    /// let owner = ring.owner();
    /// for n in 0..Ring::<usize>::CAPACITY {
    ///     owner.push(n).unwrap();
    /// }
    /// assert_eq!(owner.push(7), Err(Overflow(7)));
    /// owner.pop();
    /// assert_eq!(owner.push(7), Ok(()));
    /// ```
    #[inline]
    pub fn push(&self, item: T) -> Result<(), Overflow<T>> {
        let mut batch = self.batch();
        if batch.room() == 0 {
            return Err(Overflow(item));
        }
        if batch.slots.is_none() {
            self.push_first(item);
            return Ok(());
        }
        batch.push(item);
        batch.publish();
        Ok(())
    }

    /// Pushes into a ring without slots. So the usual push has nothing to keep across a call.
    #[cold]
    fn push_first(&self, item: T) {
        let mut batch = self.batch();
        batch.push(item);
        batch.publish();
    }

    /// Appends an item; if there is no room, moves the older half of the ring and the item to `rest`, as
    /// one batch. Returns whether it did so: items then lie in `rest`, for which the caller may have to wake a worker.
    ///
    /// While a thief is copying, the owner may not move the half, and the item goes alone.
    ///
    /// `rest` may use this handle: the items are out of the ring, on the stack, when it gets them. Items that it does not
    /// take are dropped.
    ///
    /// # Panics
    /// If `rest` does.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::{Injector, OwnedRing, Ring};
    ///
    /// let (mut ring, injector) = (OwnedRing::new(), Injector::new());
    /// let owner = ring.owner();
    /// for n in 0..=Ring::<usize>::CAPACITY {
    ///     owner.push_or_overflow(n, &injector);
    /// }
    /// // The older half has moved.
    /// assert_eq!(injector.pop(), Some(0));
    /// ```
    #[inline]
    pub fn push_or_overflow(&self, item: T, rest: &impl Spill<T>) -> bool {
        match self.push(item) {
            Ok(()) => false,
            Err(Overflow(item)) => {
                self.overflow(item, rest);
                true
            }
        }
    }

    #[cold]
    fn overflow(&self, item: T, rest: &impl Spill<T>) {
        const HALF: u32 = CAPACITY_U32 / 2;
        // Ordering: Relaxed. The compare-exchange below checks the head, and no slot needs an
        // acquire: this owner wrote them all.
        let head = Head::unpack(self.ring.head.load(Ordering::Relaxed));
        let tail = self.ring.tail.load(Ordering::Relaxed);
        // Thieves may have been at work since the push failed, or be so now.
        let full = match weakened!("queue-overflow-unchecked") {
            true => tail != head.real,
            false => tail.wrapping_sub(head.real) == CAPACITY_U32,
        };
        let taken = full && self.exchange_head(head, head.take(HALF)).is_ok();
        let half: Option<[T; HALF as usize]> = taken.then(|| {
            // This reads all of them before `rest` gets any: its code may push, and these slots are room from now on.
            array::from_fn(|nth| {
                let position = head.real.wrapping_add(nth as u32);
                // SAFETY: the exchange took `HALF` positions from `real` on for this call alone, which reads each once.
                // They were below the tail: the head had not moved, and it lay a whole capacity below.
                unsafe { self.ring.read(position) }
            })
        });
        rest.spill(half.into_iter().flatten().chain([item]));
    }

    /// Takes the oldest item. One compare-exchange, more only if a thief interferes.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut ring = terrace_queue::OwnedRing::new();
    /// let owner = ring.owner();
    /// owner.push(1).unwrap();
    /// owner.push(2).unwrap();
    /// assert_eq!((owner.pop(), owner.pop(), owner.pop()), (Some(1), Some(2), None));
    /// ```
    #[inline]
    #[must_use = "an item that was popped is in no queue"]
    pub fn pop(&self) -> Option<T> {
        // Ordering: Relaxed, both for the head, which the compare-exchange checks, and for the tail, which this
        // owner wrote itself. The slot needs no acquire for the same reason.
        let mut head = Head::unpack(self.ring.head.load(Ordering::Relaxed));
        let tail = self.ring.tail.load(Ordering::Relaxed);
        loop {
            if head.real == tail {
                return None;
            }
            match self.exchange_head(head, head.take(1)) {
                // SAFETY: the exchange took position `real`, which is below the tail, for this call alone.
                Ok(()) => return Some(unsafe { self.ring.read(head.real) }),
                Err(found) => head = found,
            }
        }
    }

    /// Takes positions: moves the head, unless a thief has moved it first.
    #[inline]
    fn exchange_head(&self, from: Head, to: Head) -> Result<(), Head> {
        let take = ordering!("queue-take-relaxed", Release);
        // Ordering: Release pairs with the Acquire loads of the head in `claim`. A thief that sees this `real` then
        // loads a tail no older than this owner's, and never computes a negative length.
        let taken = if weakened!("queue-take-unchecked") {
            self.ring.head.store(to.pack(), take);
            Ok(from.pack())
        } else {
            self.ring
                .head
                .compare_exchange(from.pack(), to.pack(), take, Ordering::Relaxed)
        };
        match taken {
            Ok(_) => Ok(()),
            Err(found) => Err(Head::unpack(found)),
        }
    }

    /// Begins a batch of pushes that become visible together.
    #[inline]
    pub(crate) fn batch(&self) -> Batch<'_, T> {
        // Ordering: Relaxed, written by this owner.
        let tail = self.ring.tail.load(Ordering::Relaxed);
        let room = ordering!("queue-room-relaxed", Acquire);
        // Ordering: Acquire pairs with the Release of a thief's `release`: its last read of a slot happens before
        // the slot is written again.
        let steal = Head::unpack(self.ring.head.load(room)).steal;
        let used = tail.wrapping_sub(steal);
        Batch {
            ring: self.ring,
            // SAFETY: this is the owner.
            slots: unsafe { self.ring.made_slots() },
            tail,
            room: CAPACITY_U32 - used,
            written: 0,
        }
    }
}

impl<T> fmt::Debug for Owner<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owner").field("ring", self.ring).finish()
    }
}

/// Pushes by the owner that become visible with [`Batch::publish`]. Dropped without it, the items written
/// are leaked.
#[must_use = "a batch is visible only once it is published"]
pub(crate) struct Batch<'a, T> {
    ring: &'a Ring<T>,
    /// None before the first push of all.
    slots: Option<&'a Slots<T>>,
    tail: u32,
    room: u32,
    written: u32,
}

impl<T> Batch<'_, T> {
    /// How many more items fit. Only the owner fills the ring, so this does not shrink by itself.
    #[inline]
    pub(crate) fn room(&self) -> usize {
        (self.room - self.written) as usize
    }

    /// Makes the ring's slots, if it has none and `needs` them. A caller that is about to claim the items of others does so first: the
    /// allocator may keep it waiting.
    #[inline]
    pub(crate) fn prepare(&mut self, needs: impl FnOnce() -> bool) {
        if self.slots.is_none() && needs() {
            // SAFETY: the owner makes a batch, which borrows its handle.
            self.slots = Some(unsafe { self.ring.make_slots() });
        }
    }

    /// Writes an item behind those written before.
    ///
    /// # Panics
    /// If there is no room.
    #[inline]
    pub(crate) fn push(&mut self, item: T) {
        assert!(
            self.written < self.room,
            "a batch has no room for another item"
        );
        let position = self.tail.wrapping_add(self.written);
        let slots = *self.slots.get_or_insert_with(|| {
            // SAFETY: the owner makes a batch, which borrows its handle.
            unsafe { self.ring.make_slots() }
        });
        slots[Ring::<T>::index(position)].with_mut(|slot| {
            // SAFETY: the slot is free: the position lies in the room beyond the tail, and the thief or pop that read the slot
            // last released it before the owner saw the room.
            unsafe { slot.write(MaybeUninit::new(item)) };
        });
        self.written += 1;
    }

    /// Makes the items visible to thieves.
    #[inline]
    pub(crate) fn publish(self) {
        if self.written == 0 {
            return;
        }
        let publish = ordering!("queue-push-relaxed", Release);
        // Ordering: Release pairs with the thief's Acquire load of the tail: it sees the slots written.
        self.ring
            .tail
            .store(self.tail.wrapping_add(self.written), publish);
    }
}
