//! [`Shared`]: a multi-producer multi-consumer queue behind a length hint, the core of
//! [`Injector`](crate::Injector).
//!
//! The store is concurrent-queue's unbounded queue, or a mutexed `VecDeque` under a model checker, which
//! sees nothing through concurrent-queue. The hint, and its order against the store, are the same in both.

use terrace_sync::atomic::{AtomicUsize, Ordering};
use terrace_sync::{CachePadded, const_fn};

#[cfg(any(terrace_loom, terrace_shuttle))]
use modelled::Store;
#[cfg(not(any(terrace_loom, terrace_shuttle)))]
use plain::Store;

/// A queue and a hint that is never less than the number of items in it.
pub(crate) struct Shared<T> {
    /// Raised before an item enters the store, lowered after one has left it. So, in the order of its own
    /// modifications, it never falls below the number of items whose push has returned.
    hint: CachePadded<AtomicUsize>,
    store: Store<T>,
}

impl<T> Shared<T> {
    const_fn! {
        pub(crate) const fn new() -> Self {
            Self { hint: CachePadded::new(AtomicUsize::new(0)), store: Store::new() }
        }
    }

    #[inline]
    pub(crate) fn push(&self, item: T) {
        #[cfg(not(terrace_weaken = "queue-hint-after-item"))]
        self.raise(1);
        self.store.push(item);
        #[cfg(terrace_weaken = "queue-hint-after-item")]
        self.raise(1);
    }

    /// Pushes all items, raising the hint once by the length the iterator claims.
    ///
    /// The iterator runs outside of any lock, and may panic or miscount: the hint ends exact.
    pub(crate) fn push_batch(&self, items: impl ExactSizeIterator<Item = T>) {
        let count = items.len();
        if count > 0 {
            self.raise(count);
        }
        let mut announced = Announced {
            queue: self,
            left: count,
        };
        for item in items {
            match announced.left.checked_sub(1) {
                Some(left) => announced.left = left,
                // More items than the iterator claimed.
                None => self.raise(1),
            }
            self.store.push(item);
        }
    }

    #[inline]
    pub(crate) fn pop(&self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let item = self.store.pop()?;
        self.lower(1);
        Some(item)
    }

    /// Pops up to `max` items, handing each to `take`, and lowers the hint once.
    ///
    /// `take` must neither panic nor run code of `T`.
    pub(crate) fn pop_batch(&self, max: usize, mut take: impl FnMut(T)) {
        if self.is_empty() {
            return;
        }
        let mut taken = 0;
        while taken < max {
            let Some(item) = self.store.pop() else { break };
            take(item);
            taken += 1;
        }
        if taken > 0 {
            self.lower(taken);
        }
    }

    /// Ordering: Relaxed. The number alone carries no data, an item is handed over by the store. That a
    /// looker cannot miss it is the business of the fences of the parking protocol: the pusher's comes
    /// after the push, the looker's before this load.
    #[inline]
    pub(crate) fn len_hint(&self) -> usize {
        self.hint.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len_hint() == 0
    }

    /// Ordering: Relaxed. Read-modify-writes of one word have one order; the store's own handover puts the
    /// raise for an item before the lowering for it in that order.
    #[inline]
    fn raise(&self, by: usize) {
        self.hint.fetch_add(by, Ordering::Relaxed);
    }

    /// Ordering: Relaxed, see `raise`.
    #[inline]
    fn lower(&self, by: usize) {
        self.hint.fetch_sub(by, Ordering::Relaxed);
    }
}

/// Items announced by the hint and not pushed yet; takes the announcement back when dropped.
struct Announced<'a, T> {
    queue: &'a Shared<T>,
    left: usize,
}

impl<T> Drop for Announced<'_, T> {
    fn drop(&mut self) {
        if self.left > 0 {
            self.queue.lower(self.left);
        }
    }
}

#[cfg(not(any(terrace_loom, terrace_shuttle)))]
mod plain {
    //! The store of a real build.

    use concurrent_queue::ConcurrentQueue;

    pub(super) struct Store<T>(ConcurrentQueue<T>);

    impl<T> Store<T> {
        pub(super) const fn new() -> Self {
            Self(ConcurrentQueue::unbounded())
        }

        #[inline]
        pub(super) fn push(&self, item: T) {
            let pushed = self.0.push(item);
            debug_assert!(pushed.is_ok(), "the queue is unbounded and never closed");
        }

        #[inline]
        pub(super) fn pop(&self) -> Option<T> {
            self.0.pop().ok()
        }
    }
}

#[cfg(any(terrace_loom, terrace_shuttle))]
mod modelled {
    //! The store of a modelled build.

    use alloc::collections::VecDeque;
    use terrace_sync::Mutex;

    pub(super) struct Store<T>(Mutex<VecDeque<T>>);

    impl<T> Store<T> {
        pub(super) fn new() -> Self {
            Self(Mutex::new(VecDeque::new()))
        }

        pub(super) fn push(&self, item: T) {
            self.0.lock().push_back(item);
        }

        pub(super) fn pop(&self) -> Option<T> {
            self.0.lock().pop_front()
        }
    }
}
