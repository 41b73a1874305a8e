//! Atomic integers, pointers and fences: one API over the three backends.
//!
//! Differences to `std`: no `get_mut` (use `with_mut`), no `SeqCst` by convention, and only the
//! operations all backends have.
//!
//! `AtomicU64` is missing where the target has no 64-bit atomics, unless feature `portable-atomic` is on.
//!
//! # Under loom
//!
//! loom decides which schedules to try from the *last* access to an object alone, and does not let a load depend on a
//! load. Take `A: load X` against `B: load X; compare-exchange X`. B's own load hides A's, and loom tries no schedule
//! in which B comes first (loom 0.7.2, `rt/atomic.rs`, `last_dependent_access`). Most lock-free code is a load followed
//! by a compare-exchange. Upstream: tokio-rs/loom issues 166 and 392.
//!
//! So each atomic has a companion there, and each operation begins with a relaxed read-modify-write of it. These all
//! depend on each other, so the last one suffices for loom's decision. They order nothing else: a relaxed
//! read-modify-write neither acquires nor releases. And one ordering of the program may be weakened at run time:
//! `atomic/weakened.rs`.

use crate::count;

/// The atomics of the machine, those that it lacks out of `portable-atomic`.
#[cfg(not(any(terrace_loom, terrace_shuttle)))]
mod backend {
    #[cfg(target_has_atomic = "64")]
    pub(super) use core::sync::atomic::AtomicU64;
    #[cfg(target_has_atomic = "ptr")]
    pub(super) use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, fence};
    #[cfg(all(not(target_has_atomic = "64"), feature = "portable-atomic"))]
    pub(super) use portable_atomic::AtomicU64;
    #[cfg(not(target_has_atomic = "ptr"))]
    pub(super) use portable_atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, fence};
}
#[cfg(terrace_loom)]
mod weakened;
#[cfg(terrace_loom)]
use loom::sync::atomic as backend;
#[cfg(terrace_shuttle)]
use shuttle::sync::atomic as backend;
#[cfg(terrace_loom)]
use weakened::order as swept;

/// The place of an operation's only ordering, and of a successful exchange's.
const FIRST: u8 = 0;
/// The place of a failed exchange's ordering.
const FAILURE: u8 = 1;

/// The ordering that an operation has: the one that its caller says, outside of the sweep of loom's models.
#[cfg(not(terrace_loom))]
#[inline(always)]
fn swept(_: u8, order: Ordering) -> Ordering {
    order
}

pub use core::sync::atomic::Ordering;

/// An atomic fence, as `std::sync::atomic::fence`.
///
/// Under `terrace_tsan` it also performs an `AcqRel` read-modify-write on one global word.
/// ThreadSanitizer ignores fences; so it sees an edge between any two of them.
///
/// Handshakes between a publisher and a sleeper use [`light`](crate::light) and
/// [`heavy`](crate::heavy) instead.
///
/// # Examples
///
/// ```
/// use terrace_sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};
/// use terrace_sync::hint::spin_loop;
///
/// static ANSWER: AtomicU32 = AtomicU32::new(0);
/// static IS_THERE: AtomicBool = AtomicBool::new(false);
///
/// let writer = terrace_sync::thread::spawn(|| {
///     ANSWER.store(42, Ordering::Relaxed);
///     fence(Ordering::Release);
///     IS_THERE.store(true, Ordering::Relaxed);
/// });
/// while !IS_THERE.load(Ordering::Relaxed) {
///     spin_loop();
/// }
/// fence(Ordering::Acquire);
/// assert_eq!(ANSWER.load(Ordering::Relaxed), 42);
/// writer.join().unwrap();
/// ```
#[inline(always)]
#[cfg_attr(terrace_loom, track_caller)]
pub fn fence(order: Ordering) {
    count::fence();
    backend::fence(swept(FIRST, order));
    #[cfg(terrace_tsan)]
    {
        static EDGE: core::sync::atomic::AtomicU32 = core::sync::atomic::AtomicU32::new(0);
        // Ordering: AcqRel on one word orders any two fences, as SeqCst fences promise.
        EDGE.fetch_add(1, Ordering::AcqRel);
    }
}

