//! The trait [`ParallelIterator`], and the one way in which it meets a pool: a task for each batch.

use alloc::vec::{self, Vec};
use core::cmp::Ordering;
use core::convert::identity;
use core::iter::{Product, Sum};

use super::adapters::{
    Chain, Cloned, Copied, Cycle, Filter, FilterMap, FlatMap, Flatten, Fuse, Inspect, Map,
};
use crate::pools::TaskPool;

/// An [`Iterator`] over batches, each of which is an iterator that a pool can work on in a task of its own.
///
/// An implementation says how the work splits ([`next_batch`](Self::next_batch)); the provided methods are those of
/// [`Iterator`], with a [`TaskPool`] to consume on. A consumer opens one [`TaskPool::scope`], takes all batches on the
/// calling thread and spawns a task for each. So a batch should hold work for some microseconds at least: with smaller
/// ones a plain iterator is faster. Nothing stops early: `any`, `all` and `position` look at every batch.
///
/// # Panics
/// Where a closure or a batch panics in a task, the consumer rethrows the first such panic after all its other
/// tasks have ended.
///
/// # Examples
///
/// ```
/// use terrace_tasks::{ParallelIterator, TaskPool};
///
/// struct Chunks<'a>(std::slice::Chunks<'a, u32>);
///
/// impl<'a> ParallelIterator<std::slice::Iter<'a, u32>> for Chunks<'a> {
///     fn next_batch(&mut self) -> Option<std::slice::Iter<'a, u32>> {
///         self.0.next().map(|chunk| chunk.iter())
///     }
/// }
///
/// let numbers: Vec<u32> = (1..=100).collect();
/// let pool = TaskPool::new();
/// let chunks = || Chunks(numbers.chunks(25));
/// let squares: u32 = chunks().map(|n| n * n).sum::<u32, u32>(&pool);
/// assert_eq!(squares, 338_350);
///
/// let even: Vec<u32> = chunks().map(|n| *n).filter(|n| n % 2 == 0).collect(&pool);
/// assert_eq!(even.len(), 50);
/// assert_eq!(chunks().map(|n| *n).max(&pool), Some(100));
/// assert_eq!(chunks().position(&pool, |n| *n == 30), Some(29));
///
/// // A value for each batch.
/// let sums = chunks().fold::<_, _, u32>(&pool, 0, |sum, n| sum + n);
/// assert_eq!(sums, [325, 950, 1_575, 2_200]);
/// ```
///
/// Adapters:
///
/// ```
/// # use terrace_tasks::{ParallelIterator, TaskPool};
/// # #[derive(Clone)]
/// # struct Chunks<'a>(std::slice::Chunks<'a, u32>);
/// # impl<'a> ParallelIterator<std::slice::Iter<'a, u32>> for Chunks<'a> {
/// #     fn next_batch(&mut self) -> Option<std::slice::Iter<'a, u32>> {
/// #         self.0.next().map(|chunk| chunk.iter())
/// #     }
/// # }
/// let pool = TaskPool::new();
/// // Two batches.
/// let chunks = || Chunks([1, 2, 3].chunks(2));
/// let twice: Vec<u32> = chunks().chain(chunks()).copied::<u32>().collect(&pool);
/// assert_eq!(twice, [1, 2, 3, 1, 2, 3]);
/// let halves: Vec<u32> = chunks().filter_map(|n| (n % 2 == 0).then_some(n / 2)).collect(&pool);
/// assert_eq!(halves, [1]);
/// let below: Vec<u32> = chunks().flat_map(|n| 0..*n).collect(&pool);
/// assert_eq!(below, [0, 0, 1, 0, 1, 2]);
/// let flat: Vec<u32> = chunks().map(|n| [*n, 0]).flatten().collect(&pool);
/// assert_eq!(flat, [1, 0, 2, 0, 3, 0]);
/// let shown: Vec<u32> = chunks().inspect(|n| assert!(**n < 4)).cloned::<u32>().collect(&pool);
/// assert_eq!(shown, [1, 2, 3]);
///
/// let mut endless = chunks().cycle();
/// assert_eq!([2, 1, 2].map(|items| endless.next_batch().unwrap().len() == items), [true; 3]);
/// let mut fused = chunks().fuse();
/// while fused.by_ref().next_batch().is_some() {}
/// assert!(fused.next_batch().is_none());
/// ```
///
/// Consumers:
///
/// ```
/// # use terrace_tasks::{ParallelIterator, TaskPool};
/// # struct Chunks<'a>(std::slice::Chunks<'a, u32>);
/// # impl<'a> ParallelIterator<std::slice::Iter<'a, u32>> for Chunks<'a> {
/// #     fn next_batch(&mut self) -> Option<std::slice::Iter<'a, u32>> {
/// #         self.0.next().map(|chunk| chunk.iter())
/// #     }
/// # }
/// use terrace_sync::atomic::{AtomicU32, Ordering};
///
/// let pool = TaskPool::new();
/// let chunks = || Chunks([5, 2, 9, 4].chunks(3));
/// let numbers = || chunks().map(|n| *n);
/// assert_eq!(numbers().size_hint(), (0, None));
/// assert_eq!((numbers().count(&pool), numbers().last(&pool), numbers().nth(&pool, 2)), (4, Some(4), Some(9)));
/// let seen = AtomicU32::new(0);
/// numbers().for_each(&pool, |n| drop(seen.fetch_add(n, Ordering::Relaxed)));
/// assert_eq!(seen.into_inner(), 20);
/// let (odd, even): (Vec<u32>, Vec<u32>) = numbers().partition(&pool, |n| n % 2 == 1);
/// assert_eq!((odd, even), (vec![5, 9], vec![2, 4]));
/// assert!(numbers().all(&pool, |n| n < 10) && numbers().any(&pool, |n| n == 2));
/// assert_eq!((numbers().min(&pool), numbers().product::<u32, u32>(&pool)), (Some(2), 360));
///
/// // By what is left over after a division by 5: 0, 2, 4, 4.
/// assert_eq!(numbers().max_by_key(&pool, |n| n % 5), Some(4));
/// assert_eq!(numbers().min_by_key(&pool, |n| n % 5), Some(5));
/// // From the greatest to the least.
/// assert_eq!(numbers().max_by(&pool, |a, b| b.cmp(a)), Some(2));
/// assert_eq!(numbers().min_by(&pool, |a, b| b.cmp(a)), Some(9));
/// ```
#[doc(alias = "IntoParallelIterator")]
pub trait ParallelIterator<BatchIter>
where
    BatchIter: Iterator + Send,
    Self: Sized + Send,
{
    /// The next batch, `None` when there are no more. [`ParallelIterator`] has an example.
    fn next_batch(&mut self) -> Option<BatchIter>;

    /// How many items are left, if batches have any size: not a part of Bevy's interface.
    #[doc(hidden)]
    fn items_left(&self) -> Option<u64> {
        None
    }

    /// The next batch has so many items, where so many are left and batches have any size: not a part of Bevy's interface.
    #[doc(hidden)]
    fn size_next_batch(&mut self, items: u64) {
        let _has_no_size = items;
    }

    /// At least and at most how many items are left, as [`Iterator::size_hint`]. The default knows nothing.
    /// [`ParallelIterator`] has an example.
    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, None)
    }

    /// The number of items. [`ParallelIterator`] has an example.
    fn count(self, pool: &TaskPool) -> usize {
        map_batches(self, pool, |batch: BatchIter| batch.count()).sum()
    }

    /// The last item. Runs on the calling thread, where it goes through every batch.
    /// [`ParallelIterator`] has an example.
    fn last(mut self, _pool: &TaskPool) -> Option<BatchIter::Item> {
        let mut last = None;
        while let Some(batch) = self.next_batch() {
            last = batch.last().or(last);
        }
        last
    }

    /// The item with index `n`, counted from 0. Runs on the calling thread, and stops there.
    /// [`ParallelIterator`] has an example.
    fn nth(mut self, _pool: &TaskPool, n: usize) -> Option<BatchIter::Item> {
        let mut index = 0;
        while let Some(batch) = self.next_batch() {
            for item in batch {
                if index == n {
                    return Some(item);
                }
                index += 1;
            }
        }
        None
    }

    /// The batches of `self`, then those of `other`. [`ParallelIterator`] has an example.
    fn chain<U>(self, other: U) -> Chain<Self, U>
    where
        U: ParallelIterator<BatchIter>,
    {
        Chain {
            first: Some(self),
            second: other,
        }
    }

    /// Puts every item through `f`, of which each batch gets a clone. [`ParallelIterator`] has an example.
    fn map<T, F>(self, f: F) -> Map<Self, F>
    where
        F: FnMut(BatchIter::Item) -> T + Send + Clone,
    {
        Map { iter: self, f }
    }

    /// Calls `f` with every item, in no particular order. [`ParallelIterator`] has an example.
    fn for_each<F>(self, pool: &TaskPool, f: F)
    where
        F: FnMut(BatchIter::Item) + Send + Clone + Sync,
    {
        map_batches(self, pool, |batch: BatchIter| batch.for_each(f));
    }

    /// Leaves out the items for which `predicate` is false. [`ParallelIterator`] has an example.
    fn filter<F>(self, predicate: F) -> Filter<Self, F>
    where
        F: FnMut(&BatchIter::Item) -> bool,
    {
        Filter {
            iter: self,
            predicate,
        }
    }

    /// Puts every item through `f` and leaves out those that become `None`. [`ParallelIterator`] has an example.
    fn filter_map<R, F>(self, f: F) -> FilterMap<Self, F>
    where
        F: FnMut(BatchIter::Item) -> Option<R>,
    {
        FilterMap { iter: self, f }
    }

    /// Makes an iterator of every item and puts its items in the place of that one, in the same batch.
    /// [`ParallelIterator`] has an example.
    fn flat_map<U, F>(self, f: F) -> FlatMap<Self, F>
    where
        F: FnMut(BatchIter::Item) -> U,
        U: IntoIterator,
    {
        FlatMap { iter: self, f }
    }

    /// Puts the items of every item in its place, in the same batch. [`ParallelIterator`] has an example.
    fn flatten(self) -> Flatten<Self>
    where
        BatchIter::Item: IntoIterator,
    {
        Flatten { iter: self }
    }

    /// Ends for good with the first `None`. [`ParallelIterator`] has an example.
    fn fuse(self) -> Fuse<Self> {
        Fuse { iter: Some(self) }
    }

    /// Shows every item to `f` on its way. [`ParallelIterator`] has an example.
    fn inspect<F>(self, f: F) -> Inspect<Self, F>
    where
        F: FnMut(&BatchIter::Item),
    {
        Inspect { iter: self, f }
    }

    /// The iterator by reference. [`ParallelIterator`] has an example.
    fn by_ref(&mut self) -> &mut Self {
        self
    }

    /// All items in a collection, in order. [`ParallelIterator`] has an example.
    fn collect<C>(self, pool: &TaskPool) -> C
    where
        C: FromIterator<BatchIter::Item>,
        BatchIter::Item: Send + 'static,
    {
        map_batches(self, pool, |batch: BatchIter| batch.collect::<Vec<_>>())
            .flatten()
            .collect()
    }

    /// Two collections: the items for which `f` is true, and the others; both in order.
    /// [`ParallelIterator`] has an example.
    fn partition<C, F>(self, pool: &TaskPool, f: F) -> (C, C)
    where
        C: Default + Extend<BatchIter::Item> + Send,
        F: FnMut(&BatchIter::Item) -> bool + Send + Sync + Clone,
        BatchIter::Item: Send + 'static,
    {
        let mut halves = <(C, C)>::default();
        for (chosen, rest) in map_batches(self, pool, |batch: BatchIter| {
            batch.partition::<Vec<_>, F>(f)
        }) {
            halves.0.extend(chosen);
            halves.1.extend(rest);
        }
        halves
    }

    /// Folds every batch, each from a clone of `init`, and gives the outcomes in the order of the batches.
    /// [`ParallelIterator`] has an example.
    fn fold<C, F, D>(self, pool: &TaskPool, init: C, f: F) -> Vec<C>
    where
        F: FnMut(C, BatchIter::Item) -> C + Send + Sync + Clone,
        C: Clone + Send + Sync + 'static,
    {
        map_batches(self, pool, |batch: BatchIter| batch.fold(init, f)).collect()
    }

    /// Is `f` true of every item? Every batch is looked at, even after an answer is known.
    /// [`ParallelIterator`] has an example.
    fn all<F>(self, pool: &TaskPool, f: F) -> bool
    where
        F: FnMut(BatchIter::Item) -> bool + Send + Sync + Clone,
    {
        map_batches(self, pool, |mut batch: BatchIter| batch.all(f)).all(identity)
    }

    /// Is `f` true of any item? Every batch is looked at, even after an answer is known.
    /// [`ParallelIterator`] has an example.
    fn any<F>(self, pool: &TaskPool, f: F) -> bool
    where
        F: FnMut(BatchIter::Item) -> bool + Send + Sync + Clone,
    {
        map_batches(self, pool, |mut batch: BatchIter| batch.any(f)).any(identity)
    }

    /// The index of the first item of which `f` is true. Goes through every item, as the lengths of the batches
    /// before it have to be known. [`ParallelIterator`] has an example.
    fn position<F>(self, pool: &TaskPool, f: F) -> Option<usize>
    where
        F: FnMut(BatchIter::Item) -> bool + Send + Sync + Clone,
    {
        let found_and_len = map_batches(self, pool, |mut batch: BatchIter| {
            let mut len = 0;
            let found = batch.by_ref().inspect(|_| len += 1).position(f);
            (found, len + batch.count())
        });
        let mut start = 0;
        for (found, len) in found_and_len {
            if let Some(index) = found {
                return Some(start + index);
            }
            start += len;
        }
        None
    }

    /// The greatest item; the last of several. [`ParallelIterator`] has an example.
    fn max(self, pool: &TaskPool) -> Option<BatchIter::Item>
    where
        BatchIter::Item: Ord + Send + 'static,
    {
        map_batches(self, pool, |batch: BatchIter| batch.max())
            .flatten()
            .max()
    }

    /// The least item; the first of several. [`ParallelIterator`] has an example.
    fn min(self, pool: &TaskPool) -> Option<BatchIter::Item>
    where
        BatchIter::Item: Ord + Send + 'static,
    {
        map_batches(self, pool, |batch: BatchIter| batch.min())
            .flatten()
            .min()
    }

    /// The item for which `f` gives the greatest value; the last of several. [`ParallelIterator`] has an example.
    fn max_by_key<R, F>(self, pool: &TaskPool, f: F) -> Option<BatchIter::Item>
    where
        R: Ord,
        F: FnMut(&BatchIter::Item) -> R + Send + Sync + Clone,
        BatchIter::Item: Send + 'static,
    {
        let of_batch = f.clone();
        map_batches(self, pool, |batch: BatchIter| batch.max_by_key(of_batch))
            .flatten()
            .max_by_key(f)
    }

    /// The item that is greatest by the comparison `f`; the last of several. [`ParallelIterator`] has an example.
    fn max_by<F>(self, pool: &TaskPool, f: F) -> Option<BatchIter::Item>
    where
        F: FnMut(&BatchIter::Item, &BatchIter::Item) -> Ordering + Send + Sync + Clone,
        BatchIter::Item: Send + 'static,
    {
        let of_batch = f.clone();
        map_batches(self, pool, |batch: BatchIter| batch.max_by(of_batch))
            .flatten()
            .max_by(f)
    }

    /// The item for which `f` gives the least value; the first of several. [`ParallelIterator`] has an example.
    fn min_by_key<R, F>(self, pool: &TaskPool, f: F) -> Option<BatchIter::Item>
    where
        R: Ord,
        F: FnMut(&BatchIter::Item) -> R + Send + Sync + Clone,
        BatchIter::Item: Send + 'static,
    {
        let of_batch = f.clone();
        map_batches(self, pool, |batch: BatchIter| batch.min_by_key(of_batch))
            .flatten()
            .min_by_key(f)
    }

    /// The item that is least by the comparison `f`; the first of several. [`ParallelIterator`] has an example.
    fn min_by<F>(self, pool: &TaskPool, f: F) -> Option<BatchIter::Item>
    where
        F: FnMut(&BatchIter::Item, &BatchIter::Item) -> Ordering + Send + Sync + Clone,
        BatchIter::Item: Send + 'static,
    {
        let of_batch = f.clone();
        map_batches(self, pool, |batch: BatchIter| batch.min_by(of_batch))
            .flatten()
            .min_by(f)
    }

    /// Copies the items out of their references. [`ParallelIterator`] has an example.
    fn copied<'a, T>(self) -> Copied<Self>
    where
        Self: ParallelIterator<BatchIter>,
        T: 'a + Copy,
    {
        Copied { iter: self }
    }

    /// Clones the items out of their references. [`ParallelIterator`] has an example.
    fn cloned<'a, T>(self) -> Cloned<Self>
    where
        Self: ParallelIterator<BatchIter>,
        T: 'a + Copy,
    {
        Cloned { iter: self }
    }

    /// Starts again from a clone whenever it ends; so it never ends unless it is empty.
    /// [`ParallelIterator`] has an example.
    fn cycle(self) -> Cycle<Self>
    where
        Self: Clone,
    {
        Cycle {
            round: self.clone(),
            origin: self,
        }
    }

    /// The sum `R` of the sums `S` of the batches. [`ParallelIterator`] has an example.
    fn sum<S, R>(self, pool: &TaskPool) -> R
    where
        S: Sum<BatchIter::Item> + Send + 'static,
        R: Sum<S>,
    {
        map_batches(self, pool, |batch: BatchIter| batch.sum::<S>()).sum()
    }

    /// The product `R` of the products `S` of the batches. [`ParallelIterator`] has an example.
    fn product<S, R>(self, pool: &TaskPool) -> R
    where
        S: Product<BatchIter::Item> + Send + 'static,
        R: Product<S>,
    {
        map_batches(self, pool, |batch: BatchIter| batch.product::<S>()).product()
    }
}

/// Runs `work` on every batch, a task each, and gives the results in the order of the batches.
///
/// The caller takes all batches from `iter`; the pool's tasks share out only the work on them.
fn map_batches<B, P, W, R>(mut iter: P, pool: &TaskPool, work: W) -> vec::IntoIter<R>
where
    B: Iterator + Send,
    P: ParallelIterator<B>,
    W: FnOnce(B) -> R + Clone + Send,
    R: Send + 'static,
{
    pool.scope(|scope| {
        while let Some(batch) = iter.next_batch() {
            let work = work.clone();
            scope.spawn(async move { work(batch) });
        }
    })
    .into_iter()
}
