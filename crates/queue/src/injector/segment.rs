//! [`Segment`]: a ring of slots that can be closed.
//!
//! Positions count pushes and pops, in 64 bits, so that none comes back. The slot of a position is the position modulo the capacity. All
//! words hold *twice* a position, so that the lowest bit is free: in the tail it says that the segment is closed, in a stamp that the slot is filled.
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
use core::ptr::{self, NonNull};

use terrace_sync::atomic::{AtomicPtr, AtomicU64, Ordering};
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
const FILLED: u64 = 1;
/// The bit of the tail that says that the segment is closed.
const CLOSED: u64 = 1;
/// One position further.
const STEP: u64 = 2;

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
    /// No item yet: a pusher has claimed the first position and not filled it.
    Claimed,
    /// No item, and there will be none: all pushes go to a later segment.
    UsedUp,
}

struct Slot<T> {
    stamp: AtomicU64,
    item: UnsafeCell<MaybeUninit<T>>,
}

/// See the module.
// Not aligned to a cache line: an allocator takes longer for that, and distance is enough.
#[repr(C)]
pub(super) struct Segment<T> {
    /// Twice the position of the next pop.
    head: AtomicU64,
    _apart: [u8; APART],
    /// Twice the position of the next push, and [`CLOSED`].
    tail: AtomicU64,
    _apart_too: [u8; APART],
    /// The segment behind this one, which is closed if there is one.
    pub(super) next: AtomicPtr<Segment<T>>,
    /// The segment before this one in the chain.
    pub(super) before: *mut Segment<T>,
    slots: Box<[Slot<T>]>,
}

