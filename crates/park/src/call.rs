//! Who of the drivers answers for what is published: so that a burst does not call a herd of them.
//!
//! | bits   | meaning                                                                                   |
//! |--------|-------------------------------------------------------------------------------------------|
//! | 0..16  | drivers that search inside a poll: they are back soon, and look then                        |
//! | 16..64 | publishes that count on a driver's look since the last one that was announced               |
//!
//! Publishes are counted where a driver is asleep. The first of them notifies it, unless one searches; who finds nobody left to
//! notify withdraws. So while the count is not 0 and nobody searches, somebody was notified, or is about to be.
//!
//! Every change is a read-modify-write of this one word, so all of them have an order. Who counts on a look does so by a
//! change that comes before the one by which the driver announces it, and is acquired by it: the look sees the item.

use terrace_sync::atomic::{AtomicU64, Ordering};
use terrace_sync::ordering;

/// One publish.
const PUBLISH: u64 = 1 << 16;
/// Publishes after which a driver is notified at the latest, however many have not answered.
const FAR: u64 = 64;
/// One driver that searches.
const SEARCH: u64 = 1;
const SEARCHING: u64 = PUBLISH - 1;

/// The word.
pub(crate) struct Call(AtomicU64);

/// A driver that searches.
pub(crate) struct Searching<'c>(&'c Call);

impl Call {
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Counts a publish. None if a driver will look that has not yet; else somebody has to be notified, and whether it is
    /// the first to be: others count on it.
    ///
    /// A driver may be left unpolled though it was notified: so another one is whenever the number of publishes reaches a
    /// power of two, or a multiple of [`FAR`].
    #[inline]
    pub(crate) fn count(&self) -> Option<bool> {
        // Ordering: Release, for the item. Acquire, whoever withdraws looks again for those before it.
        let before = self.0.fetch_add(PUBLISH, Ordering::AcqRel);
        if before & SEARCHING != 0 {
            return None;
        }
        let publishes = before / PUBLISH + 1;
        let another = publishes.is_power_of_two() || publishes % FAR == 0;
        another.then_some(publishes == 1)
    }

    /// For the first publish since an answer, which found nobody to notify; true if others have counted on it.
    #[cold]
    pub(crate) fn withdraw(&self) -> bool {
        if cfg!(terrace_weaken = "park-driver-withdraw") {
            return false;
        }
        // Ordering: AcqRel, see `count`.
        let before = self.0.fetch_and(SEARCHING, Ordering::AcqRel);
        before / PUBLISH > 1
    }

    /// For a driver that was notified, before it looks.
    pub(crate) fn answer(&self) {
        // Ordering: AcqRel, see the module.
        self.0
            .fetch_and(SEARCHING, ordering!("park-driver-answer-acquire", AcqRel));
    }

    /// A search, unless `limit` drivers search.
    pub(crate) fn try_search(&self, limit: u32) -> Option<Searching<'_>> {
        // Ordering: Relaxed, it promises what is published later.
        let before = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |word| {
                (word & SEARCHING < u64::from(limit).min(SEARCHING)).then_some(word + SEARCH)
            });
        before.ok().map(|_| Searching(self))
    }
}

impl Drop for Searching<'_> {
    fn drop(&mut self) {
        let next = |word: u64| {
            let word = word - SEARCH;
            // The last one answers for all who counted on any: nobody was notified for them.
            let last = word & SEARCHING == 0 && !cfg!(terrace_weaken = "park-driver-search-over");
            Some(if last { 0 } else { word })
        };
        // Ordering: AcqRel, see the module.
        let order = ordering!("park-driver-search-acquire", AcqRel);
        let updated = self.0.0.fetch_update(order, Ordering::Relaxed, next);
        updated.expect("the update is unconditional");
    }
}
