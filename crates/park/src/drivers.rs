//! Async drivers: futures that run a core's work while they are polled, and sleep as wakers.
//!
//! A driver can be left unpolled or forgotten at any time, so it never owns a token and is never counted live.
//!
//! | state    | bit | cell  | leaves it by                                                                  |
//! |----------|-----|-------|-------------------------------------------------------------------------------|
//! | awake    | 0   | empty | [`Driver::sleep`] → asleep; drop → gone                                        |
//! | asleep   | 1   | waker | a publisher → notified; [`Driver::wake`] → awake; drop → gone                  |
//! | notified | 0   | empty | [`Driver::wake`] → awake, and is told so; drop → gone, and publishes           |
//!
//! While one is notified few others are: `call.rs`.
//!
//! Bit and cell change together, under the cell's lock. Publishers look at the bits without it.

use std::ptr;
use std::task::Waker;

use terrace_sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use terrace_sync::{CachePadded, Mutex, heavy};

use crate::Wake;
use crate::call::Call;
use crate::idle::Idle;
use crate::word::{WIDE, bits_of_64};

/// Drivers that share one pair of masks.
const CHUNK: usize = if cfg!(terrace_loom) { 2 } else { 64 };

/// All drivers of one `Idle`: chunks in a list that only grows.
pub(crate) struct Drivers {
    first: AtomicPtr<Chunk>,
    /// Whether every group's word has the bit that tells of drivers.
    announced: AtomicBool,
    call: CachePadded<Call>,
}

/// Places for [`CHUNK`] drivers.
pub(crate) struct Chunk {
    /// One bit a driver that is asleep.
    asleep: CachePadded<AtomicU64>,
    /// One bit a place that is taken.
    taken: AtomicU64,
    /// The wakers of those asleep. No user code runs under the locks: wakers are moved in and out.
    cells: [Mutex<Option<Waker>>; CHUNK],
    next: AtomicPtr<Chunk>,
}

impl Chunk {
    fn new() -> Self {
        Self {
            asleep: CachePadded::new(AtomicU64::new(0)),
            taken: AtomicU64::new(0),
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

    /// Clears the bit of a driver; its waker, if the bit was set.
    fn claim(&self, bit: u32) -> Option<Waker> {
        let mut cell = self.cells[bit as usize].lock();
        // Ordering: Relaxed, bits change under the lock of their cell; publishers and sleepers meet by fences.
        let before = self.asleep.fetch_and(!(1 << bit), Ordering::Relaxed);
        if before & (1 << bit) == 0 {
            return None;
        }
        cell.take()
    }
}

impl Drivers {
    pub(crate) fn new() -> Self {
        Self {
            first: AtomicPtr::new(ptr::null_mut()),
            announced: AtomicBool::new(false),
            call: CachePadded::new(Call::new()),
        }
    }

    /// The chunks there are, oldest first.
    #[inline]
    fn chunks(&self) -> impl Iterator<Item = &Chunk> {
        // Ordering: Acquire pairs with the Release by which a chunk was hung into the list.
        std::iter::successors(follow(&self.first), |chunk| follow(&chunk.next))
    }

    /// Whether any driver is asleep. Exact after a fence.
    #[inline]
    pub(crate) fn any_asleep(&self) -> bool {
        self.chunks()
            .any(|chunk| chunk.asleep.load(Ordering::Relaxed) != 0)
    }

    /// Whether no driver ever slept.
    #[inline]
    pub(crate) fn were_none(&self) -> bool {
        // Ordering: Relaxed, after the caller's fence, and not followed.
        self.first.load(Ordering::Relaxed).is_null()
    }

    /// Drivers there are, and those asleep: a hint.
    fn count(&self) -> (u32, u32) {
        self.chunks().fold((0, 0), |(taken, asleep), chunk| {
            (
                taken + chunk.taken.load(Ordering::Relaxed).count_ones(),
                asleep + chunk.asleep.load(Ordering::Relaxed).count_ones(),
            )
        })
    }

    /// Has a driver look, after the publisher's fence: wakes one that is asleep, unless an earlier one has yet to answer
    /// and this publish is none of those that wake another meanwhile.
    #[inline]
    pub(crate) fn notify(&self) -> Wake {
        if cfg!(terrace_weaken = "park-driver-notify") {
            return Wake::NoneParked;
        }
        loop {
            if !self.any_asleep() {
                return Wake::NoneParked;
            }
            let Some(first) = self.call.count() else {
                return Wake::Covered;
            };
            if let Some(waker) = self.claim_any() {
                waker.wake();
                return Wake::Driver;
            }
            // Those seen asleep have got up by themselves. But others may have counted on this notification.
            if !first || !self.call.withdraw() {
                return Wake::NoneParked;
            }
        }
    }

    /// The waker of one driver that was asleep.
    fn claim_any(&self) -> Option<Waker> {
        self.chunks().find_map(|chunk| {
            // Ordering: Relaxed, after the caller's fence.
            let asleep = chunk.asleep.load(Ordering::Relaxed);
            bits_of_64(asleep).find_map(|bit| chunk.claim(bit))
        })
    }

    fn enter(&self) -> (&Chunk, u32) {
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
        // Ordering: Relaxed, `&mut self` excludes everybody else.
        let mut next = self.first.load(Ordering::Relaxed);
        while !next.is_null() {
            // SAFETY: the pointer came from `Box::into_raw` in `append`, and nobody borrows from a list being dropped.
            let chunk = unsafe { Box::from_raw(next) };
            next = chunk.next.load(Ordering::Relaxed);
        }
    }
}

fn follow(link: &AtomicPtr<Chunk>) -> Option<&Chunk> {
    // Ordering: Acquire pairs with the Release in `append`.
    let chunk = link.load(Ordering::Acquire);
    // SAFETY: a chunk in the list is initialised, only shared, and freed with the whole list.
    unsafe { chunk.as_ref() }
}

/// Hangs a new chunk behind `link`, unless somebody was faster.
fn append(link: &AtomicPtr<Chunk>) -> &Chunk {
    let new = Box::into_raw(Box::new(Chunk::new()));
    // Ordering: Release pairs with the Acquire in `follow`; Acquire on failure with that of the faster one.
    match link.compare_exchange(ptr::null_mut(), new, Ordering::Release, Ordering::Acquire) {
        // SAFETY: now in the list, see `follow`.
        Ok(_) => unsafe { &*new },
        Err(faster) => {
            // SAFETY: it came from `Box::into_raw` above and nobody else has seen it.
            drop(unsafe { Box::from_raw(new) });
            // SAFETY: in the list, see `follow`.
            unsafe { &*faster }
        }
    }
}

/// One async driver's place. Made awake; belongs to the future that drives.
///
/// Forgetting it leaks its place, and may cost one notification: a driver that was notified and is neither polled nor
/// dropped delays what it was notified of until the next publish. Where several are, another driver is notified when the
/// publishes since one last looked reach a power of two, or a multiple of 64.
#[derive(Debug)]
pub struct Driver<'i> {
    idle: &'i Idle,
    chunk: &'i Chunk,
    bit: u32,
    /// Whether `sleep` was called since the last `wake`.
    slept: bool,
}

impl std::fmt::Debug for Chunk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let asleep = self.asleep.load(Ordering::Relaxed);
        f.debug_struct("Chunk")
            .field("asleep", &format_args!("{asleep:b}"))
            .finish()
    }
}

