//! [`Injector`]: the shared queue.

use core::fmt;

use terrace_sync::const_fn;

use crate::ring::Owner;
use crate::spill::Spill;
use crate::store::Store;

/// An unbounded queue that any thread pushes to and any thread pops from, first in first out.
///
/// Cost: one RMW for a push, one for a pop. The check for an empty queue is four loads. It allocates when its last ring is full, so at
/// most once more after its longest time, and keeps that memory: 32 slots at least, and fewer than four for each item of the longest
/// time. A slot is an item and a word.
///
/// A pop waits for a thread that was preempted in the middle of the push of the first item, a push for one that was preempted in
/// the middle of a pop from the same slot. They spin, and then yield the processor. So an injector is not for interrupts, signal handlers,
/// or threads of different real-time priorities on one processor.
///
/// Algorithm: a chain of rings, as in LCRQ (Morrison and Afek, 2013), each of them Vyukov's bounded queue.
///
/// The caller wakes a worker for the items that it pushes.
///
/// # Examples
///
/// ```
/// let injector = terrace_queue::Injector::new();
/// injector.push(1);
/// injector.push_batch([2, 3].into_iter());
/// assert_eq!(injector.len_hint(), 3);
/// assert_eq!(injector.pop(), Some(1));
/// ```
pub struct Injector<T> {
    store: Store<T>,
}

impl<T> Injector<T> {
    const_fn! {
        /// An empty queue. It allocates at the first push.
        ///
        /// # Examples
        ///
        /// ```
        /// use terrace_queue::Injector;
        ///
        /// static INJECTOR: Injector<u32> = Injector::new();
        /// INJECTOR.push(1);
        /// assert_eq!(INJECTOR.pop(), Some(1));
        /// ```
        pub const fn new() -> Self {
            Self { store: Store::new() }
        }
    }

    /// Appends an item.
    ///
    /// # Examples
    ///
    /// ```
    /// let injector = terrace_queue::Injector::new();
    /// std::thread::scope(|scope| {
    ///     for n in 0..4 {
    ///         let injector = &injector;
    ///         scope.spawn(move || injector.push(n));
    ///     }
    /// });
    /// let mut all: Vec<_> = std::iter::from_fn(|| injector.pop()).collect();
    /// all.sort();
    /// assert_eq!(all, [0, 1, 2, 3]);
    /// ```
    #[inline]
    pub fn push(&self, item: T) {
        self.store.push(item);
    }

    /// Appends items; other pushes may come between them.
    ///
    /// # Panics
    /// If the iterator does. The items it gave before are in the queue, which works as before.
    ///
    /// # Examples
    ///
    /// ```
    /// let injector = terrace_queue::Injector::new();
    /// injector.push_batch("abc".chars());
    /// assert!(std::iter::from_fn(|| injector.pop()).eq("abc".chars()));
    /// ```
    pub fn push_batch(&self, items: impl Iterator<Item = T>) {
        items.for_each(|item| self.store.push(item));
    }

    /// Takes the first item.
    ///
    /// # Examples
    ///
    /// ```
    /// let injector = terrace_queue::Injector::new();
    /// assert_eq!(injector.pop(), None);
    /// injector.push('a');
    /// injector.push('b');
    /// assert_eq!((injector.pop(), injector.pop()), (Some('a'), Some('b')));
    /// ```
    #[inline]
    pub fn pop(&self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        self.store.pop()
    }

    /// Takes up to `max` items: returns the first and puts the others into `dst`, as far as it has room.
    ///
    /// A worker that moves shared work into its ring holds a search token until done, or publishes that work.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::{Injector, OwnedRing};
    ///
    /// let (injector, mut ring) = (Injector::new(), OwnedRing::new());
    /// injector.push_batch(0..10);
    /// let owner = ring.owner();
    /// assert_eq!(injector.pop_batch_into(&owner, 4), Some(0));
    /// assert_eq!((owner.ring().len(), injector.len_hint()), (3, 6));
    /// ```
    #[doc(alias = "steal_batch_and_pop")]
    #[inline]
    pub fn pop_batch_into(&self, dst: &Owner<'_, T>, max: usize) -> Option<T> {
        self.pop_counted_into(dst, max).map(|(first, _)| first)
    }

    /// As [`pop_batch_into`](Self::pop_batch_into); the second value says how many others went into `dst`.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::{Injector, OwnedRing};
    ///
    /// let (injector, mut ring) = (Injector::new(), OwnedRing::new());
    /// injector.push_batch(0..3);
    /// let owner = ring.owner();
    /// // Fewer than the caller would take.
    /// assert_eq!(injector.pop_counted_into(&owner, 8), Some((0, 2)));
    /// assert_eq!(owner.pop(), Some(1));
    /// ```
    #[inline]
    pub fn pop_counted_into(&self, dst: &Owner<'_, T>, max: usize) -> Option<(T, usize)> {
        if max == 0 {
            return None;
        }
        let first = self.pop()?;
        let mut batch = dst.batch();
        let mut others = 0;
        for _ in 0..(max - 1).min(batch.room()) {
            // The thread holds items that no other thread sees: it does not wait for one more.
            let Some(item) = self.store.try_pop() else {
                break;
            };
            batch.push(item);
            others += 1;
        }
        batch.publish();
        Some((first, others))
    }

    /// The number of items, as a hint, those included whose push has not returned. If other threads push and pop during the call, it may
    /// be too high. It is 0 only if there was no item that no thread was taking.
    ///
    /// # Examples
    ///
    /// ```
    /// let injector = terrace_queue::Injector::new();
    /// injector.push_batch(0..3);
    /// injector.pop();
    /// // No other thread pushes or pops, so it is exact.
    /// assert_eq!(injector.len_hint(), 2);
    /// ```
    #[inline]
    pub fn len_hint(&self) -> usize {
        self.store.len()
    }

    /// Whether there is no item, as a hint: four loads. After the fences of the parking protocol it does not miss an
    /// item whose push had returned.
    ///
    /// # Examples
    ///
    /// ```
    /// let injector = terrace_queue::Injector::new();
    /// assert!(injector.is_empty());
    /// injector.push(());
    /// assert!(!injector.is_empty());
    /// ```
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.store.is_empty()
    }
}

impl<T> Spill<T> for Injector<T> {
    fn spill(&self, items: impl Iterator<Item = T>) {
        self.push_batch(items);
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
