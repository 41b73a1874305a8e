//! [`Par`]: a parallel iterator that knows its pool.

use alloc::vec::{self, Vec};
use core::iter::{self, Product, Sum};
use core::marker::PhantomData;

use terrace_sync::atomic::{AtomicBool, Ordering};

use super::parts::{Parts, Work};
use super::source::{IntoSource, Source};
use crate::iter::{Cloned, Copied, Filter, FilterMap, FlatMap, Inspect, Map, ParallelIterator};
use crate::pools::TaskPool;

/// A parallel iterator with the pool that works on it. See [`TaskPool::par`].
///
/// Its methods are those of [`Iterator`]. Closures of adapters run in the tasks, and may borrow from the caller. So may results:
/// they need not be `'static`, as those of [`ParallelIterator`] and of Bevy's scopes.
///
/// # Panics
/// Each consumer passes on a panic of a closure, once all its tasks have ended. Items that no task had begun by then may be left out.
///
/// # Examples
///
/// ```
/// let pool = terrace_tasks::TaskPool::new();
/// let odd_squares = || pool.par(1..11_u32).filter(|n| n % 2 == 1).map(|n| n * n);
///
/// assert_eq!(odd_squares().collect::<Vec<_>>(), [1, 9, 25, 49, 81]);
/// assert_eq!((odd_squares().count(), odd_squares().sum::<u32>()), (5, 165));
/// assert_eq!((odd_squares().min(), odd_squares().max()), (Some(1), Some(81)));
/// assert!(odd_squares().all(|n| n < 100) && odd_squares().any(|n| n == 49));
///
/// let words = ["2", "x", "5"];
/// let numbers = || pool.par(&words).copied().filter_map(|word| word.parse::<u32>().ok());
/// assert_eq!(numbers().product::<u32>(), 10);
/// let letters: Vec<char> = pool.par(&['a', 'b']).cloned().collect();
/// assert_eq!(letters, ['a', 'b']);
/// ```
#[doc(alias("IntoParallelIterator", "par_iter"))]
#[must_use = "parallel iterators do nothing until they are consumed"]
#[derive(Debug)]
pub struct Par<'p, I, B> {
    pool: &'p TaskPool,
    iter: I,
    _batch: PhantomData<fn() -> B>,
}

/// The batches of a source. [`TaskPool::par_batches`] has an example.
#[derive(Debug)]
pub struct Batches<S> {
    source: S,
    items: u64,
    /// Whether threads choose how many items a batch has.
    is_lazy: bool,
}

impl<S> Batches<S> {
    /// Batches whose size is chosen when a thread takes them.
    fn lazy(source: S) -> Self {
        Self {
            source,
            items: 1,
            is_lazy: true,
        }
    }
}

impl<S: Source> ParallelIterator<S::Batch> for Batches<S> {
    fn next_batch(&mut self) -> Option<S::Batch> {
        (self.source.items() > 0).then(|| self.source.split(self.items))
    }

    fn items_left(&self) -> Option<u64> {
        self.is_lazy.then(|| self.source.items())
    }

    fn size_next_batch(&mut self, items: u64) {
        if self.is_lazy {
            self.items = items;
        }
    }
}

