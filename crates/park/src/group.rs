//! Groups: up to 24 workers that share one word.

use terrace_sync::CachePadded;
use terrace_sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use crate::seat::Seat;
use crate::word::{self, Word};

/// Workers that fit in one internal group, that is in one word.
pub const GROUP_CAPACITY: usize = 24;

/// A set of workers that serve the same lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupConfig {
    /// Places for workers, spares included. More than [`GROUP_CAPACITY`] are split evenly over
    /// several internal groups.
    pub workers: usize,
    /// The lanes these workers take work from, one bit a lane.
    pub lanes: u32,
}

/// One internal group.
pub(crate) struct Group {
    /// `P`, `R` and `S`; see [`Word`].
    word: CachePadded<AtomicU64>,
    /// One bit a live worker. Changes only when workers come and go.
    pub(crate) live: AtomicU32,
    /// The lanes this group serves.
    pub(crate) lanes: u32,
    /// The number of the first worker.
    pub(crate) base: usize,
    /// One seat a worker.
    pub(crate) seats: Box<[Seat]>,
    /// The next of the groups that were added later.
    pub(crate) next: AtomicPtr<Group>,
}

impl Group {
    pub(crate) fn new(base: usize, len: usize, lanes: u32, wide: bool) -> Self {
        debug_assert!((1..=GROUP_CAPACITY).contains(&len));
        Self {
            word: CachePadded::new(AtomicU64::new(if wide { word::WIDE } else { 0 })),
            live: AtomicU32::new(0),
            lanes,
            base,
            seats: (0..len).map(|_| Seat::new()).collect(),
            next: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// The internal groups for `configs`, in worker order.
    pub(crate) fn split(configs: &[GroupConfig]) -> Vec<Self> {
        let parts = |config: &GroupConfig| config.workers.div_ceil(GROUP_CAPACITY);
        let wide = configs.iter().map(parts).sum::<usize>() > 1;
        let mut groups = Vec::new();
        let mut base = 0;
        for config in configs {
            let parts = parts(config);
            for part in 0..parts {
                let len = config.workers / parts + usize::from(part < config.workers % parts);
                groups.push(Self::new(base, len, config.lanes, wide));
                base += len;
            }
        }
        groups
    }

    #[inline]
    pub(crate) fn load(&self, ordering: Ordering) -> Word {
        Word::from_bits(self.word.load(ordering))
    }

    /// Adds `delta` (a sum of [`word::parked_bit`], [`word::restricted_bit`] and [`word::TOKEN`],
    /// wrapping) and returns the word after it.
    pub(crate) fn add(&self, delta: u64, ordering: Ordering) -> Word {
        let before = self.word.fetch_add(delta, ordering);
        Word::from_bits(before.wrapping_add(delta))
    }

    /// Sets the bits of `mask`.
    pub(crate) fn set(&self, mask: u64, ordering: Ordering) {
        self.word.fetch_or(mask, ordering);
    }

    /// Clears the `R` bit of `bit`; whether it was set.
    pub(crate) fn clear_restricted(&self, bit: u32, ordering: Ordering) -> bool {
        let mask = word::restricted_bit(bit);
        self.word.fetch_and(!mask, ordering) & mask != 0
    }

    /// One compare-and-swap from `old` to `new`; on failure the word that was there.
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

    /// How many tokens [`Idle::try_search`](crate::Idle::try_search) lets exist: half of the live
    /// workers, rounded up.
    pub(crate) fn search_limit(&self) -> u32 {
        // Ordering: a hint.
        self.live.load(Ordering::Relaxed).count_ones().div_ceil(2)
    }

    /// Unparks every worker in `mask`.
    pub(crate) fn unpark(&self, mask: u32) {
        for bit in word::bits_of(mask) {
            self.seats[bit as usize].unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(configs: &[GroupConfig]) -> Vec<(usize, usize, u32)> {
        Group::split(configs)
            .iter()
            .map(|group| (group.base, group.seats.len(), group.lanes))
            .collect()
    }

    #[test]
    fn large_groups_are_split_evenly() {
        let workers = |workers| GroupConfig { workers, lanes: 1 };
        assert_eq!(shape(&[workers(0)]), []);
        assert_eq!(shape(&[workers(24)]), [(0, 24, 1)]);
        assert_eq!(shape(&[workers(25)]), [(0, 13, 1), (13, 12, 1)]);
        assert_eq!(
            shape(&[workers(65)]),
            [(0, 22, 1), (22, 22, 1), (44, 21, 1)]
        );
        let mixed = [
            workers(3),
            GroupConfig {
                workers: 2,
                lanes: 6,
            },
        ];
        assert_eq!(shape(&mixed), [(0, 3, 1), (3, 2, 6)]);
    }
}
