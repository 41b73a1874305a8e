//! The table of slots: what a thread sees of a slot that another one has opened.

use terrace_queue::SlotTable;
use terrace_sync::cell::UnsafeCell;
use terrace_sync::{Arc, model, thread};

/// A slot that is written as it is made.
struct Slot(UnsafeCell<u32>);

// SAFETY: one thread at a time holds a slot and writes it. The models check that.
unsafe impl Send for Slot {}
// SAFETY: as for `Send`.
unsafe impl Sync for Slot {}

impl Default for Slot {
    fn default() -> Self {
        let slot = Self(UnsafeCell::new(0));
        slot.add();
        slot
    }
}

impl Slot {
    fn add(&self) {
        self.0.with_mut(|cell| {
            // SAFETY: this thread holds the slot.
            unsafe { *cell += 1 }
        });
    }

    fn read(&self) -> u32 {
        self.0.with(|cell| {
            // SAFETY: no thread writes the slot any more.
            unsafe { *cell }
        })
    }
}

/// A thread looks into the table while another one opens the first slot: it sees no slot, or a whole one.
///
/// Seen to fail with a chunk that is published by a relaxed store (`queue-slot-table-relaxed`).
#[test]
fn slot_table_shows_whole_slots() {
    model(|| {
        let table = Arc::new(SlotTable::<Slot, 1>::default());
        let opener = {
            let table = Arc::clone(&table);
            thread::spawn(move || table.acquire())
        };
        assert!(table.scan().all(|slot| slot.read() == 1));
        assert!(table.get(0).is_none_or(|slot| slot.read() == 1));
        assert_eq!(opener.join().unwrap(), 0);
    });
}
