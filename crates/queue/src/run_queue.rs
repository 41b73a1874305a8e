//! [`RunQueue`]: a `VecDeque` behind a shared reference, for one thread.

use alloc::collections::VecDeque;
use core::fmt;

use terrace_sync::cell::UnsafeCell;
use terrace_sync::const_fn;

/// A first-in first-out queue of one thread, used through `&self`. Not `Sync`.
///
/// Each operation is a plain `VecDeque` operation: no atomic, no lock, no borrow flag.
///
/// # Examples
///
/// ```
/// let queue = terrace_queue::RunQueue::new();
/// queue.push_back(2);
/// queue.push_front(1);
/// assert_eq!(queue.pop_front(), Some(1));
/// assert_eq!(queue.take(), [2]);
/// assert!(queue.is_empty());
/// ```
pub struct RunQueue<T> {
    /// Invariant: a borrow of the content lasts for one `VecDeque` operation inside one method of this type. None of
    /// these operations runs code of `T`: they move items, and never drop, clone or compare one. So no second borrow
    /// can begin while one lives: not from another thread, as the cell is not `Sync`, and not by re-entry.
    items: UnsafeCell<VecDeque<T>>,
}

impl<T> RunQueue<T> {
    const_fn! {
        /// An empty queue; allocates at the first push.
        ///
        /// # Examples
        ///
        /// ```
        /// let queue = terrace_queue::RunQueue::<u32>::new();
        /// assert!(queue.is_empty());
        /// ```
        pub const fn new() -> Self {
            Self { items: UnsafeCell::new(VecDeque::new()) }
        }
    }

    /// Runs one operation on the content. `f` must not run code of `T`.
    #[inline(always)]
    fn with_mut<R>(&self, f: impl FnOnce(&mut VecDeque<T>) -> R) -> R {
        self.items.with_mut(|items| {
            // SAFETY: the field's invariant: no other borrow is alive, and `f` starts none.
            f(unsafe { &mut *items })
        })
    }

    /// Appends an item. Amortised constant; allocates when it grows.
    ///
    /// # Examples
    ///
    /// ```
    /// let queue = terrace_queue::RunQueue::new();
    /// queue.push_back(1);
    /// queue.push_back(2);
    /// assert_eq!(queue.pop_front(), Some(1));
    /// ```
    #[inline]
    pub fn push_back(&self, item: T) {
        self.with_mut(|items| items.push_back(item));
    }

    /// Puts an item before all others. Amortised constant; allocates when it grows.
    ///
    /// # Examples
    ///
    /// ```
    /// let queue = terrace_queue::RunQueue::new();
    /// queue.push_back("later");
    /// queue.push_front("next");
    /// assert_eq!(queue.pop_front(), Some("next"));
    /// ```
    #[inline]
    pub fn push_front(&self, item: T) {
        self.with_mut(|items| items.push_front(item));
    }

    /// Takes the first item.
    ///
    /// # Examples
    ///
    /// ```
    /// let queue = terrace_queue::RunQueue::new();
    /// queue.push_back(1);
    /// while let Some(n) = queue.pop_front() {
    ///     // The loop's body may use the queue.
    ///     if n < 3 {
    ///         queue.push_back(n + 1);
    ///     }
    /// }
    /// assert!(queue.is_empty());
    /// ```
    #[inline]
    pub fn pop_front(&self) -> Option<T> {
        self.with_mut(VecDeque::pop_front)
    }

    /// Takes everything, leaving the queue empty and without capacity. Dropping the result may run user
    /// code, which may use this queue again.
    ///
    /// # Examples
    ///
    /// ```
    /// let queue = terrace_queue::RunQueue::new();
    /// queue.push_back(1);
    /// queue.push_back(2);
    /// let taken = queue.take();
    /// queue.push_back(3);
    /// assert_eq!(taken, [1, 2]);
    /// assert_eq!(queue.take(), [3]);
    /// ```
    #[must_use = "items that were taken have to be run"]
    pub fn take(&self) -> VecDeque<T> {
        self.with_mut(core::mem::take)
    }

    /// The number of items.
    ///
    /// # Examples
    ///
    /// ```
    /// let queue = terrace_queue::RunQueue::new();
    /// queue.push_back('a');
    /// assert_eq!(queue.len(), 1);
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        self.with_mut(|items| items.len())
    }

    /// Whether there is no item.
    ///
    /// # Examples
    ///
    /// ```
    /// let queue = terrace_queue::RunQueue::new();
    /// queue.push_back('a');
    /// assert!(!queue.is_empty());
    /// queue.pop_front();
    /// assert!(queue.is_empty());
    /// ```
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Default for RunQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for RunQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunQueue")
            .field("len", &self.len())
            .finish()
    }
}

// A panic of `T`'s code leaves no operation half done: none of that code runs inside.
impl<T> core::panic::UnwindSafe for RunQueue<T> {}
impl<T> core::panic::RefUnwindSafe for RunQueue<T> {}
