//! `std` threads, with parks and unparks counted under `terrace_count`.

use crate::count;
use core::time::Duration;

#[doc(no_inline)]
pub use std::thread::{Builder, JoinHandle, spawn, yield_now};

/// A handle to a thread.
///
/// # Examples
///
/// ```
/// use terrace_sync::atomic::{AtomicBool, Ordering};
/// use terrace_sync::thread::{current, park, spawn};
///
/// static IS_READY: AtomicBool = AtomicBool::new(false);
///
/// let waiter = current();
/// let waker = spawn(move || {
///     assert!(!waiter.is(&current()));
///     IS_READY.store(true, Ordering::Release);
///     waiter.unpark();
/// });
/// while !IS_READY.load(Ordering::Acquire) {
///     park();
/// }
/// waker.join().unwrap();
/// ```
#[derive(Clone, Debug)]
#[repr(transparent)]
pub struct Thread(std::thread::Thread);

impl Thread {
    /// Makes the thread's token available and wakes it if it is parked. The [type](Self) has an example.
    #[inline]
    pub fn unpark(&self) {
        count::unpark();
        self.0.unpark();
    }

    /// Whether both are handles to the same thread. The [type](Self) has an example.
    #[must_use = "the call only answers a question"]
    pub fn is(&self, other: &Self) -> bool {
        self.0.id() == other.0.id()
    }

    /// The thread's name, if it has one.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_sync::thread::{Builder, current};
    ///
    /// let thread = Builder::new().name("worker".into()).spawn(|| current().name().map(String::from))?;
    /// assert_eq!(thread.join().unwrap().as_deref(), Some("worker"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use = "the call only reads a value"]
    pub fn name(&self) -> Option<&str> {
        self.0.name()
    }
}

impl From<&std::thread::Thread> for Thread {
    fn from(thread: &std::thread::Thread) -> Self {
        Self(thread.clone())
    }
}

/// The calling thread. [`Thread`] has an example.
#[inline]
#[must_use = "the call only reads a value"]
pub fn current() -> Thread {
    Thread(std::thread::current())
}

/// Blocks until the calling thread's token is available, and takes it. May return without a reason.
/// [`Thread`] has an example.
///
/// # Panics
/// On targets without threads, where no other thread could end the wait.
#[inline]
pub fn park() {
    count::park();
    assert_threads();
    std::thread::park();
}

/// As [`park`], for at most about `timeout`.
///
/// # Panics
/// As `park`.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use terrace_sync::thread::{current, park_timeout};
///
/// current().unpark();
/// // The token is there, so it does not sleep.
/// park_timeout(Duration::from_secs(3600));
/// ```
#[inline]
pub fn park_timeout(timeout: Duration) {
    count::park();
    assert_threads();
    std::thread::park_timeout(timeout);
}

/// Panics on wasm without threads, rather than stop the page or the process for good.
#[inline(always)]
#[track_caller]
fn assert_threads() {
    #[cfg(all(target_family = "wasm", not(target_feature = "atomics")))]
    panic!(
        "a wait that would never end: this target has no threads, so nothing can be woken while one waits. Let the host's \
         event loop drive the tasks instead, with `try_tick` or `run_until_stalled`"
    );
}
