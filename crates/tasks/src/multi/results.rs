//! The results of a scope's tasks, in the order in which the tasks were spawned.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use terrace_executor::drop_payload;
use terrace_queue::Injector;
use terrace_sync::atomic::{AtomicUsize, Ordering};

/// The results of tasks that are numbered as they are spawned, from any thread.
pub(super) struct Results<T> {
    spawned: AtomicUsize,
    /// Those of the tasks that have ended, with their numbers. Stays empty for the unit type.
    stored: Injector<(usize, T)>,
    is_unit: bool,
}

impl<T: 'static> Results<T> {
    /// No results, and no tasks. Allocates nothing.
    pub(super) fn new() -> Self {
        Self {
            spawned: AtomicUsize::new(0),
            stored: Injector::new(),
            is_unit: unit_vec::<T>(0).is_some(),
        }
    }

    /// The results of all tasks, in spawn order.
    ///
    /// # Panics
    /// If a task has not [stored](Self::store) its result.
    pub(super) fn take(self) -> Vec<T> {
        // Ordering: Relaxed; every task has ended, and the scope's end has ordered that before this.
        let spawned = self.spawned.load(Ordering::Relaxed);
        if let Some(units) = unit_vec(spawned) {
            return units;
        }
        let mut results: Vec<_> = (0..spawned).map(|_| None).collect();
        while let Some((number, result)) = self.stored.pop() {
            results[number] = Some(result);
        }
        let results = results.into_iter();
        results
            .map(|result| result.expect("a task of a scope that has ended left no result"))
            .collect()
    }
}

impl<T> Results<T> {
    /// Drops the results of a scope that failed one by one. The panics of their destructors must not meet each other, nor
    /// the scope's.
    pub(super) fn discard(self) {
        while let Some(result) = self.stored.pop() {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(result))) {
                drop_payload(payload);
            }
        }
    }

    /// Numbers one more task.
    pub(super) fn number(&self) -> usize {
        // Ordering: Relaxed, a mere counter.
        self.spawned.fetch_add(1, Ordering::Relaxed)
    }

    /// Stores the result of the task with this number.
    pub(super) fn store(&self, number: usize, result: T) {
        if !self.is_unit {
            self.stored.push((number, result));
        }
    }
}

/// `len` unit values as a `Vec<T>`, if `T` is the unit type.
fn unit_vec<T: 'static>(len: usize) -> Option<Vec<T>> {
    let mut units = Some(vec![(); len]);
    let units: &mut dyn Any = &mut units;
    units.downcast_mut::<Option<Vec<T>>>()?.take()
}

#[cfg(test)]
mod tests {
    use terrace_testing::watchdog;

    use super::*;

    #[test]
    fn results_come_in_spawn_order() {
        let _watchdog = watchdog();
        let results = Results::new();
        let numbers: Vec<_> = (0..200).map(|_| results.number()).collect();
        std::thread::scope(|s| {
            for half in numbers.chunks(100) {
                let results = &results;
                s.spawn(move || {
                    half.iter()
                        .rev()
                        .for_each(|n| results.store(*n, n.to_string()))
                });
            }
        });
        assert_eq!(
            results.take(),
            (0..200).map(|n| n.to_string()).collect::<Vec<_>>()
        );
    }

    #[test]
    fn units_are_counted_and_have_no_places() {
        let results = Results::<()>::new();
        for _ in 0..1_000 {
            results.store(results.number(), ());
        }
        assert!(results.stored.is_empty());
        assert_eq!(results.take().len(), 1_000);
        assert!(!Results::<[(); 0]>::new().is_unit);
    }

    #[test]
    #[should_panic(expected = "left no result")]
    fn a_missing_result_is_not_overlooked() {
        let results = Results::<u8>::new();
        results.number();
        results.take();
    }
}
