//! All async drivers of one `Idle`: futures that run a core's work while they are polled, and sleep as wakers.
//!
//! A driver can be left unpolled or forgotten at any time, so it never owns a token and is never counted live.
//!
//! | state    | bit | cell  | leaves it by                                                                  |
//! |----------|-----|-------|-------------------------------------------------------------------------------|
//! | awake    | 0   | empty | `Driver::sleep` → asleep; drop → gone                                          |
//! | asleep   | 1   | waker | a publisher → notified; `Driver::wake` → awake; drop → gone                    |
//! | notified | 0   | empty | `Driver::wake` → awake, and is told so; drop → gone, and publishes             |
//!
//! While one driver is notified publishers notify few others: `call.rs`. Of the drivers asleep, the one that fell asleep last is notified.
//! Where waits are nested on one thread, it is the innermost one, and no other can be polled.
//!
//! Bit and cell change together, under the cell's lock. Publishers look at the bits without it.

use std::ptr;
use std::task::Waker;

use terrace_sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use terrace_sync::{CachePadded, Mutex, weakened};

use crate::call::{Call, Counted, Searching, Withdrawn};
use crate::contain::{Ended, contain, discard};
use crate::outcome::Wake;
use crate::word::bits_of_64;

/// Drivers that share one pair of masks.
const CHUNK: usize = if cfg!(terrace_loom) { 2 } else { 16 };

/// All drivers of one `Idle`: chunks in a list that only grows.
pub(crate) struct Drivers {
    first: AtomicPtr<Chunk>,
    /// Whether `W` is set in every group's word.
    announced: AtomicBool,
    call: CachePadded<Call>,
    /// How often drivers have fallen asleep.
    sleeps: CachePadded<AtomicU64>,
}

/// Places for [`CHUNK`] drivers.
pub(crate) struct Chunk {
    /// One bit a driver that is asleep.
    asleep: CachePadded<AtomicU64>,
    /// One bit a place that is taken.
    taken: AtomicU64,
    /// For each place, the number of its driver's last sleep among the sleeps of all.
    slept: [AtomicU64; CHUNK],
    /// The wakers of the drivers asleep. No user code runs under the locks: wakers are moved in and out.
    cells: [Mutex<Option<Waker>>; CHUNK],
    next: AtomicPtr<Chunk>,
}

