//! A parker with one token, for threads that are no workers.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use terrace_sync::Arc;
use terrace_sync::atomic::{AtomicU32, Ordering};
use terrace_sync::ordering;
use terrace_sync::thread::{self, LastProcessor, Thread};

use crate::deadline::Deadline;

/// No token, and the thread does not sleep.
const EMPTY: u32 = 0;
/// The thread sleeps, or is about to.
const PARKED: u32 = 1;
/// A token is there.
const NOTIFIED: u32 = 2;

/// Puts the thread that made it to sleep until a token is there.
///
/// At most one token exists: [`Unparker::unpark`] makes it, [`park`](Self::park) takes it. Neither a stray
/// `std::thread::unpark` nor another `Parker` of the same thread can make or take one. All that the waker wrote before its
/// `unpark` happens before the `park` that takes its token returns. A parker stays on its thread; [`Unparker`]s go anywhere.
///
/// | state      | `park`                    | `unpark`                         | time-out     |
/// |------------|---------------------------|----------------------------------|--------------|
/// | `EMPTY`    | → `PARKED`, sleeps        | → `NOTIFIED`                     | –            |
/// | `PARKED`   | –                         | → `NOTIFIED`, one futex wake     | → `EMPTY`    |
/// | `NOTIFIED` | → `EMPTY`, returns        | stays                            | → `EMPTY`, returns true |
///
/// # Examples
///
/// ```
/// use terrace_park::Parker;
///
/// let parker = Parker::new();
/// let unparker = parker.unparker();
/// let other = std::thread::spawn(move || unparker.unpark());
/// parker.park();
/// other.join().unwrap();
/// ```
pub struct Parker {
    unparker: Unparker,
    /// Bound to its thread: neither Send nor Sync.
    _thread: PhantomData<*mut ()>,
}

/// The other end of a [`Parker`].
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use terrace_park::Parker;
///
/// let parker = Parker::new();
/// let unparker = parker.unparker();
/// // Two calls make one token.
/// unparker.unpark();
/// unparker.unpark();
/// assert!(parker.park_timeout(Duration::ZERO));
/// assert!(!parker.park_timeout(Duration::ZERO));
/// ```
#[derive(Clone)]
pub struct Unparker {
    inner: Arc<Inner>,
}

struct Inner {
    state: AtomicU32,
    thread: Thread,
    /// The last waker that found the thread asleep.
    waker: LastProcessor,
}

impl fmt::Debug for Parker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.unparker.inner.describe(&mut f.debug_struct("Parker"))
    }
}

impl fmt::Debug for Unparker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.describe(&mut f.debug_struct("Unparker"))
    }
}

impl Parker {
    /// A parker for the calling thread, without a token.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_park::Parker;
    ///
    /// let parker = Parker::new();
    /// assert!(!parker.park_timeout(std::time::Duration::ZERO), "it has no token");
    /// ```
    #[expect(
        clippy::new_without_default,
        reason = "binds to the calling thread, which a default value should not do silently"
    )]
    #[must_use = "it waits for nothing until it parks"]
    pub fn new() -> Self {
        let inner = Inner {
            state: AtomicU32::new(EMPTY),
            thread: thread::current(),
            waker: LastProcessor::new(),
        };
        Self {
            unparker: Unparker {
                inner: Arc::new(inner),
            },
            _thread: PhantomData,
        }
    }

    /// Whether the thread that last woke this one from its sleep was then on the processor on which this one is now: a hint.
    /// While this thread looks out for that one's next item, it would only keep it off its processor.
    ///
    /// # Examples
    ///
    /// ```
    /// let parker = terrace_park::Parker::new();
    /// parker.unparker().unpark();
    /// parker.park();
    /// assert!(!parker.shares_processor(), "it has not slept");
    /// ```
    #[inline]
    #[must_use = "the call only answers a question"]
    pub fn shares_processor(&self) -> bool {
        self.unparker.inner.waker.is_here()
    }

    /// A handle by which other threads unpark this one.
    ///
    /// # Examples
    ///
    /// ```
    /// let parker = terrace_park::Parker::new();
    /// let unparker = parker.unparker();
    /// std::thread::spawn(move || unparker.unpark());
    /// parker.park();
    /// ```
    #[must_use = "a handle wakes nothing by itself"]
    pub fn unparker(&self) -> Unparker {
        self.unparker.clone()
    }

    /// Sleeps until there is a token, and takes it. Never returns without one.
    ///
    /// Cost: one read-modify-write if the token is there; else three, and the sleep.
    ///
    /// # Examples
    ///
    /// ```
    /// let parker = terrace_park::Parker::new();
    /// parker.unparker().unpark();
    /// // The token is there: it does not sleep.
    /// parker.park();
    /// ```
    pub fn park(&self) {
        if self.take_or_announce() {
            return;
        }
        loop {
            thread::park();
            if self.unparker.inner.take() {
                return;
            }
        }
    }

    /// Sleeps until there is a token, for at most `timeout`; whether a token was taken.
    ///
    /// Cost: as [`park`](Self::park); a `timeout` of zero does not sleep.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let parker = terrace_park::Parker::new();
    /// assert!(!parker.park_timeout(Duration::from_millis(1)));
    /// parker.unparker().unpark();
    /// assert!(parker.park_timeout(Duration::MAX));
    /// ```
    pub fn park_timeout(&self, timeout: Duration) -> bool {
        if self.take_or_announce() {
            return true;
        }
        let deadline = Deadline::after(timeout);
        while deadline.park() {
            if self.unparker.inner.take() {
                return true;
            }
        }
        // Ordering: Acquire pairs with the Release in `unpark`, if the token came with the time-out. The state is EMPTY either way.
        self.unparker
            .inner
            .state
            .swap(EMPTY, ordering!("park-parker-timeout-acquire", Acquire))
            == NOTIFIED
    }

    /// Takes the token, or announces that this thread goes to sleep (false).
    fn take_or_announce(&self) -> bool {
        let inner = &*self.unparker.inner;
        // Ordering: Relaxed, the announcement itself orders nothing; the swap below acquires the token.
        match inner
            .state
            .compare_exchange(EMPTY, PARKED, Ordering::Relaxed, Ordering::Relaxed)
        {
            Ok(_) => false,
            Err(_) => {
                // Only NOTIFIED can be there, and only this thread takes it away.
                // Ordering: Acquire pairs with the Release in `unpark`.
                let taken = inner
                    .state
                    .swap(EMPTY, ordering!("park-parker-early-acquire", Acquire));
                debug_assert_eq!(taken, NOTIFIED);
                true
            }
        }
    }
}