impl TaskPool {
    /// Works on the items of a source in parallel: a slice, a vector, a range, or the chunks of a slice.
    ///
    /// The pool remembers how long an item takes, for each chain of closures. The caller works alone where the items together take less
    /// than 10 µs. Else it offers the rest to the pool's threads. Each thread that comes takes a share of the items that are left, and
    /// comes again for more, until none is left. The first input of a chain is offered in any case.
    ///
    /// Where the split lies is a matter of chance. So sums of floats may differ from one call to the next in their last digits;
    /// [`par_batches`](Self::par_batches) splits in the same places each time.
    ///
    /// Cost of an input below 2 µs: two loads, a store and some compares, and two readings of a clock for each 64th. Fewer than 64 items cost
    /// up to eight readings, and a list. If items suddenly take longer, up to 64 inputs below 2 µs are still the caller's alone.
    ///
    /// # Examples
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
    #[doc(alias = "into_par_iter")]
    pub fn par<S: IntoSource>(
        &self,
        source: S,
    ) -> Par<'_, Batches<S::Source>, <S::Source as Source>::Batch> {
        self.par_iter(Batches::lazy(source.into_source()))
    }

    /// As [`par`](Self::par), in batches of so many items; the last one may be smaller.
    ///
    /// # Panics
    /// If `items` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = terrace_tasks::TaskPool::new();
    /// let lengths = pool.par_batches(0..10_u32, 4).fold(|| 0, |length, _| length + 1);
    /// assert_eq!(lengths, [4, 4, 2]);
    /// ```
    #[doc(alias("with_min_len", "with_max_len"))]
    pub fn par_batches<S: IntoSource>(
        &self,
        source: S,
        items: usize,
    ) -> Par<'_, Batches<S::Source>, <S::Source as Source>::Batch> {
        assert!(items > 0, "a batch has at least one item");
        self.par_iter(Batches {
            source: source.into_source(),
            items: items as u64,
            is_lazy: false,
        })
    }

    /// As [`par`](Self::par), for any parallel iterator.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_tasks::{ParallelIterator, TaskPool};
    ///
    /// /// The batches 0, 0 to 1, 0 to 2 and so on.
    /// struct Growing(std::ops::Range<u32>);
    ///
    /// impl ParallelIterator<std::ops::RangeInclusive<u32>> for Growing {
    ///     fn next_batch(&mut self) -> Option<std::ops::RangeInclusive<u32>> {
    ///         self.0.next().map(|last| 0..=last)
    ///     }
    /// }
    ///
    /// let sums = TaskPool::new().par_iter(Growing(0..4)).fold(|| 0, |sum, n| sum + n);
    /// assert_eq!(sums, [0, 1, 3, 6]);
    /// ```
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

    /// Puts every item through `f`, of which each batch gets a clone. The [type](Self) has an example.
    pub fn map<T, F>(self, f: F) -> Par<'p, Map<I, F>, iter::Map<B, F>>
    where
        F: FnMut(B::Item) -> T + Send + Clone,
    {
        self.with(|iter| iter.map(f))
    }

    /// Leaves out the items for which `predicate` is false. The [type](Self) has an example.
    pub fn filter<F>(self, predicate: F) -> Par<'p, Filter<I, F>, iter::Filter<B, F>>
    where
        F: FnMut(&B::Item) -> bool + Send + Clone,
    {
        self.with(|iter| iter.filter(predicate))
    }

    /// Puts every item through `f` and leaves out those that become `None`. The [type](Self) has an example.
    pub fn filter_map<R, F>(self, f: F) -> Par<'p, FilterMap<I, F>, iter::FilterMap<B, F>>
    where
        F: FnMut(B::Item) -> Option<R> + Send + Clone,
    {
        self.with(|iter| iter.filter_map(f))
    }

    /// Makes an iterator of every item and puts its items in the place of that one.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = terrace_tasks::TaskPool::new();
    /// let all: Vec<u32> = pool.par(1..4_u32).flat_map(|n| 0..n).collect();
    /// assert_eq!(all, [0, 0, 1, 0, 1, 2]);
    /// ```
    pub fn flat_map<U, F>(self, f: F) -> Par<'p, FlatMap<I, F>, iter::FlatMap<B, U, F>>
    where
        F: FnMut(B::Item) -> U + Send + Clone,
        U: IntoIterator<IntoIter: Send>,
    {
        self.with(|iter| iter.flat_map(f))
    }

    /// Shows every item to `f` on its way.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_sync::atomic::{AtomicU32, Ordering};
    ///
    /// let (pool, shown) = (terrace_tasks::TaskPool::new(), AtomicU32::new(0));
    /// let items = pool.par(0..10_u32).inspect(|_| drop(shown.fetch_add(1, Ordering::Relaxed)));
    /// assert_eq!((items.count(), shown.into_inner()), (10, 10));
    /// ```
    pub fn inspect<F>(self, f: F) -> Par<'p, Inspect<I, F>, iter::Inspect<B, F>>
    where
        F: FnMut(&B::Item) + Send + Clone,
    {
        self.with(|iter| iter.inspect(f))
    }

    /// Copies the items out of their references. The [type](Self) has an example.
    pub fn copied<'a, T>(self) -> Par<'p, Copied<I>, iter::Copied<B>>
    where
        B: Iterator<Item = &'a T>,
        T: Copy + 'a,
    {
        self.with(|iter| iter.copied::<T>())
    }

    /// Clones the items out of their references. The [type](Self) has an example.
    pub fn cloned<'a, T>(self) -> Par<'p, Cloned<I>, iter::Cloned<B>>
    where
        B: Iterator<Item = &'a T>,
        T: Copy + 'a,
    {
        self.with(|iter| iter.cloned::<T>())
    }

    /// Calls `f` with every item, in no particular order.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = terrace_tasks::TaskPool::new();
    /// let mut numbers = [1, 2, 3];
    /// pool.par(&mut numbers).for_each(|number| *number *= 2);
    /// assert_eq!(numbers, [2, 4, 6]);
    /// ```
    #[inline]
    pub fn for_each(self, f: impl Fn(B::Item) + Sync) {
        let _done: Parts<()> = self.each_batch(&|batch: B| batch.for_each(&f));
    }

    /// All items in a collection, in order.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = terrace_tasks::TaskPool::new();
    /// let words: String = pool.par(&["in ", "order"]).copied().collect();
    /// assert_eq!(words, "in order");
    /// ```
    #[inline]
    pub fn collect<C>(self) -> C
    where
        C: FromIterator<B::Item>,
        B::Item: Send,
    {
        match self.each_batch(&|batch: B| batch.collect::<Vec<_>>()) {
            Parts::One(items) => items.into_iter().collect(),
            parts => parts.into_vec().into_iter().flatten().collect(),
        }
    }

    /// Folds every batch, each from a value of `init`, and returns the outcomes in the order of the batches. How many there are is a
    /// matter of chance, but after [`par_batches`](TaskPool::par_batches). For groups, build a map
    /// in each batch and merge the maps.
    ///
    /// # Examples
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
    #[inline]
    pub fn fold<C: Send>(
        self,
        init: impl Fn() -> C + Sync,
        f: impl Fn(C, B::Item) -> C + Sync,
    ) -> Vec<C> {
        self.each_batch(&|batch: B| batch.fold(init(), &f))
            .into_vec()
    }

    /// Combines all items to one by `f`, which is associative; `None` if there is none. Keeps their order.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = terrace_tasks::TaskPool::new();
    /// let longest = pool.par(&["a", "abc", "xyz"]).copied().reduce(|a, b| if b.len() > a.len() { b } else { a });
    /// assert_eq!(longest, Some("abc"));
    /// ```
    #[inline]
    pub fn reduce(self, f: impl Fn(B::Item, B::Item) -> B::Item + Sync) -> Option<B::Item>
    where
        B::Item: Send,
    {
        self.each_batch(&|batch: B| batch.reduce(&f))
            .combined(|parts| parts.flatten().reduce(&f))
            .flatten()
    }

    /// The sum. That of floats depends on where the input was split: see [`TaskPool::par`]. The [type](Self) has an example.
    #[inline]
    pub fn sum<S>(self) -> S
    where
        S: Sum<B::Item> + Sum<S> + Send,
    {
        self.each_batch(&|batch: B| batch.sum::<S>())
            .combined(Iterator::sum)
            .unwrap_or_else(|| iter::empty::<S>().sum())
    }

    /// The product; of floats as [`sum`](Self::sum). The [type](Self) has an example.
    #[inline]
    pub fn product<S>(self) -> S
    where
        S: Product<B::Item> + Product<S> + Send,
    {
        self.each_batch(&|batch: B| batch.product::<S>())
            .combined(Iterator::product)
            .unwrap_or_else(|| iter::empty::<S>().product())
    }

    /// The number of items. The [type](Self) has an example.
    #[must_use = "the iterator is used up for its result"]
    #[inline]
    pub fn count(self) -> usize {
        self.each_batch(&|batch: B| batch.count())
            .combined(Iterator::sum)
            .unwrap_or(0)
    }

    /// The least item; the first of several. The [type](Self) has an example.
    #[must_use = "the iterator is used up for its result"]
    #[inline]
    pub fn min(self) -> Option<B::Item>
    where
        B::Item: Ord + Send,
    {
        self.each_batch(&|batch: B| batch.min())
            .combined(|parts| parts.flatten().min())
            .flatten()
    }

    /// The greatest item; the last of several. The [type](Self) has an example.
    #[must_use = "the iterator is used up for its result"]
    #[inline]
    pub fn max(self) -> Option<B::Item>
    where
        B::Item: Ord + Send,
    {
        self.each_batch(&|batch: B| batch.max())
            .combined(|parts| parts.flatten().max())
            .flatten()
    }

    /// Whether `f` is true of any item. With the first such item no thread begins a piece, and
    /// none calls `f` again; a closure of an adapter goes on until an item reaches `f`. The [type](Self) has an example.
    #[inline]
    pub fn any(self, f: impl Fn(B::Item) -> bool + Sync) -> bool {
        self.each_batch(&Any(f))
            .combined(|mut parts| parts.any(|found| found))
            .unwrap_or(false)
    }

    /// Whether `f` is true of all items. Ends as [`any`](Self::any), with the first other item. The [type](Self) has an example.
    #[inline]
    pub fn all(self, f: impl Fn(B::Item) -> bool + Sync) -> bool {
        !self.any(|item| !f(item))
    }

    /// Works on every batch, and returns the results in the order of the batches.
    #[inline(always)]
    fn each_batch<W: Work<B>>(self, work: &W) -> Parts<W::Result> {
        match self.iter.items_left() {
            Some(items) => self.pool.work_on(self.iter, items, work),
            None => self.each_of_list(work),
        }
    }

    /// Works on batches whose size is not ours to choose: a list of them is shared.
    #[inline(never)]
    fn each_of_list<W: Work<B>>(mut self, work: &W) -> Parts<W::Result> {
        let batches: Vec<B> = iter::from_fn(|| self.iter.next_batch()).collect();
        let items = batches.len() as u64;
        let batches = Batches::lazy(batches.into_iter());
        let parts = self.pool.work_on(batches, items, &Each(work));
        Parts::Many(parts.into_vec().into_iter().flatten().collect())
    }
}

