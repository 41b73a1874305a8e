//! [`Segment`]: a ring of slots that can be closed.
//!
//! Positions count pushes and pops; the slot of a position is the position modulo the capacity. All words hold *twice* a position,
//! so that the lowest bit is free: in the tail it says that the segment is closed, in a stamp that the slot is filled.
//!
//! | stamp of the slot of `p` | the slot is | the thread that may touch it |
//! |---|---|---|
//! | `2p` | free for the item of position `p` | the pusher that moves the tail past `p` |
//! | `2p + 1` | filled | the popper that moves the head past `p` |
//!
//! A popper stamps the slot of `p` for position `p + capacity` when it has read it. So the other pushers find the slot filled until
//! then, and wait for that popper if they need the slot.

use alloc::boxed::Box;
use core::mem::MaybeUninit;
use core::ptr;

use terrace_sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use terrace_sync::cell::UnsafeCell;
use terrace_sync::hint::spin_loop;
use terrace_sync::thread::yield_now;
use terrace_sync::{ordering, weakened};

/// Slots of the first segment of a chain; a power of two, and at least two.
pub(super) const FIRST: usize = if cfg!(any(terrace_loom, terrace_shuttle)) {
    2
} else {
    32
};

/// The bit of a stamp that says that the slot is filled.
const FILLED: usize = 1;
/// The bit of the tail that says that the segment is closed.
const CLOSED: usize = 1;
/// One position further.
const STEP: usize = 2;

/// Looks at a word that another thread is about to change, before the thread gives its time away.
const SPINS: u32 = if cfg!(any(terrace_loom, terrace_shuttle)) {
    1
} else {
    32
};

/// Two words that different threads write lie so far apart.
const APART: usize = 128;

/// What a [`Segment::pop`] found.
pub(super) enum Popped<T> {
    Item(T),
    /// No item. There may be some later.
    Empty,
    /// No item, and there will be none: all pushes go to a later segment.
    UsedUp,
}

struct Slot<T> {
    stamp: AtomicUsize,
    item: UnsafeCell<MaybeUninit<T>>,
}

/// See the module.
// Not aligned to a cache line: an allocator takes longer for that, and distance is enough.
#[repr(C)]
pub(super) struct Segment<T> {
    /// Twice the position of the next pop.
    head: AtomicUsize,
    _apart: [u8; APART],
    /// Twice the position of the next push, and [`CLOSED`].
    tail: AtomicUsize,
    _apart_too: [u8; APART],
    /// The segment behind this one, which is closed if there is one.
    pub(super) next: AtomicPtr<Segment<T>>,
    /// The segment before this one in the chain.
    pub(super) before: *mut Segment<T>,
    slots: Box<[Slot<T>]>,
}

// SAFETY: items move between threads, hence `T: Send`; a `&Segment` gives no access to an item in place: the stamps hand the slots
// from thread to thread. `before` is only read by the drop of the store.
unsafe impl<T: Send> Sync for Segment<T> {}

impl<T> Segment<T> {
    /// An empty segment.
    pub(super) fn new(capacity: usize, before: *mut Self) -> Box<Self> {
        debug_assert!(capacity.is_power_of_two() && capacity >= 2);
        let slot = |position| Slot {
            stamp: AtomicUsize::new(position * STEP),
            item: UnsafeCell::new(MaybeUninit::uninit()),
        };
        Box::new(Self {
            head: AtomicUsize::new(0),
            _apart: [0; APART],
            tail: AtomicUsize::new(0),
            _apart_too: [0; APART],
            next: AtomicPtr::new(ptr::null_mut()),
            before,
            slots: (0..capacity).map(slot).collect(),
        })
    }

    #[inline]
    pub(super) fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// What a position is ahead of the position that used its slot before.
    #[inline]
    fn lap(&self) -> usize {
        self.slots.len() * STEP
    }

    #[inline]
    fn slot(&self, word: usize) -> &Slot<T> {
        let index = (word / STEP) & (self.slots.len() - 1);
        // SAFETY: the length is a power of two, so the mask leaves an index below it.
        unsafe { self.slots.get_unchecked(index) }
    }

    /// Appends an item; gives it back if the segment is closed, or full and now closed.
    #[inline]
    pub(super) fn push(&self, item: T) -> Result<(), T> {
        // Ordering: Relaxed. The stamp hands the slot over; an old tail only costs another round.
        let mut tail = self.tail.load(Ordering::Relaxed);
        loop {
            if tail & CLOSED != 0 {
                return Err(item);
            }
            let slot = self.slot(tail);
            // Ordering: Acquire, pairs with the Release of the popper that has read the slot.
            let stamp = slot
                .stamp
                .load(ordering!("queue-store-room-relaxed", Acquire));
            if stamp == tail {
                match self.move_tail(tail, tail.wrapping_add(STEP)) {
                    Ok(()) => {
                        slot.item.with_mut(|slot| {
                            // SAFETY: this thread has moved the tail past the position, whose stamp says that its slot is free. So no
                            // other thread touches the slot until the stamp below.
                            unsafe { slot.write(MaybeUninit::new(item)) };
                        });
                        // Ordering: Release, pairs with the Acquire of the popper.
                        let release = ordering!("queue-store-push-relaxed", Release);
                        slot.stamp.store(tail | FILLED, release);
                        return Ok(());
                    }
                    Err(now) => tail = now,
                }
            } else if is_before(stamp, tail) {
                tail = self.make_room(tail, stamp);
            } else {
                // Another pusher has used the position.
                tail = self.tail.load(Ordering::Relaxed);
            }
        }
    }