/// The operations every atomic type has.
macro_rules! common {
    ($name:ident, $value:ty) => {
        const_fn! {
            /// A new atomic holding `value`. The [type](Self) has an example.
            #[inline]
            #[cfg_attr(terrace_loom, track_caller)]
            pub const fn new(value: $value) -> Self {
                Self(
                    backend::$name::new(value),
                    #[cfg(terrace_loom)]
                    backend::AtomicUsize::new(0),
                )
            }
        }

        /// Under loom, a scheduling point that depends on every other access to the same atomic.
        #[inline(always)]
        #[cfg_attr(terrace_loom, track_caller)]
        fn touch(&self) {
            #[cfg(terrace_loom)]
            self.1.fetch_add(1, Ordering::Relaxed);
        }

        /// Loads the value. The [type](Self) has an example.
        #[inline(always)]
        #[cfg_attr(terrace_loom, track_caller)]
        pub fn load(&self, order: Ordering) -> $value {
            self.touch();
            self.0.load(swept(FIRST, order))
        }

        /// Stores a value. The [type](Self) has an example.
        #[inline(always)]
        #[cfg_attr(terrace_loom, track_caller)]
        pub fn store(&self, value: $value, order: Ordering) {
            self.touch();
            self.0.store(value, swept(FIRST, order));
        }

        /// Stores a value and returns the previous one. One RMW. The [type](Self) has an example.
        #[inline(always)]
        #[cfg_attr(terrace_loom, track_caller)]
        pub fn swap(&self, value: $value, order: Ordering) -> $value {
            count::rmw();
            self.touch();
            self.0.swap(value, swept(FIRST, order))
        }

        /// Stores `new` if the value is `current`. One RMW, also when it fails. The [type](Self) has an example.
        ///
        /// # Errors
        /// The value found, if it was not `current`.
        #[inline(always)]
        #[cfg_attr(terrace_loom, track_caller)]
        pub fn compare_exchange(
            &self,
            current: $value,
            new: $value,
            success: Ordering,
            failure: Ordering,
        ) -> Result<$value, $value> {
            count::rmw();
            self.touch();
            let (success, failure) = (swept(FIRST, success), swept(FAILURE, failure));
            self.0.compare_exchange(current, new, success, failure)
        }

        /// As [`compare_exchange`](Self::compare_exchange), but it may fail without a reason. The [type](Self) has an example.
        ///
        /// # Errors
        /// The value found.
        #[inline(always)]
        #[cfg_attr(terrace_loom, track_caller)]
        pub fn compare_exchange_weak(
            &self,
            current: $value,
            new: $value,
            success: Ordering,
            failure: Ordering,
        ) -> Result<$value, $value> {
            count::rmw();
            self.touch();
            let (success, failure) = (swept(FIRST, success), swept(FAILURE, failure));
            self.0.compare_exchange_weak(current, new, success, failure)
        }

        /// Consumes the atomic and returns its value. The [type](Self) has an example.
        #[inline]
        #[cfg_attr(terrace_loom, track_caller)]
        pub fn into_inner(self) -> $value {
            self.0.into_inner()
        }
    };
}

/// `with_mut`, which loom's `AtomicBool` alone lacks.
macro_rules! with_mut {
    ($value:ty) => {
        /// Runs `f` on the value: exclusive access needs no atomic operation. The [type](Self) has an example.
        #[inline]
        #[cfg_attr(terrace_loom, track_caller)]
        pub fn with_mut<R>(&mut self, f: impl FnOnce(&mut $value) -> R) -> R {
            #[cfg(terrace_loom)]
            return self.0.with_mut(f);
            #[cfg(not(terrace_loom))]
            return f(self.0.get_mut());
        }
    };
}

