//! [`Par`]: a parallel iterator that knows its pool.

use alloc::vec::Vec;
use core::iter::{self, Product, Sum};
use core::marker::PhantomData;

use super::source::{IntoSource, Source};
use crate::iter::{Cloned, Copied, Filter, FilterMap, FlatMap, Inspect, Map, ParallelIterator};
use crate::pools::TaskPool;

/// Batches of a source are so many for each thread of the pool: a thread that is late leaves its rest to others.
const BATCHES_A_THREAD: usize = 4;

/// A parallel iterator with the pool that works on it. See [`TaskPool::par`].
///
/// Its methods are those of [`Iterator`]. Closures of adapters run in the tasks, and may borrow from the caller. So may results:
/// they need not be `'static`, as those of [`ParallelIterator`] and of Bevy's scopes.
///
/// # Panics
/// Each consumer passes on a panic of a closure, once all its tasks have ended. Items that no task had begun by then may be left out.
#[must_use = "parallel iterators do nothing until they are consumed"]
#[derive(Debug)]
pub struct Par<'p, I, B> {
    pool: &'p TaskPool,
    iter: I,
    _batch: PhantomData<fn() -> B>,
}

/// The batches of a source.
#[derive(Debug)]
pub struct Batches<S> {
    source: S,
    items: u64,
}

impl<S: Source> ParallelIterator<S::Batch> for Batches<S> {
    fn next_batch(&mut self) -> Option<S::Batch> {
        (self.source.items() > 0).then(|| self.source.split(self.items))
    }
}

impl TaskPool {
    /// Works on the items of a source in parallel: a slice, a vector, a range, or the chunks of a slice.
    ///
    /// The items are split into about four batches for each thread of the pool. Each thread, the calling one included, has a task that
    /// takes batches until none is left. A source of few and tiny items is faster in a plain iterator: a task costs some hundred
    /// nanoseconds.
    ///
    /// ```
    /// use terrace_tasks::TaskPool;
    ///
    /// let pool = TaskPool::new();
    /// let numbers = vec![1_u32, 2, 3, 4];
    /// let sum: u32 = pool.par(&numbers).copied().sum();
    /// assert_eq!(sum, 10);
    /// let squares: u64 = pool.par(0..1_000_u64).map(|n| n * n).sum();
    /// assert_eq!(squares, 332_833_500);
    ///
    /// // Results may borrow from the input.
    /// let text = String::from("results may borrow");
    /// let words: Vec<&str> = text.split(' ').collect();
    /// let long: Vec<&str> = pool.par(&words).copied().filter(|word| word.len() > 3).collect();
    /// assert_eq!(long, ["results", "borrow"]);
    /// ```
    pub fn par<S: IntoSource>(
        &self,
        source: S,
    ) -> Par<'_, Batches<S::Source>, <S::Source as Source>::Batch> {
        let source = source.into_source();
        let batches = self.thread_num().max(1).saturating_mul(BATCHES_A_THREAD);
        let items = source.items().div_ceil(batches as u64).max(1);
        self.par_iter(Batches { source, items })
    }

    /// As [`par`](Self::par), in batches of so many items; the last one may be smaller.
    ///
    /// # Panics
    /// If `items` is 0.
    pub fn par_batches<S: IntoSource>(
        &self,
        source: S,
        items: usize,
    ) -> Par<'_, Batches<S::Source>, <S::Source as Source>::Batch> {
        assert!(items > 0, "a batch has at least one item");
        let (source, items) = (source.into_source(), items as u64);
        self.par_iter(Batches { source, items })
    }

    /// As [`par`](Self::par), for any parallel iterator.
    pub fn par_iter<I: ParallelIterator<B>, B: Iterator + Send>(&self, iter: I) -> Par<'_, I, B> {
        Par {
            pool: self,
            iter,
            _batch: PhantomData,
        }
    }
}

