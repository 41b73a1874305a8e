//! Helpers that the models share: items that account for themselves.
//!
//! A model is an ordinary test in `tests/<layer>_<what>.rs`, whose body runs in [`terrace_sync::model`]. Under `--cfg
//! terrace_loom` that is in every interleaving, on `std` as a small stress test. One model states one invariant, with
//! at most three threads and four items, at least one of them spawned. `mutants.toml` names, for each deliberately
//! weakened line of the layers (`TERRACE_WEAKEN=<name>`), a model that must fail with it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Counts, for each of a few ids, how often its [`Item`] was dropped.
///
/// Deliberately not modelled: it observes the model and must not order anything in it.
#[derive(Clone, Debug)]
pub struct Ledger(Arc<[AtomicU32]>);

impl Ledger {
    /// A ledger for the ids `0..ids`.
    pub fn new(ids: usize) -> Self {
        Self((0..ids).map(|_| AtomicU32::new(0)).collect())
    }

    /// The item with this id, to be made once.
    pub fn item(&self, id: usize) -> Item {
        Item {
            id,
            ledger: self.clone(),
        }
    }

    /// Asserts that each item was dropped exactly once.
    ///
    /// # Panics
    /// If one was not.
    pub fn assert_all_dropped_once(&self) {
        for (id, drops) in self.0.iter().enumerate() {
            assert_eq!(drops.load(Ordering::Relaxed), 1, "drops of item {id}");
        }
    }
}

/// A value that notes its drop in a [`Ledger`].
#[derive(Debug)]
pub struct Item {
    id: usize,
    ledger: Ledger,
}

impl Item {
    /// The id it was made with.
    pub fn id(&self) -> usize {
        self.id
    }
}

impl Drop for Item {
    fn drop(&mut self) {
        self.ledger.0[self.id].fetch_add(1, Ordering::Relaxed);
    }
}

/// Asserts that `taken` holds each number of `0..count` exactly once, in any order.
///
/// # Panics
/// If a number is missing, comes twice or does not belong.
pub fn assert_each_once(taken: impl IntoIterator<Item = u32>, count: u32) {
    let mut taken: Vec<u32> = taken.into_iter().collect();
    taken.sort_unstable();
    assert!(
        taken.iter().copied().eq(0..count),
        "taken {taken:?}, pushed 0..{count}"
    );
}
