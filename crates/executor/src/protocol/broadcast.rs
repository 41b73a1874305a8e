//! News for every thread that waits. A number tells readers whether there is news, and the announcer wakes the
//! subscribers for it.
//!
//! ```text
//! announce:  the news is written; number up; subscribers, under their lock; notify each
//! reader:    subscribe, under the same lock; loop { number is another -> read the news; else sleep until notified }
//! ```
//!
//! `announce` notifies a reader that subscribed before it took the lock; a reader that subscribes later sees the number. A reader that
//! never sleeps need not subscribe. Not an API; public for its models.

use terrace_sync::atomic::{AtomicUsize, Ordering};
use terrace_sync::{Mutex, weakened};

/// The number of the last announcement, and how its readers are woken.
pub struct Broadcast<T> {
    number: AtomicUsize,
    subscribers: Mutex<Vec<T>>,
}

impl<T> Broadcast<T> {
    terrace_sync::const_fn! {
        /// No announcement yet, and no subscriber.
        #[must_use = "a count does nothing until it is shared"]
        pub const fn new() -> Self {
            Self { number: AtomicUsize::new(0), subscribers: Mutex::new(Vec::new()) }
        }
    }

    /// The number of the last announcement. A reader that sees it sees what was written before it.
    #[inline]
    pub fn number(&self) -> usize {
        // Ordering: Acquire, pairs with the Release in `announce`.
        self.number.load(if weakened!("executor-broadcast-number") {
            Ordering::Relaxed
        } else {
            Ordering::Acquire
        })
    }

    /// Adds a subscriber, and forgets those that `is_gone`. One lock.
    pub fn subscribe(&self, subscriber: T, is_gone: impl Fn(&T) -> bool) {
        let mut subscribers = self.subscribers.lock();
        subscribers.retain(|subscriber| !is_gone(subscriber));
        subscribers.push(subscriber);
    }

    /// Raises the number, and calls `notify` for every subscriber that `reach` finds. The calls run outside of the
    /// lock.
    pub fn announce<N>(&self, reach: impl Fn(&T) -> Option<N>, notify: impl Fn(N)) {
        if !weakened!("executor-broadcast-late") {
            self.raise();
        }
        let reached: Vec<N> = self.subscribers.lock().iter().filter_map(reach).collect();
        reached.into_iter().for_each(notify);
        if weakened!("executor-broadcast-late") {
            self.raise();
        }
    }

    fn raise(&self) {
        // Ordering: Release, pairs with the Acquire in `number`.
        self.number.fetch_add(1, Ordering::Release);
    }
}

impl<T> Default for Broadcast<T> {
    fn default() -> Self {
        Self::new()
    }
}