impl Idle {
    /// A place for an async driver: a future that takes any work of this `Idle` while it is polled.
    ///
    /// Cost: one compare-and-swap; the first one allocates, and adds one read-modify-write a group.
    pub fn driver(&self) -> Driver<'_> {
        // The bit has to be in the words before the driver can sleep: whoever gives up the last token without seeing it
        // did so before the driver's fence, and leaves what was published until then to the driver's own look.
        // Ordering: Acquire pairs with the Release below.
        if !self.drivers.announced.load(Ordering::Acquire) {
            self.widen();
            // Ordering: Release, who sees the flag sees the words.
            self.drivers.announced.store(true, Ordering::Release);
        }
        let (chunk, bit) = self.drivers.enter();
        Driver {
            idle: self,
            chunk,
            bit,
            slept: false,
        }
    }

    /// Tells every group that somebody outside its word may sleep.
    pub(crate) fn widen(&self) {
        for group in self.groups() {
            // Ordering: AcqRel as for every change of the word.
            unless_weakened!("park-wide", group.set(WIDE, Ordering::AcqRel));
        }
    }

    /// The number of async drivers, and of those asleep: a hint.
    pub fn driver_count(&self) -> (usize, usize) {
        let (all, asleep) = self.drivers.count();
        (all as usize, asleep as usize)
    }
}

impl Driver<'_> {
    /// Announces sleep: publishers may call `waker` from now on. Ends with a heavy fence; the caller then looks at
    /// everything it could be woken for once more, and calls [`wake`](Self::wake) if there is anything.
    ///
    /// Cost: one lock, one read-modify-write, one heavy fence, a clone of the waker.
    pub fn sleep(&mut self, waker: &Waker) {
        let waker = waker.clone();
        let mut cell = self.chunk.cells[self.bit as usize].lock();
        let old = cell.replace(waker);
        // Ordering: Relaxed, as in `claim`; the fence orders it before the caller's look.
        self.chunk.asleep.fetch_or(1 << self.bit, Ordering::Relaxed);
        drop(cell);
        drop(old);
        self.slept = true;
        // Fence pair: `light` in publish: either it sees our bit, or we see its item.
        unless_weakened!("park-driver-fence", heavy());
    }

    /// Calls `look`, which asks again and again for a short time whether anything is there; until it returns no publish
    /// notifies a driver. It must not run code of others, which might not come back. At most half of the drivers search at
    /// once, those counted that are not polled any more; so one alone never does: nobody would be spared.
    ///
    /// True if it was called: the driver then owes a look at everything, and a publish if it leaves something behind.
    ///
    /// Cost: two read-modify-writes beside what `look` does.
    pub fn search(&self, look: impl FnOnce()) -> bool {
        let drivers = &self.idle.drivers;
        let Some(searching) = drivers.call.try_search(drivers.count().0 / 2) else {
            return false;
        };
        look();
        drop(searching);
        true
    }

    /// Ends the sleep; true if a publisher had notified this driver meanwhile: it then owes a look at everything, and a
    /// publish if it leaves something behind. To be called whenever the driver is polled.
    ///
    /// Cost: nothing if it did not sleep; else one lock and one read-modify-write.
    pub fn wake(&mut self) -> bool {
        if !self.slept {
            return false;
        }
        self.slept = false;
        // The waker is dropped here, with the cell's lock released.
        let notified = self.chunk.claim(self.bit).is_none();
        if notified {
            unless_weakened!("park-driver-answer", self.idle.drivers.call.answer());
        }
        notified
    }
}

impl Drop for Driver<'_> {
    fn drop(&mut self) {
        let notified = self.wake();
        // Ordering: Release pairs with the Acquire of whoever takes the place next.
        self.chunk
            .taken
            .fetch_and(!(1 << self.bit), Ordering::Release);
        if notified && !cfg!(terrace_weaken = "park-driver-pass-on") {
            self.idle.publish(u32::MAX);
        }
    }
}
