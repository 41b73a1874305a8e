//! How the adapters hand batches on.
//!
//! Each hands the batches of the iterator it stands on through the standard library's adapter of the same
//! name. So the closure runs inside the task that works on the batch, with a clone of its own.

use super::adapters::{
    Chain, Cloned, Copied, Cycle, Filter, FilterMap, FlatMap, Flatten, Fuse, Inspect, Map,
};
use super::iterator::ParallelIterator;

/// Batches are sized as those of the iterator beneath.
macro_rules! sized_as_beneath {
    () => {
        fn items_left(&self) -> Option<u64> {
            self.iter.items_left()
        }

        fn size_next_batch(&mut self, items: u64) {
            self.iter.size_next_batch(items);
        }
    };
}

impl<B, T, U> ParallelIterator<B> for Chain<T, U>
where
    B: Iterator + Send,
    T: ParallelIterator<B>,
    U: ParallelIterator<B>,
{
    fn next_batch(&mut self) -> Option<B> {
        if let Some(first) = &mut self.first {
            if let Some(batch) = first.next_batch() {
                return Some(batch);
            }
            self.first = None;
        }
        self.second.next_batch()
    }
}

impl<B, U, T, F> ParallelIterator<core::iter::Map<B, F>> for Map<U, F>
where
    B: Iterator + Send,
    U: ParallelIterator<B>,
    F: FnMut(B::Item) -> T + Send + Clone,
{
    fn next_batch(&mut self) -> Option<core::iter::Map<B, F>> {
        Some(self.iter.next_batch()?.map(self.f.clone()))
    }

    sized_as_beneath!();
}

impl<B, P, F> ParallelIterator<core::iter::Filter<B, F>> for Filter<P, F>
where
    B: Iterator + Send,
    P: ParallelIterator<B>,
    F: FnMut(&B::Item) -> bool + Send + Clone,
{
    fn next_batch(&mut self) -> Option<core::iter::Filter<B, F>> {
        Some(self.iter.next_batch()?.filter(self.predicate.clone()))
    }

    sized_as_beneath!();
}

impl<B, P, R, F> ParallelIterator<core::iter::FilterMap<B, F>> for FilterMap<P, F>
where
    B: Iterator + Send,
    P: ParallelIterator<B>,
    F: FnMut(B::Item) -> Option<R> + Send + Clone,
{
    fn next_batch(&mut self) -> Option<core::iter::FilterMap<B, F>> {
        Some(self.iter.next_batch()?.filter_map(self.f.clone()))
    }

    sized_as_beneath!();
}

impl<B, P, U, F> ParallelIterator<core::iter::FlatMap<B, U, F>> for FlatMap<P, F>
where
    B: Iterator + Send,
    P: ParallelIterator<B>,
    F: FnMut(B::Item) -> U + Send + Clone,
    U: IntoIterator,
    U::IntoIter: Send,
{
    fn next_batch(&mut self) -> Option<core::iter::FlatMap<B, U, F>> {
        Some(self.iter.next_batch()?.flat_map(self.f.clone()))
    }

    sized_as_beneath!();
}

impl<B, P> ParallelIterator<core::iter::Flatten<B>> for Flatten<P>
where
    B: Iterator + Send,
    P: ParallelIterator<B>,
    B::Item: IntoIterator,
    <B::Item as IntoIterator>::IntoIter: Send,
{
    fn next_batch(&mut self) -> Option<core::iter::Flatten<B>> {
        Some(self.iter.next_batch()?.flatten())
    }
}

impl<B, P> ParallelIterator<B> for Fuse<P>
where
    B: Iterator + Send,
    P: ParallelIterator<B>,
{
    fn next_batch(&mut self) -> Option<B> {
        let batch = self.iter.as_mut()?.next_batch();
        if batch.is_none() {
            self.iter = None;
        }
        batch
    }
}

impl<B, P, F> ParallelIterator<core::iter::Inspect<B, F>> for Inspect<P, F>
where
    B: Iterator + Send,
    P: ParallelIterator<B>,
    F: FnMut(&B::Item) + Send + Clone,
{
    fn next_batch(&mut self) -> Option<core::iter::Inspect<B, F>> {
        Some(self.iter.next_batch()?.inspect(self.f.clone()))
    }

    sized_as_beneath!();
}

impl<'a, B, P, T> ParallelIterator<core::iter::Copied<B>> for Copied<P>
where
    B: Iterator<Item = &'a T> + Send,
    P: ParallelIterator<B>,
    T: 'a + Copy,
{
    fn next_batch(&mut self) -> Option<core::iter::Copied<B>> {
        Some(self.iter.next_batch()?.copied())
    }

    sized_as_beneath!();
}

impl<'a, B, P, T> ParallelIterator<core::iter::Cloned<B>> for Cloned<P>
where
    B: Iterator<Item = &'a T> + Send,
    P: ParallelIterator<B>,
    T: 'a + Copy,
{
    fn next_batch(&mut self) -> Option<core::iter::Cloned<B>> {
        Some(self.iter.next_batch()?.cloned())
    }

    sized_as_beneath!();
}

impl<B, P> ParallelIterator<B> for Cycle<P>
where
    B: Iterator + Send,
    P: ParallelIterator<B> + Clone,
{
    fn next_batch(&mut self) -> Option<B> {
        if let Some(batch) = self.round.next_batch() {
            return Some(batch);
        }
        self.round = self.origin.clone();
        self.round.next_batch()
    }
}
