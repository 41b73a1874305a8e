//! What became of the pieces of an input, in their order.

use alloc::vec;
use alloc::vec::Vec;

use terrace_sync::atomic::AtomicBool;

use crate::iter::ParallelIterator;

/// The results of all pieces. One piece has no list, so a tiny input allocates nothing.
pub(crate) enum Parts<R> {
    None,
    One(R),
    Many(Vec<R>),
}

impl<R> Parts<R> {
    /// The only result, or what `combine` makes of several.
    #[inline]
    pub(super) fn combined(self, combine: impl FnOnce(vec::IntoIter<R>) -> R) -> Option<R> {
        match self {
            Self::None => None,
            Self::One(result) => Some(result),
            Self::Many(results) => Some(combine(results.into_iter())),
        }
    }

    pub(crate) fn into_vec(self) -> Vec<R> {
        match self {
            Self::None => Vec::new(),
            Self::One(result) => vec![result],
            Self::Many(results) => results,
        }
    }
}

/// What a consumer does with a piece.
pub(crate) trait Work<B>: Sync {
    /// What becomes of a piece.
    type Result: Send;

    /// Works on a piece. Once another thread has set `over`, the consumer has its answer without the rest of the piece. `None` where the
    /// caller works alone.
    fn run(&self, batch: B, over: Option<&AtomicBool>) -> Self::Result;

    /// Whether the result of a piece makes all others superfluous.
    #[inline]
    fn settles(&self, _: &Self::Result) -> bool {
        false
    }
}

impl<B, R: Send, F: Fn(B) -> R + Sync> Work<B> for F {
    type Result = R;

    #[inline]
    fn run(&self, batch: B, _over: Option<&AtomicBool>) -> R {
        self(batch)
    }
}

/// Works on all of an iterator in the calling thread: in one piece, if it is sized.
#[inline(always)]
pub(crate) fn alone<B, I, W>(mut iter: I, work: &W) -> Parts<W::Result>
where
    B: Iterator + Send,
    I: ParallelIterator<B>,
    W: Work<B>,
{
    iter.size_next_batch(u64::MAX);
    let Some(first) = iter.next_batch() else {
        return Parts::None;
    };
    let first = work.run(first, None);
    if iter.items_left() == Some(0) || work.settles(&first) {
        return Parts::One(first);
    }
    rest_alone(iter, work, first)
}

/// The other batches of an iterator whose first one was worked on.
#[inline(never)]
fn rest_alone<B, I, W>(mut iter: I, work: &W, first: W::Result) -> Parts<W::Result>
where
    B: Iterator + Send,
    I: ParallelIterator<B>,
    W: Work<B>,
{
    let mut results = vec![first];
    while let Some(batch) = iter.next_batch() {
        let result = work.run(batch, None);
        let settled = work.settles(&result);
        results.push(result);
        if settled {
            break;
        }
    }
    Parts::Many(results)
}
