//! [`Half`]: the items that an overflow moves out of a ring, on their way.

use core::mem::MaybeUninit;

use super::body::{CAPACITY, Ring};

const LENGTH: usize = CAPACITY / 2;

/// Half of the items of a ring, oldest first.
///
/// They are out of their slots before users' code runs: the receiver may push into the ring, stop half-way, or panic.
/// Items that are left are dropped with this.
pub(super) struct Half<T> {
    /// Those from `next` on are initialised.
    items: [MaybeUninit<T>; LENGTH],
    next: usize,
}

impl<T> Half<T> {
    /// No items.
    #[inline]
    pub(super) fn none() -> Self {
        Self {
            items: [const { MaybeUninit::uninit() }; LENGTH],
            next: LENGTH,
        }
    }

    /// Moves half a ring's items, from this position on, out of their slots.
    ///
    /// # Safety
    /// The caller alone has taken these positions out of the ring, and reads them once. There was nothing in here.
    #[inline]
    pub(super) unsafe fn fill(&mut self, ring: &Ring<T>, position: u32) {
        // At most two runs of slots, so that each is one copy.
        // SAFETY: the caller, the owner, has taken these items.
        let slots = unsafe { ring.slots() };
        let (behind, straight) = slots.split_at(Ring::<T>::index(position));
        let (begin, rest) = self.items.split_at_mut(straight.len().min(LENGTH));
        for (to, slots) in [(begin, straight), (rest, behind)] {
            for (to, slot) in to.iter_mut().zip(slots) {
                // Copied as it is: initialised, as the caller promises.
                // SAFETY: the caller alone has taken the position, so no other thread touches the slot.
                *to = slot.with_mut(|slot| unsafe { slot.read() });
            }
        }
        self.next = 0;
    }
}

impl<T> Iterator for Half<T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let item = self.items.get(self.next)?;
        self.next += 1;
        // SAFETY: `fill` initialised the items from `next` on; `next` has just moved past this one, so it is taken once.
        Some(unsafe { item.assume_init_read() })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = LENGTH - self.next;
        (left, Some(left))
    }
}

impl<T> Drop for Half<T> {
    #[inline]
    fn drop(&mut self) {
        // A destructor that panics leaks those behind it.
        self.for_each(drop);
    }
}
