//! [`Inbox`]: the door through which other threads reach one thread.

use crate::shared::Shared;
use core::fmt;
use terrace_sync::const_fn;

/// An unbounded queue that any thread pushes to and one thread, its owner, pops from.
///
/// The owner looks with one relaxed load a tick. Items of one producer come out in the order it pushed them.
/// Cost: one RMW on the hint for each push and each pop, plus the store's own (see [`Injector`](crate::Injector)).
///
/// More than one thread popping is safe, merely not what it is for.
///
/// ```
/// let inbox = terrace_queue::Inbox::new();
/// std::thread::scope(|scope| {
///     scope.spawn(|| inbox.push("wake"));
/// });
/// assert!(!inbox.is_empty());
/// assert_eq!(inbox.pop(), Some("wake"));
/// ```
pub struct Inbox<T> {
    shared: Shared<T>,
}

impl<T> Inbox<T> {
    const_fn! {
        /// An empty inbox; allocates at the first push.
        pub const fn new() -> Self {
            Self { shared: Shared::new() }
        }
    }

    /// Appends an item. The owner may take it, and free what holds this inbox, before the call returns.
    #[inline]
    pub fn push(&self, item: T) {
        self.shared.push(item);
    }

    /// Takes the first item.
    #[inline]
    pub fn pop(&self) -> Option<T> {
        self.shared.pop()
    }

    /// Whether there is no item, as a hint: one relaxed load. After the fences of the parking protocol it
    /// does not miss an item whose push had returned.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.shared.is_empty()
    }
}

impl<T> Default for Inbox<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for Inbox<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox")
            .field("is_empty", &self.is_empty())
            .finish()
    }
}
