//! The call word: it tells which driver answers for a publish, so that a burst does not wake a herd of drivers.
//!
//! | bits   | meaning                                                                                   |
//! |--------|-------------------------------------------------------------------------------------------|
//! | 0..16  | drivers that search inside a poll: they are back soon, and look then                        |
//! | 16..64 | publishes that count on a driver's look since the last one that was announced               |
//!
//! A publisher counts itself where a driver is asleep. The first publisher notifies a driver, unless one searches. If it finds
//! no driver left to notify, it withdraws. So while the count is not 0 and no driver searches, a publisher has notified a
//! driver or is about to.
//!
//! Every change is a read-modify-write of this one word, so all of them have an order. A publisher that relies on a driver
//! changes the word before the driver announces its look by another change. That one acquires the first: the look sees the
//! item.

use terrace_sync::atomic::{AtomicU64, Ordering};
use terrace_sync::{ordering, weakened};

/// One publish.
const PUBLISH: u64 = 1 << 16;
/// Publishes after which a driver is notified at the latest, however many have not answered.
const FAR: u64 = 64;
/// One driver that searches.
const SEARCH: u64 = 1;
const SEARCHING: u64 = PUBLISH - 1;

/// The word.
pub(crate) struct Call(AtomicU64);

/// What a publisher that has counted itself has to do.
#[must_use = "a publisher that is to notify a driver does so"]
pub(crate) enum Counted {
    /// Rely on a driver that has not looked yet, and will.
    Rely,
    /// Notify a driver. This publisher is the first since an answer: others rely on the driver that it notifies.
    NotifyFirst,
    /// Notify another driver: those notified before have not answered.
    NotifyAnother,
}

/// A driver that searches.
pub(crate) struct Searching<'c>(&'c Call);

impl Call {
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Counts a publish.
    ///
    /// A driver may be left unpolled though it was notified. So another one is notified whenever the number of publishes
    /// reaches a power of two, or a multiple of [`FAR`].
    #[inline]
    pub(crate) fn count(&self) -> Counted {
        // Ordering: The Release publishes the item to the driver's `answer`. The Acquire is for a publisher that
        // withdraws: it looks again on behalf of earlier publishers.
        let before = self.0.fetch_add(PUBLISH, Ordering::AcqRel);
        if before & SEARCHING != 0 {
            return Counted::Rely;
        }
        match before / PUBLISH + 1 {
            1 => Counted::NotifyFirst,
            n if n.is_power_of_two() || n % FAR == 0 => Counted::NotifyAnother,
            _ => Counted::Rely,
        }
    }

    /// The first publisher since an answer calls this if it found no driver to notify. Returns whether other publishers relied on it.
    #[cold]
    #[must_use = "a publisher that others relied on calls again for them"]
    pub(crate) fn withdraw(&self) -> bool {
        if weakened!("park-driver-withdraw") {
            return false;
        }
        // Ordering: AcqRel. The Acquire pairs with the Release of other publishers' `count`: the
        // caller looks again for their items.
        let before = self.0.fetch_and(SEARCHING, Ordering::AcqRel);
        before / PUBLISH > 1
    }

    /// A driver that was notified calls this before it looks.
    pub(crate) fn answer(&self) {
        // Ordering: AcqRel. The Acquire pairs with the Release in `count`, so the driver's look
        // sees the item; the Release chains the changes.
        self.0
            .fetch_and(SEARCHING, ordering!("park-driver-answer-acquire", AcqRel));
    }

    /// A search, unless `limit` drivers search.
    pub(crate) fn try_search(&self, limit: u32) -> Option<Searching<'_>> {
        // Ordering: Relaxed, a search promises a look at later publishes only.
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
            // The last one answers for all publishers that relied on any: they have notified no driver.
            let last = word & SEARCHING == 0 && !weakened!("park-driver-search-over");
            Some(if last { 0 } else { word })
        };
        // Ordering: AcqRel. The Acquire pairs with the Release in `count`, so the driver's look
        // sees the item; the Release chains the changes.
        let order = ordering!("park-driver-search-acquire", AcqRel);
        let updated = self.0.0.fetch_update(order, Ordering::Relaxed, next);
        updated.expect("the update is unconditional");
    }
}
