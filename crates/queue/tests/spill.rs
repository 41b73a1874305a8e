//! The receiver of an overflow is code outside the ring: it may use the ring that overflows, stop half-way, and panic.

#![cfg(not(any(terrace_loom, terrace_shuttle)))]

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use terrace_queue::{Overflow, Owner, Ring, Spill};

const CAPACITY: usize = Ring::<Item>::CAPACITY;

/// Counts how often the item with its number was dropped.
struct Item {
    number: usize,
    dropped: Rc<RefCell<Vec<u32>>>,
}

impl Drop for Item {
    fn drop(&mut self) {
        self.dropped.borrow_mut()[self.number] += 1;
    }
}

#[derive(Default)]
struct Ledger(Rc<RefCell<Vec<u32>>>);

impl Ledger {
    fn item(&self) -> Item {
        let number = self.0.borrow().len();
        self.0.borrow_mut().push(0);
        Item {
            number,
            dropped: Rc::clone(&self.0),
        }
    }

    fn fill(&self, ring: &Owner<'_, Item>) {
        while ring.ring().len() < CAPACITY {
            ring.push(self.item()).expect("there is room");
        }
    }

    fn every_item_was_dropped_once(&self) {
        let dropped = self.0.borrow();
        assert!(dropped.iter().all(|&times| times == 1), "{dropped:?}");
    }
}

/// Uses the ring that overflows for every item that it gets.
struct Pushes<'a> {
    ring: &'a Owner<'a, Item>,
    ledger: &'a Ledger,
    spilt: RefCell<Vec<Item>>,
    depth: Cell<u32>,
}

impl Spill<Item> for Pushes<'_> {
    fn spill(&self, items: impl Iterator<Item = Item>) {
        self.depth.set(self.depth.get() + 1);
        for item in items {
            self.spilt.borrow_mut().push(item);
            if let Err(Overflow(item)) = self.ring.push(self.ledger.item()) {
                self.spilt.borrow_mut().push(item);
            }
            if self.depth.get() < 3 {
                self.ring.push_or_overflow(self.ledger.item(), self);
            }
            if self.spilt.borrow().len() % 3 == 0 {
                drop(self.ring.pop());
            }
        }
    }
}

#[test]
fn it_may_push_and_pop_through_the_same_owner() {
    let ledger = Ledger::default();
    let ring = Ring::new();
    {
        // SAFETY: the one owner.
        let ring = unsafe { ring.owner() };
        let pushes = Pushes {
            ring: &ring,
            ledger: &ledger,
            spilt: RefCell::default(),
            depth: Cell::new(0),
        };
        ledger.fill(&ring);
        assert!(ring.push_or_overflow(ledger.item(), &pushes));
        assert!(pushes.depth.get() >= 3, "an overflow inside an overflow");
        let spilt = pushes.spilt.borrow();
        let first: Vec<_> = spilt.iter().take(1).map(|item| item.number).collect();
        assert_eq!(first, [0], "the oldest first");
    }
    drop(ring);
    ledger.every_item_was_dropped_once();
}

/// Takes so many items, pushes one, and panics if told to.
struct Takes<'a> {
    ring: &'a Owner<'a, Item>,
    ledger: &'a Ledger,
    take: usize,
    panics: bool,
}

impl Spill<Item> for Takes<'_> {
    fn spill(&self, items: impl Iterator<Item = Item>) {
        let taken: Vec<_> = items
            .take(self.take)
            .inspect(|_| assert!(self.ring.push(self.ledger.item()).is_ok()))
            .collect();
        assert_eq!(taken.len(), self.take);
        assert!(!self.panics, "as it was told");
    }
}

#[test]
fn what_it_does_not_take_is_dropped() {
    for (take, panics) in [
        (0, false),
        (0, true),
        (3, false),
        (3, true),
        (CAPACITY / 2, true),
    ] {
        let ledger = Ledger::default();
        let ring = Ring::new();
        {
            // SAFETY: the one owner.
            let ring = unsafe { ring.owner() };
            let takes = Takes {
                ring: &ring,
                ledger: &ledger,
                take,
                panics,
            };
            ledger.fill(&ring);
            let item = ledger.item();
            let overflow = AssertUnwindSafe(|| ring.push_or_overflow(item, &takes));
            assert_eq!(catch_unwind(overflow).is_err(), panics);
            let left = CAPACITY / 2 + take;
            assert_eq!(ring.ring().len(), left);
            assert_eq!(ring.pop().map(|item| item.number), Some(CAPACITY / 2));
        }
        drop(ring);
        ledger.every_item_was_dropped_once();
    }
}
