//! How long an item takes, for each kind of work: whether an input is worth a second thread.
//!
//! The kind of work is the type of what a consumer does, closures of adapters included: so it tells call-sites apart. A kind that is
//! not known yet counts as long: coarse work is parallel at once.

use std::fmt;
use std::time::Duration;

use terrace_executor::scope::type_hash;
use terrace_sync::OnceLock;
use terrace_sync::atomic::{AtomicU64, Ordering};
use terrace_sync::time::Instant;

/// Kinds that a pool remembers, at most.
const KINDS: usize = 512;
/// A kind has its entry in one of so many places. Where others have all of them, it takes the first, and that kind is forgotten.
const PLACES: usize = 4;
/// Shorter inputs are not timed: two readings of a clock would be a twentieth of them.
const UNTIMED: Duration = Duration::from_micros(2);
/// One of so many inputs that are too short to be timed is timed all the same: a power of two.
const SAMPLED: u64 = 64;
/// Fewer items are looked at in parts: each may be a whole piece of work, and of a length of its own.
const FEW: u64 = 64;
/// A shorter reading says more of the clock than of the items: it counts as this one, and as an upper bound.
const READABLE: Duration = Duration::from_nanos(250);
/// An input of this length is offered to other threads. The layer below decides whether it is worth a wake, too.
pub(super) const SHARED: Duration = Duration::from_micros(10);
/// Parts of a nanosecond in which the time of an item is kept.
const FINE: u64 = 256;
const RUN: u64 = 1 << 32;
/// The longest time of an item that is told apart: 16 ms.
const MOST: u32 = u32::MAX - 1;

/// What is known of kinds of work.
///
/// | bits of an entry | content |
/// |---|---|
/// | 31..0 | what an item takes, in 256ths of a nanosecond, and 1; 0 if the kind is unknown |
/// | 47..32 | inputs |
/// | 63..48 | which of the kinds that may be here; 0 if none is |
///
/// Made at the first input: most pools have none.
#[derive(Default)]
pub(super) struct Kinds(OnceLock<Box<[AtomicU64; KINDS]>>);

impl fmt::Debug for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ordering: Relaxed, a statistic.
        let known = |word: &&AtomicU64| word.load(Ordering::Relaxed) != 0;
        let words = self.0.get().into_iter().flat_map(|words| words.iter());
        let known = words.filter(known).count();
        f.debug_struct("Kinds")
            .field("known", &known)
            .finish_non_exhaustive()
    }
}

/// The entry of a kind.
pub(super) struct Entry<'k> {
    word: &'k AtomicU64,
    tag: u64,
}

/// What to do with an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    /// The caller works on it, and reads no clock.
    Tiny,
    /// The caller works on it, and reads a clock.
    Short,
    /// A few items that were short. The caller works on a part of them, and looks again.
    Few,
    /// Threads share it.
    Long,
}

/// What items took.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Took {
    pub(super) items: u64,
    pub(super) nanos: u64,
}

impl Took {
    pub(super) fn new(items: u64, time: Duration) -> Self {
        Self {
            items,
            nanos: nanos(time),
        }
    }

    /// What an item took; at least a 256th of a nanosecond, so that no number of items is for nothing.
    fn mean(self) -> Pace {
        let fine = self.nanos.max(nanos(READABLE)).saturating_mul(FINE);
        let mean = fine.checked_div(self.items).unwrap_or(0);
        Pace(u32::try_from(mean).map_or(MOST, |mean| mean.clamp(1, MOST)))
    }
}

/// What an item takes, in 256ths of a nanosecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pace(u32);

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Pace {
    /// Whether so many items take this time and more.
    #[inline]
    fn takes(self, items: u64, time: Duration) -> bool {
        items.saturating_mul(self.0.into()) >= nanos(time) * FINE
    }

    /// How many items take as long; at least one.
    pub(super) fn items_in(self, time: Duration) -> u64 {
        (nanos(time) * FINE / u64::from(self.0.max(1))).max(1)
    }

    /// How many times so many items take this time; at least one.
    pub(super) fn times(self, items: u64, time: Duration) -> u64 {
        (items.saturating_mul(self.0.into()) / (nanos(time) * FINE)).max(1)
    }

    /// What is known after a reading: a mean that rises faster than it falls. A reading that is too short never raises it.
    pub(super) fn after(before: Option<Self>, took: Took) -> Self {
        Self::mixed(before, took.mean(), took.nanos < nanos(READABLE))
    }

    /// As [`after`](Self::after) a reading of `now`, or one of `now` at most.
    fn mixed(before: Option<Self>, now: Self, is_bound: bool) -> Self {
        match before {
            None => now,
            Some(before) if now > before && is_bound => before,
            Some(before) if now > before => Self(before.0 + (now.0 - before.0) / 2),
            Some(before) => Self(before.0 - (before.0 - now.0).div_ceil(8)),
        }
    }
}