impl Chunk {
    fn new() -> Self {
        Self {
            asleep: CachePadded::new(AtomicU64::new(0)),
            taken: AtomicU64::new(0),
            slept: std::array::from_fn(|_| AtomicU64::new(0)),
            cells: std::array::from_fn(|_| Mutex::new(None)),
            next: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Takes the lowest free place.
    fn take_place(&self) -> Option<u32> {
        let mut taken = self.taken.load(Ordering::Relaxed);
        loop {
            let bit = taken.trailing_ones();
            if bit as usize >= CHUNK {
                return None;
            }
            // Ordering: Acquire pairs with the Release by which the place was given back.
            match self.taken.compare_exchange(
                taken,
                taken | 1 << bit,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(bit),
                Err(now) => taken = now,
            }
        }
    }

    /// Gives a place back.
    pub(crate) fn give_back_place(&self, bit: u32) {
        // Ordering: Release pairs with the Acquire of the driver that takes the place next.
        self.taken.fetch_and(!(1 << bit), Ordering::Release);
    }

    /// Sets the bit of a driver and puts its waker into the cell. Returns the waker that was there. `sleep` is the number of this sleep.
    fn put_to_sleep(&self, bit: u32, waker: Waker, sleep: u64) -> Option<Waker> {
        let mut cell = self.cells[bit as usize].lock();
        let old = cell.replace(waker);
        // Ordering: Relaxed, an order in which to notify.
        self.slept[bit as usize].store(sleep, Ordering::Relaxed);
        // Ordering: Relaxed, bits change under the lock of their cell; publishers and sleepers meet by fences.
        self.asleep.fetch_or(1 << bit, Ordering::Relaxed);
        old
    }

    /// Clears the bit of a driver; its waker, if the bit was set.
    pub(crate) fn claim(&self, bit: u32) -> Option<Waker> {
        let mut cell = self.cells[bit as usize].lock();
        // Ordering: Relaxed, bits change under the lock of their cell; publishers and sleepers meet by fences.
        self.asleep.fetch_and(!(1 << bit), Ordering::Relaxed);
        // Empty, if the bit was not set.
        cell.take()
    }
}

impl Drivers {
    pub(crate) fn new() -> Self {
        Self {
            first: AtomicPtr::new(ptr::null_mut()),
            announced: AtomicBool::new(false),
            call: CachePadded::new(Call::new()),
            sleeps: CachePadded::new(AtomicU64::new(0)),
        }
    }

    /// Puts a driver to sleep. Returns the waker that its cell had.
    pub(crate) fn put_to_sleep(&self, chunk: &Chunk, bit: u32, waker: Waker) -> Option<Waker> {
        // Ordering: Relaxed, an order in which to notify.
        let sleep = self.sleeps.fetch_add(1, Ordering::Relaxed);
        chunk.put_to_sleep(bit, waker, sleep)
    }

    /// The chunks there are, oldest first.
    #[inline]
    fn chunks(&self) -> impl Iterator<Item = &Chunk> {
        std::iter::successors(follow(&self.first), |chunk| follow(&chunk.next))
    }

    /// Whether any driver is asleep. Exact after a fence.
    #[inline]
    pub(crate) fn any_asleep(&self) -> bool {
        self.chunks()
            .any(|chunk| chunk.asleep.load(Ordering::Relaxed) != 0)
    }

    /// Calls `widen` unless `W` is set in every group's word already.
    pub(crate) fn announce(&self, widen: impl FnOnce()) {
        // Ordering: Acquire pairs with the Release below.
        if !self.announced.load(Ordering::Acquire) {
            widen();
            // Ordering: Release, a driver that sees the flag sees the words.
            self.announced.store(true, Ordering::Release);
        }
    }

    /// A search of one driver, unless half of all drivers search. Publishers rely on it until it is dropped.
    pub(crate) fn try_search(&self) -> Option<Searching<'_>> {
        self.call.try_search(self.count().0 / 2)
    }

    /// A driver that was notified calls this before it looks.
    pub(crate) fn answer(&self) {
        self.call.answer();
    }

    /// The number of drivers, and of those asleep: a hint.
    pub(crate) fn count(&self) -> (u32, u32) {
        self.chunks().fold((0, 0), |(taken, asleep), chunk| {
            (
                taken + chunk.taken.load(Ordering::Relaxed).count_ones(),
                asleep + chunk.asleep.load(Ordering::Relaxed).count_ones(),
            )
        })
    }

    /// Makes a driver look. The publisher has fenced. It wakes a sleeping driver, unless an earlier one has not
    /// answered yet and this publish is not one that wakes another.
    #[inline]
    pub(crate) fn notify(&self) -> Wake {
        if weakened!("park-driver-notify") {
            return Wake::NoneParked;
        }
        loop {
            if !self.any_asleep() {
                return Wake::NoneParked;
            }
            let counted = self.call.count();
            if let Counted::Rely = counted {
                return Wake::Covered;
            }
            while let Some(waker) = self.claim_last() {
                // A waker's panic does not reach the publisher, which goes on with another driver.
                if contain(|| waker.wake()) == Ended::Returned {
                    return Wake::Driver;
                }
            }
            // The drivers seen asleep have got up by themselves. But other publishers may rely on this notification.
            match counted {
                Counted::NotifyFirst => match self.call.withdraw() {
                    Withdrawn::WithOthers => {}
                    Withdrawn::Alone => return Wake::NoneParked,
                },
                Counted::NotifyAnother | Counted::Rely => return Wake::NoneParked,
            }
        }
    }

    /// The waker of the driver that fell asleep last.
    fn claim_last(&self) -> Option<Waker> {
        loop {
            let places = self.chunks().flat_map(|chunk| {
                // Ordering: Relaxed, after the caller's fence.
                let asleep = bits_of_64(chunk.asleep.load(Ordering::Relaxed));
                asleep.map(move |bit| (chunk, bit))
            });
            let slept = |(chunk, bit): &(&Chunk, u32)| {
                // Ordering: Relaxed, an order in which to notify.
                chunk.slept[*bit as usize].load(Ordering::Relaxed)
            };
            let (chunk, bit) = places.max_by_key(slept)?;
            // If it has got up by itself, the next one is asked.
            if let Some(waker) = chunk.claim(bit) {
                return Some(waker);
            }
        }
    }

    /// Takes a place for a new driver.
    pub(crate) fn enter(&self) -> (&Chunk, u32) {
        let mut link = &self.first;
        loop {
            let chunk = follow(link).unwrap_or_else(|| append(link));
            if let Some(bit) = chunk.take_place() {
                return (chunk, bit);
            }
            link = &chunk.next;
        }
    }
}

impl Drop for Drivers {
    fn drop(&mut self) {
        // Ordering: Relaxed, `&mut self` excludes all other threads.
        let mut next = self.first.load(Ordering::Relaxed);
        while !next.is_null() {
            // SAFETY: the pointer came from `Box::into_raw` in `append`, and no borrow of a chunk outlives the list.
            let chunk = unsafe { Box::from_raw(next) };
            next = chunk.next.load(Ordering::Relaxed);
            // Wakers of drivers that were forgotten. A cell without a bit is empty, and is not locked.
            // Ordering: Relaxed, `&mut self` excludes all other threads.
            for bit in bits_of_64(chunk.asleep.load(Ordering::Relaxed)) {
                discard(chunk.claim(bit));
            }
        }
    }
}

fn follow(link: &AtomicPtr<Chunk>) -> Option<&Chunk> {
    // Ordering: Acquire pairs with the Release in `append`.
    let chunk = link.load(Ordering::Acquire);
    // SAFETY: `append` put it there initialised, threads only share it, and the drop of the list frees it.
    unsafe { chunk.as_ref() }
}

/// Hangs a new chunk behind `link`, unless another thread was faster.
fn append(link: &AtomicPtr<Chunk>) -> &Chunk {
    let new = Box::into_raw(Box::new(Chunk::new()));
    // Ordering: Release pairs with the Acquire in `follow`; Acquire on failure with the Release of the faster thread.
    match link.compare_exchange(ptr::null_mut(), new, Ordering::Release, Ordering::Acquire) {
        // SAFETY: the exchange put it into the list, where it stays until the list is dropped.
        Ok(_) => unsafe { &*new },
        Err(faster) => {
            // SAFETY: it came from `Box::into_raw` above, and the failed exchange has shown it to no other thread.
            drop(unsafe { Box::from_raw(new) });
            // SAFETY: it is in the list, where it stays until the list is dropped.
            unsafe { &*faster }
        }
    }
}

impl std::fmt::Debug for Chunk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let asleep = self.asleep.load(Ordering::Relaxed);
        f.debug_struct("Chunk")
            .field("asleep", &format_args!("{asleep:b}"))
            .finish()
    }
}
