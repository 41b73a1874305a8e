//! [`Injector`]: the shared queue.

use crate::Owner;
use crate::shared::Shared;
use core::fmt;
use terrace_sync::const_fn;

/// An unbounded queue that any thread pushes to and any thread pops from, first in first out.
///
/// The length hint in front makes the check for an empty queue one relaxed load. Cost: one RMW on the hint
/// for a push, a batch, a pop or a batch of pops, plus concurrent-queue's own (two for an item pushed, two for
/// an item popped, 1/31 allocation an item).
///
/// Waking somebody for what was pushed is the caller's business.
///
/// ```
/// let injector = terrace_queue::Injector::new();
/// injector.push(1);
/// injector.push_batch([2, 3].into_iter());
/// assert_eq!(injector.len_hint(), 3);
/// assert_eq!(injector.pop(), Some(1));
/// ```
pub struct Injector<T> {
    shared: Shared<T>,
}

impl<T> Injector<T> {
    const_fn! {
        /// An empty queue; allocates at the first push.
        pub const fn new() -> Self {
            Self { shared: Shared::new() }
        }
    }

    /// Appends an item.
    #[inline]
    pub fn push(&self, item: T) {
        self.shared.push(item);
    }

    /// Appends items; other pushes may come between them.
    ///
    /// # Panics
    /// If the iterator does. The items it gave before are in the queue, and the queue is as good as before.
    pub fn push_batch(&self, items: impl ExactSizeIterator<Item = T>) {
        self.shared.push_batch(items);
    }

    /// Takes the first item.
    #[inline]
    pub fn pop(&self) -> Option<T> {
        self.shared.pop()
    }

    /// Takes up to `max` items: returns the first and puts the others into `dst`, as far as it has room.
    ///
    /// Whoever moves shared work into a ring holds a search token until done, or publishes it.
    pub fn pop_batch_into(&self, dst: &Owner<'_, T>, max: usize) -> Option<T> {
        let mut first = None;
        let mut batch = dst.batch();
        self.shared
            .pop_batch(max.min(batch.room().saturating_add(1)), |item| {
                if first.is_none() {
                    first = Some(item);
                } else {
                    batch.push(item);
                }
            });
        batch.publish();
        first
    }

    /// The number of items, as a hint: at least the number of those whose push has returned.
    #[inline]
    pub fn len_hint(&self) -> usize {
        self.shared.len_hint()
    }

    /// Whether there is no item, as a hint: one relaxed load. After the fences of the parking protocol it
    /// does not miss an item whose push had returned.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.shared.is_empty()
    }
}

impl<T> Default for Injector<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for Injector<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Injector")
            .field("len_hint", &self.len_hint())
            .finish()
    }
}
