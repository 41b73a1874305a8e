//! How long the inline halves of a pool's joins take, for each call-site: whether a first push wakes a sleeper.
//!
//! A wake costs microseconds, and a join of two loads a nanosecond. The call-site tells them apart: the function that runs its
//! forked half. A site starts long, so coarse joins are parallel at once. While it is tiny, each 16th of its joins is timed.

use std::time::Duration;

use terrace_sync::atomic::{AtomicU64, Ordering};

use crate::tuned::{self, CALL, PERIOD, SAMPLED, TOLD_APART, WAKE};

/// The longest mean: four seconds.
const MOST: u32 = u32::MAX - 1;

/// What is known of the call-sites.
///
/// | bits of an entry | content |
/// |---|---|
/// | 31..0 | decaying mean in nanoseconds, and 1; 0 if the site is unknown |
/// | 63..32 | joins |
pub(crate) struct Sites([AtomicU64; TOLD_APART]);

/// How long the joins of a site are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// Too short to be handed to a thread that does not search.
    Tiny,
    /// Long enough for a thread that is awake.
    Fair,
    /// Worth the wake of a sleeper.
    Long,
}

/// What a first push does about its site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Visit {
    pub(crate) length: Length,
    /// Whether the join is to be timed.
    pub(crate) is_timed: bool,
}

impl Sites {
    pub(crate) fn new() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }

    fn entry(&self, site: usize) -> &AtomicU64 {
        // Functions are aligned, and near each other: the multiplier spreads the bits.
        let hash = (site >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as usize);
        &self.0[hash >> (usize::BITS - TOLD_APART.ilog2())]
    }

    /// A first push of `site`.
    pub(crate) fn visit(&self, site: usize) -> Visit {
        let entry = self.entry(site);
        // Ordering: Relaxed, all: hints. Of two updates at once one may be lost.
        let word = entry.load(Ordering::Relaxed);
        entry.store(word.wrapping_add(1 << 32), Ordering::Relaxed);
        let length = match mean(word) {
            Some(mean) if mean < tuned::nanos(CALL) => Length::Tiny,
            Some(mean) if mean < tuned::nanos(WAKE) => Length::Fair,
            _ => Length::Long,
        };
        Visit {
            length,
            is_timed: length != Length::Tiny || (word >> 32) % SAMPLED == 0,
        }
    }

    /// The inline half of a join of `site` took so long. The mean rises faster than it falls.
    pub(crate) fn note(&self, site: usize, took: Duration) {
        let entry = self.entry(site);
        let word = entry.load(Ordering::Relaxed);
        let took = u32::try_from(took.as_nanos()).map_or(MOST, |nanos| nanos.min(MOST));
        let new = match mean(word) {
            Some(mean) if took > mean => mean + (took - mean) / 2,
            Some(mean) => mean - (mean - took) / 8,
            None => took,
        };
        entry.store(word >> 32 << 32 | u64::from(new + 1), Ordering::Relaxed);
    }

    /// A job of `site` lay untaken for a whole period of a sentinel: its joiner was busy or blocked for as long.
    pub(crate) fn stood_still(&self, site: usize) {
        self.note(site, PERIOD);
    }
}

/// The mean of an entry, in nanoseconds.
fn mean(word: u64) -> Option<u32> {
    (word as u32).checked_sub(1)
}

#[cfg(all(test, not(terrace_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_site_starts_long_and_becomes_tiny() {
        let sites = Sites::new();
        let site = 0x1230;
        assert_eq!(
            sites.visit(site),
            Visit {
                length: Length::Long,
                is_timed: true
            }
        );
        sites.note(site, Duration::from_nanos(200));
        let timed = (0..64).filter(|_| sites.visit(site).is_timed).count();
        assert_eq!(timed, 4, "each 16th");
        assert_eq!(sites.visit(site).length, Length::Tiny);
    }

    #[test]
    fn a_tiny_site_whose_job_stood_still_is_long_again() {
        let sites = Sites::new();
        sites.note(16, Duration::ZERO);
        sites.stood_still(16);
        assert_eq!(sites.visit(16).length, Length::Long);
        sites.note(16, Duration::MAX);
        assert_eq!(sites.visit(16).length, Length::Long);
    }
}
