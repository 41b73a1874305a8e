//! An input that the caller works on alone.

use super::pool::TaskPool;
use crate::iter::ParallelIterator;
use crate::par::parts::{Parts, Work, alone};

impl TaskPool {
    /// Works on all items of an iterator, in order.
    #[inline]
    pub(crate) fn work_on<B, I, W>(&self, iter: I, _items: u64, work: &W) -> Parts<W::Result>
    where
        B: Iterator + Send,
        I: ParallelIterator<B>,
        W: Work<B>,
    {
        alone(iter, work)
    }
}