    #[inline]
    fn move_tail(&self, tail: usize, to: usize) -> Result<(), usize> {
        if weakened!("queue-store-push-unchecked") {
            self.tail.store(to, Ordering::Relaxed);
            return Ok(());
        }
        // Ordering: Relaxed, as in `push`.
        let moved = self
            .tail
            .compare_exchange_weak(tail, to, Ordering::Relaxed, Ordering::Relaxed);
        moved.map(drop)
    }

    /// The slot of the tail is in use, by its `stamp`: closes the segment if it is full, or else waits for the popper that is reading the
    /// slot. Returns the tail then.
    #[cold]
    fn make_room(&self, tail: usize, stamp: usize) -> usize {
        let slot = self.slot(tail);
        let mut full = false;
        wait_until(|| {
            // Ordering: Relaxed, here and below. In the end this thread sees the head of a full segment, or the stamp of the popper.
            full = self.head.load(Ordering::Relaxed) == tail.wrapping_sub(self.lap());
            full || slot.stamp.load(Ordering::Relaxed) != stamp
        });
        if !full {
            return self.tail.load(Ordering::Relaxed);
        }
        if weakened!("queue-store-full-unclosed") {
            return tail | CLOSED;
        }
        match self.move_tail(tail, tail | CLOSED) {
            Ok(()) => tail | CLOSED,
            Err(now) => now,
        }
    }

    /// Takes the first item.
    #[inline]
    pub(super) fn pop(&self) -> Popped<T> {
        // Ordering: Relaxed. The stamp hands the slot over; an old head only costs another round.
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            let slot = self.slot(head);
            // Ordering: Acquire, pairs with the Release of the pusher that has filled the slot.
            let stamp = slot
                .stamp
                .load(ordering!("queue-store-pop-relaxed", Acquire));
            if stamp == head | FILLED {
                let next = head.wrapping_add(STEP);
                match self.move_head(head, next) {
                    Ok(()) => {
                        // `with_mut`: a read moves the item out, so loom has to see two reads of one slot as a race, too.
                        let item = slot.item.with_mut(|slot| {
                            // SAFETY: this thread has moved the head past the position, whose stamp says that its slot is filled. So no
                            // other thread touches the slot until the stamp below.
                            let item = unsafe { slot.read() };
                            // SAFETY: the pusher has written the item, and each is read once.
                            unsafe { item.assume_init() }
                        });
                        // Ordering: Release, pairs with the Acquire of the pusher that fills the slot next.
                        let release = ordering!("queue-store-free-relaxed", Release);
                        slot.stamp.store(head.wrapping_add(self.lap()), release);
                        return Popped::Item(item);
                    }
                    Err(now) => head = now,
                }
                continue;
            }
            // There is no item, or a popper is still reading the slot's last one.
            if stamp == head || is_before(stamp, head) {
                // Ordering: Relaxed. A pusher that has returned happens before a pop that must see its item, and so does its move of
                // the tail. A closed tail is the last one.
                let tail = self.tail.load(Ordering::Relaxed);
                if ahead(tail, head) == 0 {
                    return match tail & CLOSED {
                        0 => Popped::Empty,
                        _ => Popped::UsedUp,
                    };
                }
                // A pusher has claimed the position.
                wait_until(|| slot.stamp.load(Ordering::Relaxed) != stamp);
            }
            // Or another popper has used the position.
            head = self.head.load(Ordering::Relaxed);
        }
    }

    #[inline]
    fn move_head(&self, head: usize, to: usize) -> Result<(), usize> {
        if weakened!("queue-store-pop-unchecked") {
            self.head.store(to, Ordering::Relaxed);
            return Ok(());
        }
        // Ordering: Relaxed, as in `pop`.
        let moved = self
            .head
            .compare_exchange_weak(head, to, Ordering::Relaxed, Ordering::Relaxed);
        moved.map(drop)
    }

    /// The segment behind this one.
    #[inline]
    pub(super) fn next(&self) -> Option<&Self> {
        // Ordering: Acquire, pairs with the Release with which the segment was installed.
        let next = self.next.load(Ordering::Acquire);
        // SAFETY: a pointer in `next` is null or a segment, and segments live as long as the store.
        unsafe { next.as_ref() }
    }

    /// The number of items, as a hint.
    #[inline]
    pub(super) fn len(&self) -> usize {
        // Ordering: Relaxed, both. An item whose push happens before this call, and that no popper has claimed, lies behind any head
        // and before the tail that this thread can read: its pusher had moved the tail before.
        let head = self.head.load(Ordering::Relaxed);
        if weakened!("queue-store-look-at-slot") {
            // Ordering: Relaxed, as above.
            let stamp = self.slot(head).stamp.load(Ordering::Relaxed);
            return usize::from(stamp == head | FILLED);
        }
        ahead(self.tail.load(Ordering::Relaxed), head)
    }

    /// Whether there is no item, as a hint.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Whether a stamp is of an earlier lap than a position: the slot's last user has not finished with it, as far as this thread sees.
#[inline]
fn is_before(stamp: usize, position: usize) -> bool {
    stamp.wrapping_sub(position) > usize::MAX / 2
}

/// How many positions the tail is ahead of the head. This thread may see an old tail: none then.
#[inline]
fn ahead(tail: usize, head: usize) -> usize {
    let words = (tail & !CLOSED).wrapping_sub(head);
    if words > usize::MAX / 2 {
        0
    } else {
        words / STEP
    }
}

/// Waits for one store of another thread, which is in the middle of a push or a pop.
#[cold]
fn wait_until(mut done: impl FnMut() -> bool) {
    for _ in 0..SPINS {
        if done() {
            return;
        }
        spin_loop();
    }
    while !done() {
        yield_now();
    }
}
