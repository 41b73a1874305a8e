//! The results of a scope's tasks, in the order in which the tasks were spawned.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use terrace_executor::drop_payload;
use terrace_sync::atomic::{AtomicUsize, Ordering};
use terrace_sync::{Mutex, OnceLock};

/// Results in the first segment; segment `k` holds this many times 2^k.
const FIRST_SEGMENT: usize = 32;

/// Segments in all: more places than memory can hold.
const SEGMENTS: usize = 32;

/// A place for each task's result. Tasks are numbered as they are spawned, from any thread.
pub(super) struct Results<T> {
    spawned: AtomicUsize,
    /// `None` for the unit type: its results need no places.
    places: Option<Places<T>>,
}

/// Places that stay where they are while more are added: segments of doubling length, made when first needed.
type Places<T> = [OnceLock<Segment<T>>; SEGMENTS];

/// Each place has a lock of its own, which is never contended: its task writes it, the scope's end empties it.
type Segment<T> = Box<[Mutex<Option<T>>]>;

/// The segment of a place, and where in it.
fn locate(index: usize) -> (usize, usize) {
    let segment = (index / FIRST_SEGMENT + 1).ilog2() as usize;
    (segment, index - FIRST_SEGMENT * ((1 << segment) - 1))
}

fn new_segment<T>(segment: usize) -> Segment<T> {
    let places = FIRST_SEGMENT << segment;
    (0..places).map(|_| Mutex::new(None)).collect()
}

impl<T: 'static> Results<T> {
    /// No results, and no tasks. Allocates nothing.
    pub(super) fn new() -> Self {
        let unit = unit_vec::<T>(0).is_some();
        Self {
            spawned: AtomicUsize::new(0),
            places: (!unit).then(|| std::array::from_fn(|_| OnceLock::new())),
        }
    }

    /// Takes the results of all tasks, in spawn order. By reference: the places are a few hundred bytes, which a move copies.
    ///
    /// # Panics
    /// If a task has not [stored](Self::store) its result.
    pub(super) fn take(&mut self) -> Vec<T> {
        // Ordering: Relaxed; every task has ended, and the scope's end has ordered that before this.
        let spawned = self.spawned.load(Ordering::Relaxed);
        let Some(places) = &mut self.places else {
            return unit_vec(spawned).expect("only the unit type has no places");
        };
        let results = stored(places).map_while(|result| result);
        let mut vec = Vec::with_capacity(spawned);
        vec.extend(results.take(spawned));
        assert_eq!(
            vec.len(),
            spawned,
            "a task of a scope that has ended left no result"
        );
        vec
    }
}

/// The results in the places, in the order of the tasks. A segment in which no task has stored one is left out.
fn stored<T>(places: &mut Places<T>) -> impl Iterator<Item = Option<T>> {
    let segments = places.iter_mut().filter_map(OnceLock::take);
    segments.flat_map(<[_]>::into_vec).map(Mutex::into_inner)
}

impl<T> Results<T> {
    /// Drops the results of a scope that failed one by one. The panics of their destructors must not meet each other, nor
    /// the scope's.
    pub(super) fn discard(&mut self) {
        for result in self.places.iter_mut().flat_map(stored) {
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
        if let Some(places) = &self.places {
            let (segment, offset) = locate(number);
            let places = places[segment].get_or_init(|| new_segment(segment));
            *places[offset].lock() = Some(result);
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
    fn every_number_has_one_place() {
        let mut next = 0;
        for segment in 0..6 {
            for offset in 0..FIRST_SEGMENT << segment {
                assert_eq!(locate(next), (segment, offset));
                next += 1;
            }
        }
        assert!(locate(1 << 36).0 < SEGMENTS);
    }

    #[test]
    fn results_come_in_spawn_order() {
        let _watchdog = watchdog();
        let mut results = Results::new();
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
        let mut results = Results::<()>::new();
        assert!(results.places.is_none());
        for _ in 0..1_000 {
            results.number();
        }
        assert_eq!(results.take().len(), 1_000);
        assert!(Results::<[(); 0]>::new().places.is_some());
    }

    #[test]
    #[should_panic(expected = "left no result")]
    fn a_missing_result_is_not_overlooked() {
        let mut results = Results::<u8>::new();
        results.number();
        results.take();
    }
}
