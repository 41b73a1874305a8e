//! The types of parallel iterators made of other parallel iterators.

/// The batches of one parallel iterator, then those of another; see [`ParallelIterator::chain`](super::ParallelIterator::chain).
/// [`ParallelIterator`](super::ParallelIterator) has an example.
#[derive(Debug)]
#[must_use = "parallel iterators do nothing until they are consumed"]
pub struct Chain<T, U> {
    /// The iterator to take batches from first; gone once it has ended.
    pub(super) first: Option<T>,
    pub(super) second: U,
}

/// Batches whose items go through a closure; see [`ParallelIterator::map`](super::ParallelIterator::map).
/// [`ParallelIterator`](super::ParallelIterator) has an example.
#[derive(Debug)]
#[must_use = "parallel iterators do nothing until they are consumed"]
pub struct Map<P, F> {
    pub(super) iter: P,
    pub(super) f: F,
}

/// Batches without the items a predicate refuses; see [`ParallelIterator::filter`](super::ParallelIterator::filter).
/// [`ParallelIterator`](super::ParallelIterator) has an example.
#[derive(Debug)]
#[must_use = "parallel iterators do nothing until they are consumed"]
pub struct Filter<P, F> {
    pub(super) iter: P,
    pub(super) predicate: F,
}

/// Batches of the values that a closure makes of the items it keeps; see [`ParallelIterator::filter_map`](super::ParallelIterator::filter_map).
/// [`ParallelIterator`](super::ParallelIterator) has an example.
#[derive(Debug)]
#[must_use = "parallel iterators do nothing until they are consumed"]
pub struct FilterMap<P, F> {
    pub(super) iter: P,
    pub(super) f: F,
}

/// Batches in which every item became several; see [`ParallelIterator::flat_map`](super::ParallelIterator::flat_map).
/// [`ParallelIterator`](super::ParallelIterator) has an example.
#[derive(Debug)]
#[must_use = "parallel iterators do nothing until they are consumed"]
pub struct FlatMap<P, F> {
    pub(super) iter: P,
    pub(super) f: F,
}

/// Batches whose items were iterators; see [`ParallelIterator::flatten`](super::ParallelIterator::flatten).
/// [`ParallelIterator`](super::ParallelIterator) has an example.
#[derive(Debug)]
#[must_use = "parallel iterators do nothing until they are consumed"]
pub struct Flatten<P> {
    pub(super) iter: P,
}

/// An iterator that stays ended; see [`ParallelIterator::fuse`](super::ParallelIterator::fuse).
/// [`ParallelIterator`](super::ParallelIterator) has an example.
#[derive(Debug)]
#[must_use = "parallel iterators do nothing until they are consumed"]
pub struct Fuse<P> {
    pub(super) iter: Option<P>,
}

/// Batches whose items a closure has seen; see [`ParallelIterator::inspect`](super::ParallelIterator::inspect).
/// [`ParallelIterator`](super::ParallelIterator) has an example.
#[derive(Debug)]
#[must_use = "parallel iterators do nothing until they are consumed"]
pub struct Inspect<P, F> {
    pub(super) iter: P,
    pub(super) f: F,
}

/// Batches of copies; see [`ParallelIterator::copied`](super::ParallelIterator::copied).
/// [`ParallelIterator`](super::ParallelIterator) has an example.
#[derive(Debug)]
#[must_use = "parallel iterators do nothing until they are consumed"]
pub struct Copied<P> {
    pub(super) iter: P,
}

/// Batches of clones; see [`ParallelIterator::cloned`](super::ParallelIterator::cloned).
/// [`ParallelIterator`](super::ParallelIterator) has an example.
#[derive(Debug)]
#[must_use = "parallel iterators do nothing until they are consumed"]
pub struct Cloned<P> {
    pub(super) iter: P,
}

/// An iterator that starts again whenever it ends; see [`ParallelIterator::cycle`](super::ParallelIterator::cycle).
/// [`ParallelIterator`](super::ParallelIterator) has an example.
#[derive(Debug)]
#[must_use = "parallel iterators do nothing until they are consumed"]
pub struct Cycle<P> {
    pub(super) origin: P,
    pub(super) round: P,
}
