//! The one way a parallel iterator meets a pool: a task for each batch.

use crate::{ParallelIterator, TaskPool};
use alloc::vec::Vec;

/// Runs `work` on every batch, a task each, and gives the results in the order of the batches.
///
/// All batches are taken from `iter` by the caller; only the work on them is shared out.
pub(super) fn map_batches<B, P, W, R>(mut iter: P, pool: &TaskPool, work: W) -> Vec<R>
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
}
