//! Counting what happened to values that were made.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts its tickets: made and dropped.
///
/// Deliberately not modelled: it observes the model and must not order anything in it.
#[derive(Clone, Debug, Default)]
pub struct Tally(Arc<[AtomicUsize; 2]>);

impl Tally {
    /// Nothing counted yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A ticket, which a counted value carries.
    #[must_use]
    pub fn ticket(&self) -> Ticket {
        self.0[0].fetch_add(1, Ordering::Relaxed);
        Ticket(self.clone())
    }

    /// Asserts that `made` tickets were made, and that each was dropped.
    ///
    /// # Panics
    /// If not.
    pub fn assert_all_dropped(&self, made: usize) {
        let [counted, dropped] = [0, 1].map(|i: usize| self.0[i].load(Ordering::Relaxed));
        assert_eq!(
            (counted, dropped),
            (made, made),
            "tickets made and tickets dropped"
        );
    }
}

/// Notes its drop in a [`Tally`].
#[derive(Debug)]
pub struct Ticket(Tally);

impl Drop for Ticket {
    fn drop(&mut self) {
        self.0.0[1].fetch_add(1, Ordering::Relaxed);
    }
}
