//! A thief's side of a ring: claim, copy, release.

use terrace_sync::atomic::Ordering;
use terrace_sync::{ordering, weakened};

use super::body::Ring;
use super::head::Head;
use super::owner::Owner;

/// Positions `first..first + count` of a ring, claimed by this thief and not yet released.
struct Claim {
    first: u32,
    count: u32,
}

impl<T> Ring<T> {
    /// Steals half of the items, rounded up: returns the oldest and puts the others into `dst`, as far as it
    /// has room. `None` if there is nothing, another thief is at work, or `dst` is this ring's own.
    ///
    /// Two compare-exchanges, more only if the owner interferes; one store into `dst`.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::OwnedRing;
    ///
    /// let (mut mine, mut other) = (OwnedRing::new(), OwnedRing::new());
    /// for n in 0..5 {
    ///     mine.owner().push(n).unwrap();
    /// }
    /// let thief = other.owner();
    /// // Three of five: one to run at once, two in the thief's ring.
    /// assert_eq!(mine.share().steal_into(&thief), Some(0));
    /// assert_eq!((thief.pop(), thief.pop(), thief.pop()), (Some(1), Some(2), None));
    /// ```
    pub fn steal_into(&self, dst: &Owner<'_, T>) -> Option<T> {
        if core::ptr::eq(self, dst.ring()) {
            return None;
        }
        let mut batch = dst.batch();
        batch.prepare(|| self.len() > 1);
        let room = batch.room();
        let claim = self.claim(|length| {
            let half = length - length / 2;
            half.min(u32::try_from(room).unwrap_or(u32::MAX).saturating_add(1))
        })?;
        // SAFETY: the claim covers at least its first position; each is read once, before the release.
        let first = unsafe { self.read(claim.first) };
        for offset in 1..claim.count {
            // SAFETY: `offset` is below the claim's count; each position is read once, before the release.
            let item = unsafe { self.read(claim.first.wrapping_add(offset)) };
            batch.push(item);
        }
        self.release();
        batch.publish();
        Some(first)
    }

    /// Steals the oldest item. `None` if there is nothing or another thief is at work.
    ///
    /// Two compare-exchanges, more only if the owner interferes.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut ring = terrace_queue::OwnedRing::new();
    /// let victim = ring.share();
    /// assert_eq!(victim.steal_one(), None);
    /// ring.owner().push(1).unwrap();
    /// ring.owner().push(2).unwrap();
    /// assert_eq!(victim.steal_one(), Some(1));
    /// ```
    pub fn steal_one(&self) -> Option<T> {
        let claim = self.claim(|_| 1)?;
        // SAFETY: the claim covers its first position, which is read once, before the release.
        let item = unsafe { self.read(claim.first) };
        self.release();
        Some(item)
    }

    /// Claims as many positions as `share` makes of the length, which is at least one.
    fn claim(&self, share: impl Fn(u32) -> u32) -> Option<Claim> {
        // Ordering: Acquire pairs with the Release by which the owner, or a thief, moved `real` here. The tail
        // loaded next is no older than the one it saw, so `tail - real` is not negative.
        let mut head = Head::unpack(
            self.head
                .load(ordering!("queue-claim-head-relaxed", Acquire)),
        );
        loop {
            if head.stealing() && !weakened!("queue-two-thieves") {
                return None;
            }
            // Ordering: Acquire pairs with the Release store in `publish`: the slots below are written.
            let tail = self
                .tail
                .load(ordering!("queue-claim-tail-relaxed", Acquire));
            // The tail may be newer than the head, and this length too large; then the exchange fails.
            let length = tail.wrapping_sub(head.real);
            if length == 0 {
                return None;
            }
            let count = share(length);
            let (old, new) = (head.pack(), head.claim(count).pack());
            // Ordering: Relaxed on success. The slots were acquired with the tail, and stay valid since the head did
            // not move. Other threads act on a claim only by keeping off. Acquire on failure pairs with the same
            // Release as the first load of the head.
            let claimed = if weakened!("queue-claim-unchecked") {
                self.head.store(new, Ordering::Release);
                Ok(old)
            } else {
                let failure = ordering!("queue-claim-head-relaxed", Acquire);
                self.head
                    .compare_exchange(old, new, Ordering::Relaxed, failure)
            };
            match claimed {
                Ok(_) => {
                    return Some(Claim {
                        first: head.real,
                        count,
                    });
                }
                Err(found) => head = Head::unpack(found),
            }
        }
    }

    /// Ends the claim of this thief: its slots are the owner's again.
    fn release(&self) {
        let release = ordering!("queue-release-relaxed", Release);
        // Ordering: Relaxed, only checked by the exchange. Release there pairs with the Acquire load in the
        // owner's `batch`: the slots are written again only after they were read here. The owner's own exchanges
        // between claim and release do not break that: read-modify-writes continue a release sequence.
        let mut word = self.head.load(Ordering::Relaxed);
        loop {
            let released = Head::unpack(word).release().pack();
            let done = if weakened!("queue-release-unchecked") {
                self.head.store(released, release);
                Ok(word)
            } else {
                self.head
                    .compare_exchange(word, released, release, Ordering::Relaxed)
            };
            match done {
                Ok(_) => return,
                Err(found) => word = found,
            }
        }
    }
}
