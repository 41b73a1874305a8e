//! Counting the costs of an operation: read-modify-writes, fences, locks, parks and unparks.
//!
//! Two cores hide contention, so the layers state how many of these each hot path takes, and tests
//! built with `--cfg terrace_count` check the figures. Without that cfg nothing is counted and
//! [`Counts::now`] is all zeros; likewise without feature `std`.
//!
//! Counters are thread-local: a test measures its own thread. Loads and stores are not
//! counted, nor are reference counts of `Arc`, nor operations inside a dependency.

use core::ops::Sub;

/// Totals of the calling thread since it started. [`Counts::of`] has an example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Read-modify-write operations; a failed compare-exchange is one too.
    pub rmws: u64,
    /// Fences of any kind, [`light`](crate::light) and [`heavy`](crate::heavy) included, each as one in both of their
    /// forms.
    pub fences: u64,
    /// Of `fences`, those that are [`light`](crate::light).
    pub light_fences: u64,
    /// Of `fences`, those that are [`heavy`](crate::heavy).
    pub heavy_fences: u64,
    /// Of `fences`, those that are [`steal::heavy`](crate::steal::heavy). The owner's half of that pair is among `fences`
    /// unless the caller knows that it binds the compiler only ([`steal::light_asymmetric`](crate::steal::light_asymmetric)).
    pub steal_heavy_fences: u64,
    /// Mutex acquisitions, attempts included.
    pub locks: u64,
    /// Calls of `thread::park` and `thread::park_timeout`.
    pub parks: u64,
    /// Calls of `Thread::unpark`.
    pub unparks: u64,
}

impl Counts {
    /// The calling thread's totals; zeros unless built with `--cfg terrace_count`.
    /// [`Counts::of`] has an example.
    #[inline]
    #[must_use = "the call only reads a value"]
    pub fn now() -> Self {
        #[cfg(all(terrace_count, feature = "std"))]
        return TOTALS.with_borrow(|totals| *totals);
        #[cfg(not(all(terrace_count, feature = "std")))]
        return Self::default();
    }

    /// The costs of `f` on this thread.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_sync::{atomic::{AtomicU32, Ordering}, count::Counts};
    ///
    /// let word = AtomicU32::new(0);
    /// let cost = Counts::of(|| word.fetch_add(1, Ordering::Relaxed));
    /// assert!(cost.rmws <= 1); // 1 under `terrace_count`, else 0
    /// ```
    pub fn of<R>(f: impl FnOnce() -> R) -> Self {
        let before = Self::now();
        f();
        Self::now() - before
    }
}

impl Sub for Counts {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            rmws: self.rmws - earlier.rmws,
            fences: self.fences - earlier.fences,
            light_fences: self.light_fences - earlier.light_fences,
            heavy_fences: self.heavy_fences - earlier.heavy_fences,
            steal_heavy_fences: self.steal_heavy_fences - earlier.steal_heavy_fences,
            locks: self.locks - earlier.locks,
            parks: self.parks - earlier.parks,
            unparks: self.unparks - earlier.unparks,
        }
    }
}

#[cfg(all(terrace_count, feature = "std"))]
std::thread_local! {
    static TOTALS: core::cell::RefCell<Counts> = core::cell::RefCell::default();
}

macro_rules! counters {
    ($($name:ident => $field:ident),+ $(,)?) => {$(
        #[inline(always)]
        pub(crate) fn $name() {
            #[cfg(all(terrace_jitter, feature = "std"))]
            crate::jitter::step();
            #[cfg(all(terrace_count, feature = "std"))]
            TOTALS.with_borrow_mut(|totals| totals.$field += 1);
        }
    )+};
}

counters! {
    rmw => rmws,
    fence => fences,
    light_fence => light_fences,
    heavy_fence => heavy_fences,
    steal_heavy_fence => steal_heavy_fences,
}

#[cfg(feature = "std")]
counters! {
    lock => locks,
    park => parks,
    unpark => unparks,
}
