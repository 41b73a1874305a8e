//! [`ThreadId`]: the identity of a thread.

use std::fmt;

/// A thread's identity: a number that no other thread of the process has or will have, unlike addresses and
/// what the operating system hands out.
///
/// # Examples
///
/// ```
/// let here = terrace_thread::id();
/// assert_eq!(here, terrace_thread::id());
/// assert_ne!(here, std::thread::spawn(terrace_thread::id).join().unwrap());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(pub(crate) u64);

impl ThreadId {
    /// The number, never 0.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_ne!(terrace_thread::id().get(), 0);
    /// ```
    #[must_use = "the call only reads a value"]
    pub fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Debug for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ThreadId({})", self.0)
    }
}

/// The current thread's id. One thread-local load after the first call. [`ThreadId`] has an example.
#[doc(alias = "current")]
#[inline]
#[must_use = "the call only reads a value"]
pub fn id() -> ThreadId {
    ThreadId(terrace_local::thread_id())
}
