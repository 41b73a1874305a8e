//! loom's atomics, with every access made visible to its search.
//!
//! loom decides which schedules to try from the *last* access to an object alone, and does not let a load depend on a
//! load. Take `A: load X` against `B: load X; compare-exchange X`. B's own load hides A's, and loom tries no schedule
//! in which B comes first (loom 0.7.2, `rt/atomic.rs`, `last_dependent_access`). Most lock-free code is a load followed
//! by a compare-exchange. Upstream: tokio-rs/loom issues 166 and 392.
//!
//! Here each atomic has a companion, and each operation begins with a relaxed read-modify-write of it. These all depend
//! on each other, so the last one suffices for loom's decision. They order nothing else: a relaxed read-modify-write
//! neither acquires nor releases.
//!
//! And here, for all of them, one ordering may be weakened at run time: `weakened`.

use core::sync::atomic::Ordering;

use super::weakened::{self, FAILURE, FIRST};
use loom::sync::atomic as raw;

/// A scheduling point that depends on every other access to the same atomic.
#[track_caller]
fn touch(companion: &raw::AtomicUsize) {
    companion.fetch_add(1, Ordering::Relaxed);
}

macro_rules! tracked {
    ($name:ident $(<$generic:ident>)?, $value:ty: $($op:ident)*) => {
        #[derive(Debug)]
        pub(super) struct $name $(<$generic>)? {
            companion: raw::AtomicUsize,
            value: raw::$name $(<$generic>)?,
        }

        impl $(<$generic>)? $name $(<$generic>)? {
            #[track_caller]
            pub(super) fn new(value: $value) -> Self {
                Self { companion: raw::AtomicUsize::new(0), value: raw::$name::new(value) }
            }

            #[track_caller]
            pub(super) fn load(&self, order: Ordering) -> $value {
                touch(&self.companion);
                self.value.load(weakened::order(FIRST, order))
            }

            #[track_caller]
            pub(super) fn store(&self, value: $value, order: Ordering) {
                touch(&self.companion);
                self.value.store(value, weakened::order(FIRST, order));
            }

            #[track_caller]
            pub(super) fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                touch(&self.companion);
                let success = weakened::order(FIRST, success);
                let failure = weakened::order(FAILURE, failure);
                self.value.compare_exchange(current, new, success, failure)
            }

            #[track_caller]
            pub(super) fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.compare_exchange(current, new, success, failure)
            }

            #[track_caller]
            pub(super) fn into_inner(self) -> $value {
                self.value.into_inner()
            }

            $(
                #[track_caller]
                pub(super) fn $op(&self, value: $value, order: Ordering) -> $value {
                    touch(&self.companion);
                    self.value.$op(value, weakened::order(FIRST, order))
                }
            )*
        }
    };
}

macro_rules! with_mut {
    ($name:ident $(<$generic:ident>)?, $value:ty) => {
        impl $(<$generic>)? $name $(<$generic>)? {
            #[track_caller]
            pub(super) fn with_mut<R>(&mut self, f: impl FnOnce(&mut $value) -> R) -> R {
                self.value.with_mut(f)
            }
        }
    };
}

macro_rules! integer {
    ($name:ident, $value:ty) => {
        tracked!($name, $value: swap fetch_add fetch_sub fetch_and fetch_or fetch_xor fetch_max fetch_min);
        with_mut!($name, $value);
    };
}

integer!(AtomicU32, u32);
integer!(AtomicU64, u64);
integer!(AtomicUsize, usize);
tracked!(AtomicBool, bool: swap fetch_and fetch_or fetch_xor);
tracked!(AtomicPtr<T>, *mut T: swap);
with_mut!(AtomicPtr<T>, *mut T);