/// Looks for an item of which a closure is true.
struct Any<F>(F);

impl<B: Iterator, F: Fn(B::Item) -> bool + Sync> Work<B> for Any<F> {
    type Result = bool;

    #[inline]
    fn run(&self, mut batch: B, over: Option<&AtomicBool>) -> bool {
        match over {
            None => batch.any(&self.0),
            // Ordering: Relaxed, a hint. Who raised it has found one, or panicked.
            Some(over) => batch.any(|item| over.load(Ordering::Relaxed) || self.0(item)),
        }
    }

    fn settles(&self, found: &bool) -> bool {
        *found
    }
}

/// Works on each of some batches.
struct Each<'w, W>(&'w W);

impl<B: Send, W: Work<B>> Work<vec::IntoIter<B>> for Each<'_, W> {
    type Result = Vec<W::Result>;

    fn run(&self, batches: vec::IntoIter<B>, over: Option<&AtomicBool>) -> Self::Result {
        let mut results = Vec::with_capacity(batches.len());
        for batch in batches {
            let result = self.0.run(batch, over);
            let is_last = self.0.settles(&result);
            results.push(result);
            // Ordering: Relaxed, as above.
            if is_last || over.is_some_and(|over| over.load(Ordering::Relaxed)) {
                break;
            }
        }
        results
    }

    fn settles(&self, results: &Self::Result) -> bool {
        results.iter().any(|result| self.0.settles(result))
    }
}