impl<T> Segment<T> {
    /// An empty segment.
    pub(super) fn new(capacity: usize, before: *mut Self) -> Box<Self> {
        debug_assert!(capacity.is_power_of_two() && capacity >= 2);
        let slot = |position| Slot {
            stamp: AtomicU64::new(position as u64 * STEP),
            item: UnsafeCell::new(MaybeUninit::uninit()),
        };
        Box::new(Self {
            head: AtomicU64::new(0),
            _apart: [0; APART],
            tail: AtomicU64::new(0),
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

    /// Appends an item; gives it back if the segment is closed, or full and now closed.
    #[inline]
    pub(super) fn push(&self, item: T) -> Result<(), T> {
        // Ordering: Relaxed. The stamp hands the slot over; an old tail only costs another round.
        let mut tail = self.tail.load(Ordering::Relaxed);
        let slots = &self.slots[..];
        loop {
            if tail & CLOSED != 0 {
                return Err(item);
            }
            let slot = slot_of(slots, tail);
            // Ordering: Acquire, pairs with the Release of the popper that has read the slot.
            let stamp = slot
                .stamp
                .load(ordering!("queue-store-room-relaxed", Acquire));
            if stamp == tail {
                match claim(
                    &self.tail,
                    tail,
                    tail.wrapping_add(STEP),
                    weakened!("queue-store-push-unchecked"),
                ) {
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

    /// The slot of the tail is in use, by its `stamp`: closes the segment if it is full, or else waits for the popper that is reading the
    /// slot. Returns the tail then.
    #[cold]
    fn make_room(&self, tail: u64, stamp: u64) -> u64 {
        let slot = slot_of(&self.slots, tail);
        let mut pause = Pause::new();
        let full = loop {
            // Ordering: Relaxed, here and below. In the end this thread sees the head of a full segment, or the stamp of the popper.
            if self.head.load(Ordering::Relaxed) == tail.wrapping_sub(lap(&self.slots)) {
                break true;
            }
            if slot.stamp.load(Ordering::Relaxed) != stamp {
                break false;
            }
            pause.wait();
        };
        if !full {
            return self.tail.load(Ordering::Relaxed);
        }
        if weakened!("queue-store-full-unclosed") {
            return tail | CLOSED;
        }
        let closed = claim(&self.tail, tail, tail | CLOSED, false);
        closed.err().unwrap_or(tail | CLOSED)
    }

    /// Takes the first item.
    #[inline]
    pub(super) fn pop(&self) -> Popped<T> {
        let slots = &self.slots[..];
        match self.claim_filled(slots, 1) {
            // SAFETY: this thread has claimed the position, and uses it once.
            Ok((position, _)) => Popped::Item(unsafe { take_out(slots, position) }),
            Err(none) => none,
        }
    }

    /// Takes the first items, up to `max`, and gives each to `take`, which does not panic. Returns how many. It waits for no pusher.
    #[inline]
    pub(super) fn pop_many(&self, max: usize, mut take: impl FnMut(T)) -> usize {
        let slots = &self.slots[..];
        let Ok((first, count)) = self.claim_filled(slots, max) else {
            return 0;
        };
        for nth in 0..count {
            // SAFETY: this thread has claimed so many positions, and uses each once.
            take(unsafe { take_out(slots, first.wrapping_add(nth as u64 * STEP)) });
        }
        count
    }

    /// Claims the positions of the first items, up to `max` and at least one: the first position, and how many.
    #[inline]
    fn claim_filled(&self, slots: &[Slot<T>], max: usize) -> Result<(u64, usize), Popped<T>> {
        // Ordering: Relaxed. The stamp hands the slot over; an old head only costs another round.
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            let at = |nth: usize| head.wrapping_add(nth as u64 * STEP);
            // Ordering: Acquire, pairs with the Release of the pusher that has filled the slot.
            let order = ordering!("queue-store-pop-relaxed", Acquire);
            let stamp_of = |position| slot_of(slots, position).stamp.load(order);
            let stamp = stamp_of(head);
            if stamp == head | FILLED {
                // A position that is a lap ahead has the stamp of the first one, so no slot counts twice.
                let is_filled = |nth: &usize| {
                    stamp_of(at(*nth)) == at(*nth) | FILLED || weakened!("queue-store-pop-unfilled")
                };
                let more = (1..max).take_while(is_filled);
                let count = 1 + more.count();
                let unchecked = weakened!("queue-store-pop-unchecked");
                match claim(&self.head, head, at(count), unchecked) {
                    Ok(()) => return Ok((head, count)),
                    Err(now) => head = now,
                }
                continue;
            }
            // There is no item, or a popper is still reading the slot's last one.
            if stamp == head || is_before(stamp, head) {
                // Ordering: Relaxed. A pusher that has returned happens before a pop that must see its item, and so does its move of
                // the tail. A closed tail is the last one.
                let tail = self.tail.load(Ordering::Relaxed);
                return Err(match ahead(tail, head) {
                    0 if tail & CLOSED == 0 => Popped::Empty,
                    0 => Popped::UsedUp,
                    _ => Popped::Claimed,
                });
            }
            // Another popper has used the position.
            head = self.head.load(Ordering::Relaxed);
        }
    }

    /// The segment behind this one.
    #[inline]
    pub(super) fn next(&self) -> Option<NonNull<Self>> {
        // Ordering: Acquire, pairs with the Release with which the segment was installed.
        NonNull::new(self.next.load(Ordering::Acquire))
    }

    /// The number of items, as a hint.
    #[inline]
    pub(super) fn len(&self) -> usize {
        // Ordering: Relaxed, both. An item whose push happens before this call, and that no popper has claimed, lies behind any head
        // and before the tail that this thread can read: its pusher had moved the tail before.
        let head = self.head.load(Ordering::Relaxed);
        if weakened!("queue-store-look-at-slot") {
            // Ordering: Relaxed, as above.
            let stamp = slot_of(&self.slots, head).stamp.load(Ordering::Relaxed);
            return usize::from(stamp == head | FILLED);
        }
        let ahead = ahead(self.tail.load(Ordering::Relaxed), head);
        // The two loads are not one: between them others may have pushed and popped any number.
        usize::try_from(ahead).map_or(self.capacity(), |ahead| ahead.min(self.capacity()))
    }

    /// Whether there is no item, as a hint.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The slot of a position, by its word. An operation looks the slots up once: after an access to a word the compiler would look again.
#[inline]
fn slot_of<T>(slots: &[Slot<T>], word: u64) -> &Slot<T> {
    debug_assert!(slots.len().is_power_of_two());
    // The mask takes the low bits, so a cast that cuts the high ones off does no harm.
    let index = (word / STEP) as usize & (slots.len() - 1);
    // SAFETY: all callers pass the slots of a segment. Their number is a power of two (`Segment::new`), so the mask leaves an index below it.
    unsafe { slots.get_unchecked(index) }
}

/// What a position is ahead of the position that used its slot before.
#[inline]
fn lap<T>(slots: &[Slot<T>]) -> u64 {
    slots.len() as u64 * STEP
}

/// Takes the item of a position, and frees its slot.
///
/// # Safety
/// This thread has claimed the position in the segment of these slots. It saw the slot filled, and calls this once for the position.
#[inline]
unsafe fn take_out<T>(slots: &[Slot<T>], position: u64) -> T {
    let slot = slot_of(slots, position);
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
    slot.stamp.store(position.wrapping_add(lap(slots)), release);
    item
}

/// Moves a head or tail, unless another thread has moved it: then returns where it is. A mutant moves it `unchecked`.
#[inline]
fn claim(word: &AtomicU64, from: u64, to: u64, unchecked: bool) -> Result<(), u64> {
    // Ordering: Relaxed, all of them. The stamps hand the slots over.
    if unchecked {
        word.store(to, Ordering::Relaxed);
        return Ok(());
    }
    let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
    let moved = word.compare_exchange_weak(from, to, success, failure);
    moved.map(drop)
}

/// Whether a stamp is of an earlier lap than a position: the slot's last user has not finished with it, as far as this thread sees.
#[inline]
fn is_before(stamp: u64, position: u64) -> bool {
    stamp.wrapping_sub(position) > u64::MAX / 2
}

/// How many positions the tail is ahead of the head. This thread may see an old tail: none then.
#[inline]
fn ahead(tail: u64, head: u64) -> u64 {
    let words = (tail & !CLOSED).wrapping_sub(head);
    if words > u64::MAX / 2 {
        0
    } else {
        words / STEP
    }
}

/// Waits for one store of another thread, which is in the middle of a push or a pop.
pub(super) struct Pause {
    looks: u32,
}

impl Pause {
    #[inline]
    pub(super) fn new() -> Self {
        Self { looks: 0 }
    }

    /// Waits a little; at first without giving the processor away.
    #[cold]
    pub(super) fn wait(&mut self) {
        if self.looks < SPINS {
            self.looks += 1;
            spin_loop();
        } else {
            yield_now();
        }
    }
}