impl Unparker {
    /// Gives the token, and wakes the thread if it sleeps: one futex wake then, none otherwise.
    ///
    /// Cost: one read-modify-write, and the wake.
    ///
    /// # Examples
    ///
    /// ```
    /// let parker = terrace_park::Parker::new();
    /// let unparker = parker.unparker();
    /// // Two calls before a park give one token.
    /// unparker.unpark();
    /// unparker.unpark();
    /// parker.park();
    /// assert!(!parker.park_timeout(std::time::Duration::ZERO));
    /// ```
    pub fn unpark(&self) {
        // Ordering: Release pairs with the Acquire by which the token is taken.
        let before = self
            .inner
            .state
            .swap(NOTIFIED, ordering!("park-parker-release", Release));
        if before == PARKED {
            self.inner.waker.note();
            self.inner.thread.unpark();
        }
    }
}

impl Inner {
    /// Takes the token of a thread that announced its sleep; else the announcement stands.
    fn take(&self) -> bool {
        // Ordering: Acquire pairs with the Release in `unpark`.
        self.state
            .compare_exchange(
                NOTIFIED,
                EMPTY,
                ordering!("park-parker-acquire", Acquire),
                Ordering::Relaxed,
            )
            .is_ok()
    }

    fn describe(&self, f: &mut fmt::DebugStruct<'_, '_>) -> fmt::Result {
        // Ordering: Relaxed, a look of the moment.
        let state = self.state.load(Ordering::Relaxed);
        f.field("thread", &self.thread.name())
            .field("parked", &(state == PARKED))
            .field("token", &(state == NOTIFIED))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use terrace_testing::watchdog;

    use super::*;

    /// Round trips of a token; Miri takes some milliseconds for each.
    const ROUNDS: usize = if cfg!(miri) { 100 } else { 10_000 };

    #[test]
    fn a_token_given_before_is_taken_without_sleeping() {
        let parker = Parker::new();
        parker.unparker().unpark();
        parker.unparker().unpark();
        parker.park();
        assert!(
            !parker.park_timeout(Duration::ZERO),
            "there was one token only"
        );
    }

    #[test]
    fn a_stray_unpark_makes_no_token() {
        let parker = Parker::new();
        thread::current().unpark();
        assert!(!parker.park_timeout(Duration::from_millis(1)));
        parker.unparker().unpark();
        assert!(parker.park_timeout(Duration::MAX));
    }

    #[test]
    fn a_sleep_outlasts_stray_unparks() {
        let _watchdog = watchdog();
        let parker = Parker::new();
        let (send, receive) = std::sync::mpsc::channel();
        let given = terrace_sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|threads| {
            let (unparker, given) = (parker.unparker(), &given);
            threads.spawn(move || {
                for round in receive {
                    // The other thread is about to sleep, or asleep.
                    std::thread::yield_now();
                    given.store(round, Ordering::Relaxed);
                    unparker.unpark();
                }
            });
            for round in 1..=100 {
                thread::current().unpark();
                assert!(send.send(round).is_ok());
                if round % 2 == 0 {
                    parker.park();
                } else {
                    assert!(parker.park_timeout(Duration::from_secs(3600)));
                }
                assert_eq!(given.load(Ordering::Relaxed), round, "it had no token");
            }
            drop(send);
        });
    }

    #[test]
    fn states_in_turn() {
        let parker = Parker::new();
        let inner = &*parker.unparker.inner;
        let state = || inner.state.load(Ordering::Relaxed);
        assert_eq!(state(), EMPTY);
        assert!(!parker.take_or_announce());
        assert_eq!(state(), PARKED);
        assert!(!inner.take());
        assert_eq!(state(), PARKED);
        parker.unparker().unpark();
        assert_eq!(state(), NOTIFIED);
        assert!(inner.take());
        assert_eq!(state(), EMPTY);
        parker.unparker().unpark();
        assert!(parker.take_or_announce());
        assert_eq!(state(), EMPTY);
    }

    #[test]
    fn tokens_cross_threads() {
        let _watchdog = watchdog();
        let ours = Parker::new();
        let back = ours.unparker();
        let (send, receive) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let theirs = Parker::new();
            assert!(send.send(theirs.unparker()).is_ok());
            for _ in 0..ROUNDS {
                theirs.park();
                back.unpark();
            }
        });
        let forth = receive.recv().expect("the thread sends its unparker");
        for _ in 0..ROUNDS {
            forth.unpark();
            ours.park();
        }
        thread.join().expect("ends");
    }
}
