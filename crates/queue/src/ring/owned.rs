//! [`OwnedRing`]: a ring whose owner's handle needs no promise.

use core::fmt;

use terrace_sync::Arc;

use super::body::Ring;
use super::owner::Owner;

/// The right to push to a [`Ring`] and to pop from it. The compiler checks that one thread at a time has it: it is not `Clone`, and
/// [`owner`](Self::owner) borrows it mutably.
///
/// One allocation, and a second one for the slots at the first push. [`share`](Self::share) gives thieves the ring. Items that are left are dropped with the last reference.
///
/// # Examples
///
/// ```
/// use terrace_queue::OwnedRing;
///
/// let (mut mine, mut other) = (OwnedRing::new(), OwnedRing::new());
/// let victim = mine.share();
/// let me = mine.owner();
/// for n in 0..4 {
///     me.push(n).unwrap();
/// }
/// let thief = std::thread::spawn(move || {
///     let own = other.owner();
///     (victim.steal_into(&own), own.pop())
/// });
/// assert_eq!(thief.join().unwrap(), (Some(0), Some(1)));
/// assert_eq!((me.pop(), me.pop(), me.pop()), (Some(2), Some(3), None));
/// ```
///
/// A second owner beside the first does not compile:
///
/// ```compile_fail,E0499
/// let mut ring = terrace_queue::OwnedRing::<u32>::new();
/// let (one, two) = (ring.owner(), ring.owner());
/// one.pop().or(two.pop());
/// ```
pub struct OwnedRing<T> {
    ring: Arc<Ring<T>>,
}

impl<T> OwnedRing<T> {
    /// An empty ring.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut ring = terrace_queue::OwnedRing::new();
    /// ring.owner().push(1).unwrap();
    /// assert_eq!(ring.share().steal_one(), Some(1));
    /// ```
    #[must_use = "a queue does nothing until items are pushed"]
    pub fn new() -> Self {
        Self {
            ring: Arc::new(Ring::new()),
        }
    }

    /// The handle that pushes and pops.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut ring = terrace_queue::OwnedRing::new();
    /// let owner = ring.owner();
    /// owner.push(1).unwrap();
    /// assert_eq!(owner.pop(), Some(1));
    /// ```
    #[inline]
    pub fn owner(&mut self) -> Owner<'_, T> {
        // SAFETY: the handle borrows `self` mutably, and no other value of this type has this ring. So there is no second handle that
        // this function has lent. A caller of `Ring::owner` on the shared ring promises the same of its own. Uses of an earlier
        // handle ended before its borrow did, and `self` moves between threads with a happens-before.
        unsafe { self.ring.owner() }
    }

    /// The ring, for thieves and for looks.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut ring = terrace_queue::OwnedRing::new();
    /// let victim = ring.share();
    /// ring.owner().push("a job").unwrap();
    /// let thief = std::thread::spawn(move || victim.steal_one());
    /// assert_eq!(thief.join().unwrap(), Some("a job"));
    /// ```
    #[must_use = "a handle steals nothing by itself"]
    pub fn share(&self) -> Arc<Ring<T>> {
        Arc::clone(&self.ring)
    }
}

impl<T> Default for OwnedRing<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for OwnedRing<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedRing")
            .field("len", &self.ring.len())
            .finish()
    }
}