impl Kinds {
    #[inline]
    fn words(&self) -> &[AtomicU64; KINDS] {
        self.0
            .get_or_init(|| Box::new(std::array::from_fn(|_| AtomicU64::new(0))))
    }

    /// The entry of work of type `W`, by whatever lifetimes.
    #[inline]
    pub(super) fn entry<W>(&self) -> Entry<'_> {
        let hash = type_hash::<W>();
        // Never the tag of an empty entry.
        let (first, tag) = (hash as usize % KINDS, hash >> 48 | 1);
        let entry = Entry {
            word: &self.words()[first],
            tag,
        };
        if entry.is_free() {
            return entry;
        }
        self.elsewhere(first, tag).unwrap_or(entry)
    }

    /// The entry of a kind whose first place another kind has.
    #[cold]
    fn elsewhere(&self, first: usize, tag: u64) -> Option<Entry<'_>> {
        let places = (1..PLACES).map(|further| Entry {
            word: &self.words()[(first + further) % KINDS],
            tag,
        });
        places.into_iter().find(Entry::is_free)
    }
}

impl Entry<'_> {
    /// Whether no other kind has it.
    #[inline]
    fn is_free(&self) -> bool {
        // Ordering: Relaxed here and below: hints. Of two updates at once one may be lost.
        let held = self.word.load(Ordering::Relaxed) >> 48;
        held == self.tag || held == 0
    }

    #[inline]
    fn pace_of(&self, word: u64) -> Option<Pace> {
        let known = word >> 48 == self.tag;
        (word as u32).checked_sub(1).filter(|_| known).map(Pace)
    }

    /// What an item takes, if the kind is known.
    pub(super) fn pace(&self) -> Option<Pace> {
        self.pace_of(self.word.load(Ordering::Relaxed))
    }

    /// An input of so many items.
    #[inline]
    pub(super) fn visit(&self, items: u64) -> Length {
        let word = self.word.load(Ordering::Relaxed);
        let Some(pace) = self.pace_of(word) else {
            return Length::Long;
        };
        if items < FEW || pace.takes(items, UNTIMED) {
            return self.length(items);
        }
        // The count wraps within its bits.
        let count = (word & 0xFFFF << 32).wrapping_add(RUN) & 0xFFFF << 32;
        let next = word & !(0xFFFF << 32) | count;
        self.word.store(next, Ordering::Relaxed);
        match count / RUN % SAMPLED {
            0 => Length::Short,
            _ => Length::Tiny,
        }
    }

    /// Items that may be timed.
    pub(super) fn length(&self, items: u64) -> Length {
        match self.pace() {
            Some(pace) if pace.takes(items, SHARED) => Length::Long,
            Some(_) if items < FEW => Length::Few,
            Some(_) => Length::Short,
            None => Length::Long,
        }
    }

    /// So many items of this kind have taken from then until now: as [`note`](Self::note).
    #[inline(never)]
    pub(super) fn note_since(&self, since: Instant, items: u64, is_early: bool) {
        self.note(Took::new(items, since.elapsed()), is_early);
    }

    /// Items of this kind took so long; those of a search that has ended early at most, as it may have seen only a few.
    pub(super) fn note(&self, mut took: Took, is_early: bool) {
        if took.items == 0 {
            return;
        }
        let word = self.word.load(Ordering::Relaxed);
        let before = self.pace_of(word);
        let Pace(pace) = if is_early {
            took.items = took.items.min(FEW);
            Pace::mixed(before, took.mean(), true)
        } else {
            Pace::after(before, took)
        };
        let next = self.tag << 48 | word & 0xFFFF << 32 | u64::from(pace + 1);
        self.word.store(next, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn took(items: u64, nanos: u64) -> Took {
        Took { items, nanos }
    }

    #[test]
    fn an_unknown_kind_is_long_and_a_tiny_one_is_sampled() {
        let kinds = Kinds::default();
        let entry = kinds.entry::<u8>();
        assert_eq!(entry.visit(1), Length::Long);
        entry.note(took(10_000, 3_000), false);
        let timed = (0..640).filter(|_| entry.visit(100) != Length::Tiny);
        assert_eq!(timed.count(), 10, "each 64th");
        assert_eq!(entry.visit(FEW - 1), Length::Few);
        assert_eq!(entry.visit(10_000), Length::Short);
        assert_eq!(entry.visit(100_000), Length::Long);
        assert_eq!(entry.visit(u64::MAX), Length::Long);
    }

    #[test]
    fn inputs_are_counted_without_end() {
        let kinds = Kinds::default();
        let entry = kinds.entry::<u8>();
        entry.note(took(1_000, 300), false);
        let pace = entry.pace();
        for _ in 0..70_000 {
            entry.visit(100);
        }
        assert_eq!(entry.pace(), pace, "the count stays in its bits");
    }

    #[test]
    fn the_mean_rises_fast_and_falls_slowly() {
        let mean = |nanos: u64| Pace((nanos * FINE) as u32);
        assert_eq!(Pace::after(None, took(10, 4_000)), mean(400));
        assert_eq!(Pace::after(Some(mean(40)), took(100, 8_000)), mean(60));
        assert_eq!(Pace::after(Some(mean(40)), took(100, 800)), mean(36));
        // A tiny input between long ones leaves them long.
        let long = Pace::after(None, took(100, 10_000_000));
        let after = (0..8).fold(long, |pace, _| Pace::after(Some(pace), took(100, 30)));
        assert!(after.takes(100, SHARED));
        let most = Pace::after(None, took(1, u64::MAX));
        assert!(most.takes(1, Duration::from_millis(16)));
        assert_eq!(most.items_in(Duration::ZERO), 1);
        assert_eq!(mean(10).items_in(Duration::from_micros(4)), 400);
        assert_eq!(mean(10).times(4_000, Duration::from_micros(10)), 4);
    }

    #[test]
    fn a_reading_of_nothing_is_the_shortest_that_counts_and_never_raises() {
        let nothing = Pace::after(None, took(100, 0));
        assert_eq!(nothing, Pace((250 * FINE / 100) as u32));
        assert_eq!(Pace::after(Some(nothing), took(1, 0)), nothing);
        let least = Pace::after(None, took(u64::MAX, 0));
        assert_eq!(least, Pace(1));
        assert!(least.takes(10_000_000, SHARED), "many items are never tiny");
        let falls = (0..200).fold(nothing, |pace, _| {
            Pace::after(Some(pace), took(10_000, 1_000))
        });
        assert_eq!(falls, Pace((FINE / 10) as u32), "to the end");
    }

    #[test]
    fn a_search_that_ends_early_never_raises_the_number() {
        let kinds = Kinds::default();
        let entry = kinds.entry::<u8>();
        entry.note(took(1 << 40, 640), true);
        assert_eq!(entry.pace(), Some(Pace(10 * FINE as u32)), "as of a few");
        entry.note(took(1 << 40, 6_400), true);
        assert_eq!(entry.pace(), Some(Pace(10 * FINE as u32)));
        assert_eq!(entry.visit(100_000), Length::Long);
    }

    #[test]
    fn kinds_that_want_one_place_are_told_apart() {
        let kinds = Kinds::default();
        let place = |tag| {
            let entry = Entry {
                word: &kinds.words()[KINDS - 1],
                tag,
            };
            match entry.is_free() {
                true => entry,
                false => kinds.elsewhere(KINDS - 1, tag).unwrap_or(entry),
            }
        };
        for tag in 1..=PLACES as u64 {
            assert_eq!(place(tag).visit(100), Length::Long, "unknown");
            place(tag).note(took(1, 1_000 * tag), false);
        }
        for tag in 1..=PLACES as u64 {
            assert_eq!(place(tag).pace(), Some(Pace((1_000 * tag * FINE) as u32)));
        }
        let one_more = PLACES as u64 + 1;
        assert_eq!(place(one_more).pace(), None);
        place(one_more).note(took(1, 770), false);
        assert_eq!(place(one_more).pace(), Some(Pace((770 * FINE) as u32)));
        assert_eq!(place(1).pace(), None, "it is forgotten");
    }
}
