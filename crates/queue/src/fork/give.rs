//! The owner's side of gifts: give, and take back.

use terrace_sync::atomic::Ordering;
use terrace_sync::{ordering, weakened};

use super::consider::{Gives, Offer, Pace};
use super::gift::Gift;
use super::owner::Owner;
use super::top::Top;
use super::word::Word;

impl<T: Word> Owner<'_, T> {
    /// Gives the oldest job away, if `pace` says so. Returns whether it did so because a thief had asked.
    pub(super) fn give(&self, bottom: u32, pace: Pace) -> bool {
        if pace.offer != Offer::Open && pace.gives == Gives::Asked {
            return false;
        }
        let shared = &self.deque.shared;
        // Ordering: Acquire pairs with the Release of the last taker: this owner writes `gift_job` after it was read.
        let before = Gift::unpack(shared.gift.load(Ordering::Acquire));
        let is_asked = before == Gift::ASKED;
        let is_given = before.is_given() && !weakened!("queue-fork-give-over");
        if !is_asked && (is_given || pace.gives == Gives::Asked) {
            return false;
        }
        // Ordering: Relaxed. The exchange checks it, and this owner wrote the slot.
        let top = Top::unpack(self.deque.top.load(Ordering::Relaxed));
        let index = top.index();
        if index >= bottom {
            return false;
        }
        // Ordering: Relaxed, written by this owner.
        let job = self.deque.mine.slots[index as usize].load(Ordering::Relaxed);
        // Ordering: Relaxed, this owner's word.
        let root = shared.root.load(Ordering::Relaxed);
        let count = self.count_gift();
        let given = Gift::given(count, index).pack();
        let release = ordering!("queue-fork-give-relaxed", Release);
        // Ordering: Relaxed, published with the gift.
        let show = || {
            shared.gift_job.store(job, Ordering::Relaxed);
            let show_root = || shared.gift_root.store(root, Ordering::Relaxed);
            if !weakened!("queue-fork-root-late") {
                show_root();
            }
            // Ordering: Release pairs with the Acquire load in `take_gift`: the taker sees the job, and what it refers to.
            if is_asked {
                shared.gift.store(given, release);
            } else {
                // A request may come since the look: as a read-modify-write, this comes behind it, and answers it.
                shared.gift.swap(given, release);
            }
            if weakened!("queue-fork-root-late") {
                show_root();
            }
        };
        if weakened!("queue-fork-give-early") {
            show();
        }
        // Ordering: Relaxed. Thieves act on the index; they acquire slots with `bottom`.
        let moved = self.deque.top.compare_exchange(
            top.pack(),
            top.next().pack(),
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        // A thief was faster: the request stays for the next time.
        if moved.is_ok() && !weakened!("queue-fork-give-early") {
            show();
        }
        is_asked && moved.is_ok()
    }

    /// Takes back the job of `index` if it is given away and not taken.
    pub(super) fn take_back(&self, index: u32) -> bool {
        let gift = &self.deque.shared.gift;
        // Ordering: Relaxed, both: a gift is this owner's own store, and this owner acts on nothing that a taker wrote.
        let word = gift.load(Ordering::Relaxed);
        let none = Gift::NONE.pack();
        if weakened!("queue-fork-back-unchecked") && Gift::unpack(word).is_of(index) {
            gift.store(none, Ordering::Relaxed);
            return true;
        }
        Gift::unpack(word).is_of(index)
            && gift
                .compare_exchange(word, none, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    /// The number of the next gift.
    fn count_gift(&self) -> u64 {
        self.deque.shared.gifts.with_mut(|gifts| {
            // SAFETY: the owner's word; this is the only handle of the owner, and no other reference lives.
            let gifts = unsafe { &mut *gifts };
            if !weakened!("queue-fork-gift-uncounted") {
                *gifts = gifts.wrapping_add(1);
            }
            *gifts
        })
    }
}
