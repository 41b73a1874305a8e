//! A ring of records that one thread writes and any thread reads. The README has the steps of both.

use std::boxed::Box;
use std::vec::Vec;

use terrace_sync::atomic::{AtomicU64, Ordering, fence};
use terrace_sync::{CachePadded, weakened};

/// Two words of 64 bits.
pub type Record = [u64; 2];

/// One of the places of a ring.
#[repr(align(16))]
struct Place([AtomicU64; 2]);

/// The last records of one thread.
pub struct Ring {
    /// As many as a power of two.
    places: Box<[Place]>,
    /// How many records there have been.
    head: CachePadded<AtomicU64>,
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ring").finish_non_exhaustive()
    }
}

impl Ring {
    /// An empty ring with room for `records`, at least one, rounded up to a power of two.
    #[must_use = "a ring is empty until records are written"]
    pub fn new(records: usize) -> Self {
        let places = 0..records.next_power_of_two();
        let place = |_| Place([AtomicU64::new(0), AtomicU64::new(0)]);
        Self {
            places: places.map(place).collect(),
            head: CachePadded::new(AtomicU64::new(0)),
        }
    }

    /// How many records there have been.
    #[must_use = "the call only reads a value"]
    pub fn head(&self) -> u64 {
        // Ordering: Relaxed, for the owner itself, or under the lock through which rings change hands.
        self.head.load(Ordering::Relaxed)
    }

    /// How many of them it keeps.
    #[must_use = "the call only reads a value"]
    pub fn size(&self) -> u64 {
        self.places.len() as u64
    }

    /// Adds a record, in the place of the oldest one. The owner alone calls this: records of two threads at once would be mixed.
    #[inline]
    pub fn push(&self, record: Record) {
        // Ordering: Relaxed, the owner's own store is the last one.
        let head = self.head.load(Ordering::Relaxed);
        // `places` is not empty, so the mask leaves an index that exists.
        let place = &self.places[head as usize & (self.places.len() - 1)];
        if !weakened!("trace-ring-fence") {
            // Ordering: Release pairs with the Acquire fence in `read`: a reader that has seen a word stored below also sees that
            // the head has come up to this record.
            fence(Ordering::Release);
        }
        let [first, second] = record;
        // Ordering: Relaxed; the head publishes both.
        place.0[0].store(first, Ordering::Relaxed);
        place.0[1].store(second, Ordering::Relaxed);
        // Ordering: Release pairs with the Acquire in `read`: the words are seen with the head.
        self.head.store(head + 1, Ordering::Release);
    }

    /// The records that the ring keeps, oldest first, and the number of the first one. From any thread, at any time. Leaves those
    /// out that the owner may have overwritten while the caller read them.
    #[must_use = "it is a copy for the caller to read"]
    pub fn read(&self) -> (u64, Vec<Record>) {
        // Ordering: Acquire pairs with the Release in `push`: the words of all records before the head are seen.
        let end = self.head.load(Ordering::Acquire);
        let begin = end.saturating_sub(self.size());
        let mut records: Vec<Record> = (begin..end)
            .map(|at| {
                let place = &self.places[at as usize & (self.places.len() - 1)];
                // Ordering: Relaxed; the fence below tells whether these words are of this record.
                [0, 1].map(|word: usize| place.0[word].load(Ordering::Relaxed))
            })
            .collect();
        if !weakened!("trace-ring-read-fence") {
            // Ordering: Acquire pairs with the Release fence in `push`.
            fence(Ordering::Acquire);
        }
        // Ordering: Relaxed; after the fence it is at least the number of any record of which a word was seen.
        let now = self.head.load(Ordering::Relaxed);
        // The owner may be writing record `now`, in the place of the one `size` before.
        let writing = u64::from(!weakened!("trace-ring-writing"));
        let kept = (now + writing).saturating_sub(self.size()).max(begin);
        records.drain(..(kept.min(end) - begin) as usize);
        (kept.min(end), records)
    }
}
