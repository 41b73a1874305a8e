//! [`Ring`]: a bounded queue with one producer, stealable in batches.
//!
//! The two-position head that lets a thief copy a batch after one compare-exchange, while the owner goes on
//! popping, is Go's scheduler queue as tokio refined it (`runtime/scheduler/multi_thread/queue.rs`). The state
//! table is in the crate's README.

mod head;
mod owner;
mod thief;

use core::fmt;
use core::mem::MaybeUninit;
use core::panic::{RefUnwindSafe, UnwindSafe};
use head::Head;
pub use owner::{Overflow, Owner};
use terrace_sync::CachePadded;
use terrace_sync::atomic::{AtomicU32, AtomicU64, Ordering};
use terrace_sync::cell::UnsafeCell;
use terrace_sync::ordering;

/// Slots of a ring. A power of two, so that positions may wrap.
const CAPACITY: usize = if cfg!(any(terrace_loom, terrace_shuttle)) {
    4
} else {
    512
};
#[expect(clippy::cast_possible_truncation, reason = "512 at most")]
const CAPACITY_U32: u32 = CAPACITY as u32;
const _: () = assert!(CAPACITY.is_power_of_two() && CAPACITY >= 2);

/// A queue of at most [`Ring::CAPACITY`] items, first in first out, pushed and popped by one owner and
/// stolen from by any thread, one thief at a time.
///
/// Cost: push 0 RMW, pop 1 compare-exchange, a batch stolen 2 (claim and release), an overflow 1 and a batch
/// into the injector. Operations are lock-free: a thief that stalls while it copies keeps other thieves out
/// and its slots in use, so the owner overflows earlier; it delays nobody.
///
/// Dropping the ring drops its items; if the destructor of one panics, the items behind it are leaked.
///
/// A thief that stalls between reading the positions and claiming them while the owner takes
/// exactly a multiple of 2³² items would claim wrongly; at 10 ns an item that is a stall of 43 seconds, of
/// exactly the right length.
pub struct Ring<T> {
    /// [`Head`]: moved by compare-exchange only.
    head: CachePadded<AtomicU64>,
    /// Position of the next push. Written by the owner only.
    tail: CachePadded<AtomicU32>,
    /// Slots of the positions in `steal..tail` are initialised, except those that the thief at work has moved
    /// out of. The owner alone writes slots, outside of that range; positions in `real..tail` are read by who
    /// advances `real` past them. No code of `T` runs in an access.
    slots: [UnsafeCell<MaybeUninit<T>>; CAPACITY],
}

// SAFETY: items move between threads, hence `T: Send`; a `&Ring` gives no access to an item in place. Slots
// are handed from thread to thread by the protocol described at the fields.
unsafe impl<T: Send> Sync for Ring<T> {}

// No operation can be left half done by a panic of `T`'s code: none runs inside.
impl<T> UnwindSafe for Ring<T> {}
impl<T> RefUnwindSafe for Ring<T> {}

impl<T> Ring<T> {
    /// The number of items a ring holds: 512, or 4 under a model checker.
    pub const CAPACITY: usize = CAPACITY;

    /// An empty ring. Allocates nothing.
    pub fn new() -> Self {
        Self::starting_at(0)
    }

    /// An empty ring whose first item gets this position.
    fn starting_at(position: u32) -> Self {
        Self {
            head: CachePadded::new(AtomicU64::new(Head::idle(position).pack())),
            tail: CachePadded::new(AtomicU32::new(position)),
            slots: core::array::from_fn(|_| UnsafeCell::new(MaybeUninit::uninit())),
        }
    }

    /// The handle that pushes and pops.
    ///
    /// # Safety
    ///
    /// At most one owner handle of a ring is used at a time, and of two used one after the other, the
    /// uses of the first happen before those of the second.
    #[inline]
    pub unsafe fn owner(&self) -> Owner<'_, T> {
        Owner::new(self)
    }

    /// The number of items, as a hint: exact for the owner while nobody steals.
    #[inline]
    pub fn len(&self) -> usize {
        // Ordering: Relaxed for the tail, a hint. That a parking thread does not miss a push is the business of the
        // fences of the parking protocol, between the push and this load. Acquire for the head pairs with the Release of
        // the owner's pop, whatever thieves put on top: who sees an item gone sees those that the owner had pushed behind it.
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
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many items were ever taken out, wrapping at 2³²: if it is the same at two looks, none was taken between them.
    /// One relaxed load.
    #[inline]
    pub fn taken(&self) -> u32 {
        // Ordering: Relaxed, a hint.
        Head::unpack(self.head.load(Ordering::Relaxed)).real
    }

    fn slot(&self, position: u32) -> &UnsafeCell<MaybeUninit<T>> {
        &self.slots[(position % CAPACITY_U32) as usize]
    }

    /// Moves the item out of a position's slot.
    ///
    /// # Safety
    ///
    /// The caller alone has taken `position` out of the ring, and reads it once.
    unsafe fn read(&self, position: u32) -> T {
        // `with_mut`: the item is moved out, so to loom no two of these may race either.
        self.slot(position).with_mut(|slot| {
            // SAFETY: the slot is nobody else's: the caller has taken the position.
            let item = unsafe { slot.read() };
            // SAFETY: the slot was initialised: the position was below the tail, which is stored after the
            // write, and is read only this once.
            unsafe { item.assume_init() }
        })
    }

    /// Puts an item into a position's slot.
    ///
    /// # Safety
    ///
    /// The caller is the owner, and `position` lies in the room it found beyond the tail.
    unsafe fn write(&self, position: u32, item: T) {
        self.slot(position).with_mut(|slot| {
            // SAFETY: the slot is free: whoever read it last released it before the owner saw the room.
            unsafe { slot.write(MaybeUninit::new(item)) };
        });
    }
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        // SAFETY: `&mut self`: every owner handle has ended, and its uses happen before this.
        let owner = unsafe { self.owner() };
        #[cfg(not(terrace_weaken = "queue-drop-forgets"))]
        while owner.pop().is_some() {}
        #[cfg(terrace_weaken = "queue-drop-forgets")]
        drop(owner);
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

#[cfg(all(test, not(any(terrace_loom, terrace_shuttle))))]
mod tests {
    use std::vec::Vec;

    use super::{CAPACITY, Ring};
    use crate::Injector;

    /// Every operation, at every distance from the point where positions wrap.
    #[test]
    fn positions_wrap() {
        let count = u32::try_from(CAPACITY).expect("it is small");
        for before in 0..=count {
            let ring = Ring::starting_at(0u32.wrapping_sub(before));
            let peer = Ring::starting_at(0u32.wrapping_sub(before / 2));
            // SAFETY: one handle for this ring, on one thread.
            let me = unsafe { ring.owner() };
            // SAFETY: one handle for that ring, on one thread.
            let thief = unsafe { peer.owner() };
            let injector = Injector::new();
            for item in 0..=count {
                me.push_or_overflow(item, &injector);
            }
            assert_eq!(ring.len(), CAPACITY / 2);
            let mut taken: Vec<u32> = ring.steal_into(&thief).into_iter().collect();
            taken.extend(core::iter::from_fn(|| thief.pop()));
            taken.extend(ring.steal_one());
            taken.extend(core::iter::from_fn(|| me.pop()));
            assert_eq!(taken, (count / 2..count).collect::<Vec<_>>());
            let moved: Vec<u32> = core::iter::from_fn(|| injector.pop()).collect();
            assert_eq!(moved, (0..count / 2).chain([count]).collect::<Vec<_>>());
            assert!(ring.is_empty() && peer.is_empty());
        }
    }
}
