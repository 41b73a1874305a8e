//! [`Store`]: the multi-producer multi-consumer queue inside an [`Injector`](crate::Injector).
//!
//! concurrent-queue's unbounded queue. Under a model checker, which does not see its operations, a mutexed `VecDeque`
//! replaces it. Both keep one rule: a push claims a position at the tail before it fills it, a pop one at the head. So
//! `is_empty`, which compares the two, never misses an item whose push has returned.

#[cfg(any(terrace_loom, terrace_shuttle))]
pub(crate) use modelled::Store;
#[cfg(not(any(terrace_loom, terrace_shuttle)))]
pub(crate) use plain::Store;

#[cfg(not(any(terrace_loom, terrace_shuttle)))]
mod plain {
    //! The store of a real build.

    use concurrent_queue::ConcurrentQueue;

    pub(crate) struct Store<T>(ConcurrentQueue<T>);

    impl<T> Store<T> {
        pub(crate) const fn new() -> Self {
            Self(ConcurrentQueue::unbounded())
        }

        #[inline]
        pub(crate) fn push(&self, item: T) {
            let pushed = self.0.push(item);
            debug_assert!(pushed.is_ok(), "the queue is unbounded and never closed");
        }

        #[inline]
        pub(crate) fn pop(&self) -> Option<T> {
            self.0.pop().ok()
        }

        pub(crate) fn len(&self) -> usize {
            self.0.len()
        }

        /// Loads the head's position, then the tail's. The head is never past an item that is still there. The tail is
        /// past every item whose push happens before this call.
        #[inline]
        pub(crate) fn is_empty(&self) -> bool {
            self.0.is_empty()
        }
    }
}

#[cfg(any(terrace_loom, terrace_shuttle))]
mod modelled {
    //! The store of a modelled build.

    use alloc::collections::VecDeque;
    use terrace_sync::atomic::{AtomicUsize, Ordering};
    use terrace_sync::{Mutex, weakened};

    pub(crate) struct Store<T> {
        items: Mutex<VecDeque<T>>,
        /// Pops that took an item.
        head: AtomicUsize,
        /// Pushes, counted before the item is there.
        tail: AtomicUsize,
    }

    impl<T> Store<T> {
        pub(crate) fn new() -> Self {
            Self {
                items: Mutex::new(VecDeque::new()),
                head: AtomicUsize::new(0),
                tail: AtomicUsize::new(0),
            }
        }

        pub(crate) fn push(&self, item: T) {
            // Ordering: Relaxed, here and below. The lock orders the claim of an item before the pop that takes it. The
            // parking protocol's fences make a sleeper see it in time.
            if weakened!("queue-tail-after-item") {
                self.items.lock().push_back(item);
                self.tail.fetch_add(1, Ordering::Relaxed);
                return;
            }
            self.tail.fetch_add(1, Ordering::Relaxed);
            self.items.lock().push_back(item);
        }

        pub(crate) fn pop(&self) -> Option<T> {
            let item = self.items.lock().pop_front()?;
            self.head.fetch_add(1, Ordering::Relaxed);
            Some(item)
        }

        pub(crate) fn len(&self) -> usize {
            let head = self.head.load(Ordering::Relaxed);
            self.tail.load(Ordering::Relaxed).saturating_sub(head)
        }

        pub(crate) fn is_empty(&self) -> bool {
            let head = self.head.load(Ordering::Relaxed);
            head == self.tail.load(Ordering::Relaxed)
        }
    }
}