impl<'p, I, B> Par<'p, I, B>
where
    B: Iterator + Send,
    I: ParallelIterator<B>,
{
    fn with<J, C>(self, adapt: impl FnOnce(I) -> J) -> Par<'p, J, C> {
        Par {
            pool: self.pool,
            iter: adapt(self.iter),
            _batch: PhantomData,
        }
    }

    /// Puts every item through `f`, of which each batch gets a clone.
    pub fn map<T, F>(self, f: F) -> Par<'p, Map<I, F>, iter::Map<B, F>>
    where
        F: FnMut(B::Item) -> T + Send + Clone,
    {
        self.with(|iter| iter.map(f))
    }

    /// Leaves out the items for which `predicate` is false.
    pub fn filter<F>(self, predicate: F) -> Par<'p, Filter<I, F>, iter::Filter<B, F>>
    where
        F: FnMut(&B::Item) -> bool + Send + Clone,
    {
        self.with(|iter| iter.filter(predicate))
    }

    /// Puts every item through `f` and leaves out those that become `None`.
    pub fn filter_map<R, F>(self, f: F) -> Par<'p, FilterMap<I, F>, iter::FilterMap<B, F>>
    where
        F: FnMut(B::Item) -> Option<R> + Send + Clone,
    {
        self.with(|iter| iter.filter_map(f))
    }

    /// Makes an iterator of every item and puts its items in the place of that one.
    pub fn flat_map<U, F>(self, f: F) -> Par<'p, FlatMap<I, F>, iter::FlatMap<B, U, F>>
    where
        F: FnMut(B::Item) -> U + Send + Clone,
        U: IntoIterator<IntoIter: Send>,
    {
        self.with(|iter| iter.flat_map(f))
    }

    /// Shows every item to `f` on its way.
    pub fn inspect<F>(self, f: F) -> Par<'p, Inspect<I, F>, iter::Inspect<B, F>>
    where
        F: FnMut(&B::Item) + Send + Clone,
    {
        self.with(|iter| iter.inspect(f))
    }

    /// Copies the items out of their references.
    pub fn copied<'a, T>(self) -> Par<'p, Copied<I>, iter::Copied<B>>
    where
        B: Iterator<Item = &'a T>,
        T: Copy + 'a,
    {
        self.with(|iter| iter.copied::<T>())
    }

    /// Clones the items out of their references.
    pub fn cloned<'a, T>(self) -> Par<'p, Cloned<I>, iter::Cloned<B>>
    where
        B: Iterator<Item = &'a T>,
        T: Copy + 'a,
    {
        self.with(|iter| iter.cloned::<T>())
    }

    /// Calls `f` with every item, in no particular order.
    pub fn for_each(self, f: impl Fn(B::Item) + Sync) {
        self.each_batch(|batch| batch.for_each(&f));
    }

    /// All items in a collection, in order.
    pub fn collect<C>(self) -> C
    where
        C: FromIterator<B::Item>,
        B::Item: Send,
    {
        let parts = self.each_batch(|batch| batch.collect::<Vec<_>>());
        parts.into_iter().flatten().collect()
    }

    /// Folds every batch, each from a value of `init`, and returns the outcomes in the order of the batches. For groups, build a map
    /// in each batch and merge the maps.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    ///
    /// let pool = terrace_tasks::TaskPool::new();
    /// let parts = pool.par(0..100_u32).fold(BTreeMap::new, |mut groups, n| {
    ///     *groups.entry(n % 3).or_insert(0) += n;
    ///     groups
    /// });
    /// let mut groups = BTreeMap::new();
    /// for (key, sum) in parts.into_iter().flatten() {
    ///     *groups.entry(key).or_insert(0) += sum;
    /// }
    /// assert_eq!(groups, BTreeMap::from([(0, 1683), (1, 1617), (2, 1650)]));
    /// ```
    pub fn fold<C: Send>(
        self,
        init: impl Fn() -> C + Sync,
        f: impl Fn(C, B::Item) -> C + Sync,
    ) -> Vec<C> {
        self.each_batch(|batch| batch.fold(init(), &f))
    }

    /// Combines all items to one by `f`, which is associative; `None` if there is none. Keeps their order.
    pub fn reduce(self, f: impl Fn(B::Item, B::Item) -> B::Item + Sync) -> Option<B::Item>
    where
        B::Item: Send,
    {
        let parts = self.each_batch(|batch| batch.reduce(&f));
        parts.into_iter().flatten().reduce(&f)
    }

    /// The sum.
    pub fn sum<S>(self) -> S
    where
        S: Sum<B::Item> + Sum<S> + Send,
    {
        self.each_batch(Iterator::sum::<S>).into_iter().sum()
    }

    /// The product.
    pub fn product<S>(self) -> S
    where
        S: Product<B::Item> + Product<S> + Send,
    {
        self.each_batch(Iterator::product::<S>)
            .into_iter()
            .product()
    }

    /// The number of items.
    #[must_use]
    pub fn count(self) -> usize {
        self.each_batch(Iterator::count).into_iter().sum()
    }

    /// The least item; the first of several.
    #[must_use]
    pub fn min(self) -> Option<B::Item>
    where
        B::Item: Ord + Send,
    {
        self.each_batch(Iterator::min).into_iter().flatten().min()
    }

    /// The greatest item; the last of several.
    #[must_use]
    pub fn max(self) -> Option<B::Item>
    where
        B::Item: Ord + Send,
    {
        self.each_batch(Iterator::max).into_iter().flatten().max()
    }

    /// Whether `f` is true of any item. Every batch begins, and ends at its first such item.
    pub fn any(self, f: impl Fn(B::Item) -> bool + Sync) -> bool {
        let parts = self.each_batch(|mut batch| batch.any(&f));
        parts.into_iter().any(|found| found)
    }

    /// Whether `f` is true of all items. Every batch begins, and ends at its first other item.
    pub fn all(self, f: impl Fn(B::Item) -> bool + Sync) -> bool {
        let parts = self.each_batch(|mut batch| batch.all(&f));
        parts.into_iter().all(|held| held)
    }

    /// Runs `work` on every batch, a task each, and returns the results in the order of the batches. The caller itself works on a
    /// batch that is the only one.
    fn each_batch<R: Send>(mut self, work: impl Fn(B) -> R + Sync) -> Vec<R> {
        let batches = iter::from_fn(|| self.iter.next_batch());
        let mut places: Vec<(Option<B>, Option<R>)> =
            batches.map(|batch| (Some(batch), None)).collect();
        let run = |(batch, result): &mut (Option<B>, Option<R>)| {
            *result = batch.take().map(&work);
        };
        if let [only] = &mut places[..] {
            run(only);
        } else if !places.is_empty() {
            self.pool.each(&mut places, run);
        }
        places
            .into_iter()
            .filter_map(|(_, result)| result)
            .collect()
    }
}
