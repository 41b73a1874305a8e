//! A group: up to [`GROUP_CAPACITY`] workers that share one word.

use terrace_sync::atomic::{AtomicU32, AtomicU64, Ordering};
use terrace_sync::{CachePadded, OnceLock};

use crate::seat::Seat;
use crate::word::{self, GROUP_CAPACITY, Word};

/// One group.
pub(crate) struct Group {
    /// `P`, `R` and `S`; see [`Word`].
    word: CachePadded<AtomicU64>,
    /// One bit a live worker. Changes only when workers come and go.
    live: AtomicU32,
    /// The number of the first worker.
    pub(crate) base: usize,
    /// One bit a held place whose holder sleeps in a wait.
    waiting_holders: AtomicU32,
    /// One seat a worker.
    seats: [Seat; GROUP_CAPACITY],
    /// The next of the groups that were added later.
    pub(crate) next: OnceLock<Box<Group>>,
}

impl Group {
    /// The group with this number, in which no worker is live. The word has the bits of `word`.
    pub(crate) fn new(number: usize, word: u64) -> Self {
        Self {
            word: CachePadded::new(AtomicU64::new(word)),
            live: AtomicU32::new(0),
            waiting_holders: AtomicU32::new(0),
            base: number * GROUP_CAPACITY,
            seats: std::array::from_fn(|_| Seat::new()),
            next: OnceLock::new(),
        }
    }

    #[inline]
    #[cfg_attr(terrace_loom, track_caller)]
    pub(crate) fn load(&self, ordering: Ordering) -> Word {
        Word::from_bits(self.word.load(ordering))
    }

    /// Adds `delta` (a sum of [`word::parked_bit`], [`word::restricted_bit`] and [`word::TOKEN`],
    /// wrapping) and returns the word after it.
    #[cfg_attr(terrace_loom, track_caller)]
    pub(crate) fn add(&self, delta: u64, ordering: Ordering) -> Word {
        let before = self.word.fetch_add(delta, ordering);
        Word::from_bits(before.wrapping_add(delta))
    }

    /// Sets the bits of `mask`.
    #[cfg_attr(terrace_loom, track_caller)]
    pub(crate) fn set(&self, mask: u64, ordering: Ordering) {
        self.word.fetch_or(mask, ordering);
    }

    /// Clears the `R` bit of `bit`, set or not, and returns the word after it.
    #[cfg_attr(terrace_loom, track_caller)]
    pub(crate) fn clear_restricted(&self, bit: u32, ordering: Ordering) -> Word {
        let mask = !word::restricted_bit(bit);
        Word::from_bits(self.word.fetch_and(mask, ordering) & mask)
    }

    /// The holder of this place begins or ends a sleep.
    pub(crate) fn holder_waits(&self, bit: u32, sleeps: bool) {
        // Ordering: Relaxed. A holder that begins fences after it, and readers have fenced.
        if sleeps {
            self.waiting_holders.fetch_or(1 << bit, Ordering::Relaxed);
        } else {
            self.waiting_holders
                .fetch_and(!(1 << bit), Ordering::Relaxed);
        }
    }

    /// The places whose threads wait for their own work only, by this word: restricted workers, and holders that sleep.
    pub(crate) fn waiting(&self, word: Word) -> u32 {
        word.restricted() | (word.held() & self.sleeping_holders())
    }

    /// The held places whose holders sleep. Valid after a fence.
    pub(crate) fn sleeping_holders(&self) -> u32 {
        // Ordering: Relaxed, after the caller's fence.
        self.waiting_holders.load(Ordering::Relaxed)
    }

    /// One compare-and-swap from `old` to `new`; on failure the word that was there.
    #[cfg_attr(terrace_loom, track_caller)]
    pub(crate) fn swap(
        &self,
        old: Word,
        new: Word,
        success: Ordering,
        failure: Ordering,
    ) -> Result<(), Word> {
        self.word
            .compare_exchange(old.bits(), new.bits(), success, failure)
            .map(drop)
            .map_err(Word::from_bits)
    }

    /// Swaps `old` for `next`, by which bits of sleepers are cleared.
    pub(crate) fn claim(&self, old: Word, next: Word) -> Result<(), Word> {
        // Ordering: the Release pairs with the Acquire load with which the sleeper sees its bit cleared. The Acquire
        // pairs with the Release with which the sleeper set it.
        self.swap(old, next, Ordering::AcqRel, Ordering::Relaxed)
    }

    /// Ends the wait at the lowest of the `allowed` places: of a restricted worker, or of a holder. Returns its number.
    pub(crate) fn end_one_wait(&self, allowed: u32) -> Option<usize> {
        let mut left = allowed;
        loop {
            let word = self.load(Ordering::Relaxed);
            let mask = word::lowest(self.waiting(word) & left, 1);
            if mask == 0 {
                return None;
            }
            let bit = mask.trailing_zeros();
            let worker = self.base + bit as usize;
            if word.restricted() & mask == 0 {
                if self.seat(bit).wake() {
                    return Some(worker);
                }
                // Another thread has woken it.
                left &= !mask;
            } else if self.claim(word, word.released(mask)).is_ok() {
                self.unpark(mask);
                return Some(worker);
            }
        }
    }

    /// Live workers, one bit each.
    #[inline]
    pub(crate) fn live(&self) -> u32 {
        // Ordering: Relaxed, a hint, or after the caller's fence.
        self.live.load(Ordering::Relaxed)
    }

    /// Counts the worker with this bit as live.
    pub(crate) fn adopt(&self, bit: u32) {
        // Ordering: AcqRel chains the occupants of a place; publishers read the mask after a fence.
        self.live.fetch_or(1 << bit, Ordering::AcqRel);
    }

    /// Takes `bit` off the live mask.
    pub(crate) fn retire(&self, bit: u32) {
        // Ordering: Relaxed. A place's thread sets this bit, and reads it as cleared before it goes on. Others only clear it.
        debug_assert!(
            !self.load(Ordering::Relaxed).is_restricted(bit),
            "a worker leaves that waits: the restricted workers would not all be live"
        );
        // Ordering: AcqRel chains the occupants of a place; the fence that follows orders it before the rescan.
        let before = self.live.fetch_and(!(1 << bit), Ordering::AcqRel);
        debug_assert!(before & (1 << bit) != 0, "a worker left that was not live");
    }

    /// How many tokens [`Idle::try_search`](crate::Idle::try_search) lets exist: half of the live
    /// workers, rounded up.
    pub(crate) fn search_limit(&self) -> u32 {
        self.live().count_ones().div_ceil(2)
    }

    /// See [`Seat::shares_processor`].
    #[inline]
    pub(crate) fn shares_processor(&self, bit: u32) -> bool {
        self.seats[bit as usize].shares_processor()
    }

    /// Makes the calling thread the one that [`unpark`](Self::unpark) wakes for this bit.
    pub(crate) fn bind(&self, bit: u32) {
        self.seats[bit as usize].bind();
    }

    /// The seat of this bit.
    pub(crate) fn seat(&self, bit: u32) -> &Seat {
        &self.seats[bit as usize]
    }

    /// Unparks the workers in `mask`, whose bits the caller has cleared. Every wake of a worker passes here.
    pub(crate) fn unpark(&self, mask: u32) {
        for bit in word::bits_of(mask) {
            terrace_trace::wake(self.base + bit as usize);
            self.seats[bit as usize].unpark();
        }
    }
}
