//! Sorting on a pool.

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::pools::TaskPool;

/// Slices of at most so many items are sorted by one thread.
const ALONE: usize = 4_096;

impl TaskPool {
    /// Sorts a slice. Equal items may change places.
    ///
    /// The slice is split around its median, and each half again, until each thread has two pieces; then tasks sort the pieces.
    /// The first split runs on one thread. Allocates a list of the pieces; no item is copied elsewhere.
    ///
    /// Source: quicksort, with the standard library's `select_nth_unstable` as partition.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = terrace_tasks::TaskPool::new();
    /// let mut numbers = [3, 1, 2];
    /// pool.sort_unstable(&mut numbers);
    /// assert_eq!(numbers, [1, 2, 3]);
    /// ```
    #[doc(alias = "par_sort_unstable")]
    pub fn sort_unstable<T: Ord + Send>(&self, slice: &mut [T]) {
        self.sort_unstable_by(slice, T::cmp);
    }

    /// As [`sort_unstable`](Self::sort_unstable), in the order that `compare` gives.
    ///
    /// # Panics
    /// With the panic of `compare`. Then the order is unspecified, and every item is still there. It may panic if
    /// `compare` is no total order, as the standard library's sort.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = terrace_tasks::TaskPool::new();
    /// let mut numbers = [3, 1, 2];
    /// pool.sort_unstable_by(&mut numbers, |a, b| b.cmp(a));
    /// assert_eq!(numbers, [3, 2, 1]);
    /// ```
    #[doc(alias = "par_sort_unstable_by")]
    pub fn sort_unstable_by<T: Send>(
        &self,
        slice: &mut [T],
        compare: impl Fn(&T, &T) -> Ordering + Sync,
    ) {
        if slice.len() <= ALONE {
            return slice.sort_unstable_by(compare);
        }
        let compare = &compare;
        let pieces_wanted = self.thread_num().max(1) * 2;
        let mut pieces = vec![slice];
        while pieces.len() < pieces_wanted && pieces.iter().any(|piece| piece.len() > ALONE) {
            let halves = self.par_batches(pieces, 1);
            pieces = halves.flat_map(|piece| halve(piece, compare)).collect();
        }
        let pieces = self.par_batches(pieces, 1);
        pieces.for_each(|piece| piece.sort_unstable_by(compare));
    }

    /// Sorts a slice. Equal items stay in their order.
    ///
    /// Tasks sort pieces of the slice, as many as threads take part, and then merge pairs of them until one is left. The last merge runs
    /// on one thread. Each merge borrows room for half of its items, as the standard library's `sort` does.
    ///
    /// Source: merge sort from the leaves up, with the standard library's `sort_by` for both steps: it finds the two runs of a pair,
    /// and merges them.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = terrace_tasks::TaskPool::new();
    /// let mut words = ["to", "be", "or", "not"];
    /// pool.sort(&mut words);
    /// assert_eq!(words, ["be", "not", "or", "to"]);
    /// ```
    #[doc(alias = "par_sort")]
    pub fn sort<T: Ord + Send>(&self, slice: &mut [T]) {
        self.sort_by(slice, T::cmp);
    }

    /// As [`sort`](Self::sort), in the order that `compare` gives.
    ///
    /// # Panics
    /// With the panic of `compare`. Then the order is unspecified, and every item is still there. It may panic if
    /// `compare` is no total order, as the standard library's sort.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = terrace_tasks::TaskPool::new();
    /// let mut words = ["three", "four", "a"];
    /// pool.sort_by(&mut words, |a, b| a.len().cmp(&b.len()));
    /// assert_eq!(words, ["a", "four", "three"]);
    /// ```
    #[doc(alias = "par_sort_by")]
    pub fn sort_by<T: Send>(&self, slice: &mut [T], compare: impl Fn(&T, &T) -> Ordering + Sync) {
        if slice.len() <= ALONE {
            return slice.sort_by(compare);
        }
        let compare = &compare;
        // The caller sorts, too.
        let pieces = (self.thread_num() + 1).next_power_of_two();
        let mut size = slice.len().div_ceil(pieces).max(ALONE);
        loop {
            let pieces: Vec<_> = slice.chunks_mut(size).collect();
            let pieces = self.par_batches(pieces, 1);
            pieces.for_each(|piece| piece.sort_by(compare));
            if size >= slice.len() {
                return;
            }
            size *= 2;
        }
    }
}

/// The items that are less than the median, and the others.
fn halve<T>(piece: &mut [T], compare: impl Fn(&T, &T) -> Ordering) -> Vec<&mut [T]> {
    if piece.len() <= ALONE {
        return vec![piece];
    }
    let middle = piece.len() / 2;
    piece.select_nth_unstable_by(middle, compare);
    let (low, high) = piece.split_at_mut(middle);
    vec![low, high]
}