macro_rules! rmw {
    ($value:ty: $($(#[$doc:meta])* $op:ident),+) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[cfg_attr(terrace_loom, track_caller)]
        pub fn $op(&self, value: $value, order: Ordering) -> $value {
            count::rmw();
            self.touch();
            self.0.$op(value, swept(FIRST, order))
        }
    )+};
}

macro_rules! integer {
    ($name:ident, $value:ty) => {
        #[doc = concat!("An atomic `", stringify!($value), "`.")]
        ///
        /// # Examples
        ///
        /// ```
        #[doc = concat!("use terrace_sync::atomic::{", stringify!($name), ", Ordering::Relaxed};")]
        ///
        #[doc = concat!("let number = ", stringify!($name), "::new(1);")]
        /// number.store(2, Relaxed);
        /// assert_eq!(number.load(Relaxed), 2);
        /// assert_eq!(number.swap(7, Relaxed), 2);
        /// assert_eq!(number.compare_exchange(2, 8, Relaxed, Relaxed), Err(7));
        /// while number.compare_exchange_weak(7, 8, Relaxed, Relaxed).is_err() {}
        /// assert_eq!(number.into_inner(), 8);
        ///
        #[doc = concat!("let mut number = ", stringify!($name), "::new(12);")]
        /// assert_eq!(number.fetch_add(3, Relaxed), 12);
        /// assert_eq!(number.fetch_sub(1, Relaxed), 15);
        /// assert_eq!(number.fetch_and(0b0111, Relaxed), 0b1110);
        /// assert_eq!(number.fetch_or(0b1000, Relaxed), 0b0110);
        /// assert_eq!(number.fetch_xor(0b1111, Relaxed), 0b1110);
        /// assert_eq!(number.fetch_max(5, Relaxed), 1);
        /// assert_eq!(number.fetch_min(3, Relaxed), 5);
        /// assert_eq!(number.fetch_update(Relaxed, Relaxed, |n| Some(n * 2)), Ok(3));
        /// number.with_mut(|n| *n += 1);
        /// assert_eq!(number.into_inner(), 7);
        /// ```
        #[derive(Debug)]
        #[cfg_attr(not(terrace_loom), repr(transparent))]
        pub struct $name(backend::$name, #[cfg(terrace_loom)] backend::AtomicUsize);

        impl $name {
            common!($name, $value);
            with_mut!($value);
            rmw!($value:
                /// Adds, wrapping; returns the previous value. One RMW. The [type](Self) has an example.
                fetch_add,
                /// Subtracts, wrapping; returns the previous value. One RMW. The [type](Self) has an example.
                fetch_sub,
                /// Bitwise and; returns the previous value. One RMW. The [type](Self) has an example.
                fetch_and,
                /// Bitwise or; returns the previous value. One RMW. The [type](Self) has an example.
                fetch_or,
                /// Bitwise exclusive or; returns the previous value. One RMW. The [type](Self) has an example.
                fetch_xor,
                /// Maximum; returns the previous value. One RMW. The [type](Self) has an example.
                fetch_max,
                /// Minimum; returns the previous value. One RMW. The [type](Self) has an example.
                fetch_min
            );

            /// Replaces the value by `f` of it until that succeeds or `f` says `None`. One RMW an attempt.
            /// The [type](Self) has an example.
            ///
            /// # Errors
            /// The value for which `f` said `None`.
            #[inline]
            #[cfg_attr(terrace_loom, track_caller)]
            pub fn fetch_update(
                &self,
                set: Ordering,
                fetch: Ordering,
                mut f: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut seen = self.load(fetch);
                while let Some(next) = f(seen) {
                    match self.compare_exchange_weak(seen, next, set, fetch) {
                        Ok(previous) => return Ok(previous),
                        Err(found) => seen = found,
                    }
                }
                Err(seen)
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new(0)
            }
        }
    };
}

integer!(AtomicU32, u32);
#[cfg(any(target_has_atomic = "64", feature = "portable-atomic"))]
integer!(AtomicU64, u64);
integer!(AtomicUsize, usize);

/// An atomic `bool`.
///
/// # Examples
///
/// ```
/// use terrace_sync::atomic::{AtomicBool, Ordering::Relaxed};
///
/// let flag = AtomicBool::new(false);
/// flag.store(true, Relaxed);
/// assert!(flag.load(Relaxed));
/// assert!(flag.swap(false, Relaxed));
/// assert_eq!(flag.compare_exchange(true, false, Relaxed, Relaxed), Err(false));
/// while flag.compare_exchange_weak(false, true, Relaxed, Relaxed).is_err() {}
/// assert!(flag.fetch_and(false, Relaxed));
/// assert!(!flag.fetch_or(true, Relaxed));
/// assert!(flag.fetch_xor(true, Relaxed));
/// assert!(!flag.into_inner());
/// ```
#[derive(Debug)]
#[cfg_attr(not(terrace_loom), repr(transparent))]
pub struct AtomicBool(
    backend::AtomicBool,
    #[cfg(terrace_loom)] backend::AtomicUsize,
);

impl AtomicBool {
    common!(AtomicBool, bool);
    rmw!(bool:
        /// Logical and; returns the previous value. One RMW. The [type](Self) has an example.
        fetch_and,
        /// Logical or; returns the previous value. One RMW. The [type](Self) has an example.
        fetch_or,
        /// Logical exclusive or; returns the previous value. One RMW. The [type](Self) has an example.
        fetch_xor
    );
}

impl Default for AtomicBool {
    fn default() -> Self {
        Self::new(false)
    }
}

/// An atomic pointer.
///
/// # Examples
///
/// ```
/// use terrace_sync::atomic::{AtomicPtr, Ordering};
///
/// let (mut one, mut other) = (1, 2);
/// let pointer = AtomicPtr::new(&raw mut one);
/// assert_eq!(pointer.swap(&raw mut other, Ordering::AcqRel), &raw mut one);
/// assert_eq!(pointer.load(Ordering::Acquire), &raw mut other);
///
/// let [first, second] = [&raw mut one, &raw mut other];
/// pointer.store(first, Ordering::Release);
/// let exchanged = pointer.compare_exchange(second, first, Ordering::AcqRel, Ordering::Acquire);
/// assert_eq!(exchanged, Err(first));
/// while pointer.compare_exchange_weak(first, second, Ordering::AcqRel, Ordering::Acquire).is_err() {}
/// let mut pointer = pointer;
/// assert_eq!(pointer.with_mut(|inner| std::mem::replace(inner, first)), second);
/// assert_eq!(pointer.into_inner(), first);
/// ```
#[derive(Debug)]
#[cfg_attr(not(terrace_loom), repr(transparent))]
pub struct AtomicPtr<T>(
    backend::AtomicPtr<T>,
    #[cfg(terrace_loom)] backend::AtomicUsize,
);

impl<T> AtomicPtr<T> {
    common!(AtomicPtr, *mut T);
    with_mut!(*mut T);
}

impl<T> Default for AtomicPtr<T> {
    fn default() -> Self {
        Self::new(core::ptr::null_mut())
    }
}
