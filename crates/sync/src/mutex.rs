//! A mutex without poisoning.

use crate::count;

#[cfg(terrace_shuttle)]
use shuttle::sync as backend;
#[cfg(not(terrace_shuttle))]
use std::sync as backend;

#[cfg_attr(
    terrace_loom,
    expect(
        dead_code,
        unreachable_pub,
        reason = "under loom it is what the modelled one is built of"
    )
)]
mod plain {
    use super::{backend, count};
    use std::sync::{PoisonError, TryLockError};

    /// A mutex. A panic under the lock does not poison it.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_sync::Mutex;
    ///
    /// let mut list = Mutex::new(vec![1]);
    /// let guard = list.lock();
    /// assert!(list.try_lock().is_none());
    /// drop(guard);
    /// list.lock().push(2);
    /// list.get_mut().push(3);
    /// assert_eq!(list.into_inner(), [1, 2, 3]);
    /// ```
    #[derive(Debug, Default)]
    pub struct Mutex<T>(backend::Mutex<T>);

    /// The lock, released on drop.
    pub type MutexGuard<'a, T> = backend::MutexGuard<'a, T>;

    impl<T> Mutex<T> {
        const_fn! {
            /// An unlocked mutex holding `value`. The [type](Self) has an example.
            pub const fn new(value: T) -> Self {
                Self(backend::Mutex::new(value))
            }
        }

        /// Locks, blocking until that is possible. The [type](Self) has an example.
        #[inline]
        pub fn lock(&self) -> MutexGuard<'_, T> {
            count::lock();
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }

        /// Locks if that is possible at once. The [type](Self) has an example.
        #[inline]
        pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            count::lock();
            match self.0.try_lock() {
                Ok(guard) => Some(guard),
                Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => None,
            }
        }

        /// The value, through an exclusive borrow. The [type](Self) has an example.
        pub fn get_mut(&mut self) -> &mut T {
            self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
        }

        /// Consumes the mutex and returns the value. The [type](Self) has an example.
        pub fn into_inner(self) -> T {
            self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
        }
    }
}

/// loom's own mutex issues a SeqCst fence at each lock and unlock, which would hide a fence missing in a
/// protocol around it. This one has exactly a mutex's acquire and release.
///
/// It blocks rather than spins: two threads that spin and yield to each other never let the holder run. Switches happen
/// at loom's operations only. So a failed exchange and the entry in `waiting` are one step. The store that unlocks and
/// the wakes are one step, too: one raw `unpark` for one raw `park`.
#[cfg(terrace_loom)]
mod modelled {
    use super::plain;
    use crate::atomic::{AtomicBool, Ordering};
    use core::ops::{Deref, DerefMut};
    use std::vec::Vec;

    const HELD: &str = "the guard holds the lock until it is dropped";

    /// A mutex. A panic under the lock does not poison it.
    #[derive(Debug, Default)]
    pub struct Mutex<T> {
        locked: AtomicBool,
        /// Threads blocked in `lock`.
        waiting: plain::Mutex<Vec<loom::thread::Thread>>,
        /// Locked only by the thread that set `locked`, so never contended.
        value: plain::Mutex<T>,
    }

    /// The lock, released on drop.
    #[derive(Debug)]
    pub struct MutexGuard<'a, T> {
        mutex: &'a Mutex<T>,
        value: Option<plain::MutexGuard<'a, T>>,
    }

    impl<T> Mutex<T> {
        /// An unlocked mutex holding `value`.
        pub fn new(value: T) -> Self {
            Self {
                locked: AtomicBool::new(false),
                waiting: plain::Mutex::default(),
                value: plain::Mutex::new(value),
            }
        }

        /// Locks, blocking until that is possible.
        #[track_caller]
        pub fn lock(&self) -> MutexGuard<'_, T> {
            loop {
                if let Some(guard) = self.try_lock() {
                    return guard;
                }
                self.waiting.lock().push(loom::thread::current());
                loom::thread::park();
            }
        }

        /// Locks if that is possible at once.
        #[track_caller]
        pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            // Ordering: Acquire pairs with the Release store of the guard dropped last.
            let free =
                self.locked
                    .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
            free.ok().map(|_| MutexGuard {
                mutex: self,
                value: Some(self.value.lock()),
            })
        }

        /// The value, through an exclusive borrow.
        pub fn get_mut(&mut self) -> &mut T {
            self.value.get_mut()
        }

        /// Consumes the mutex and returns the value.
        pub fn into_inner(self) -> T {
            self.value.into_inner()
        }
    }

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            self.value.as_ref().expect(HELD)
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            self.value.as_mut().expect(HELD)
        }
    }

    impl<T> Drop for MutexGuard<'_, T> {
        fn drop(&mut self) {
            self.value = None;
            // Ordering: Release pairs with the Acquire of the next lock.
            self.mutex.locked.store(false, Ordering::Release);
            for thread in self.mutex.waiting.lock().drain(..) {
                thread.unpark();
            }
        }
    }
}

#[cfg(terrace_loom)]
pub use modelled::{Mutex, MutexGuard};
#[cfg(not(terrace_loom))]
pub use plain::{Mutex, MutexGuard};
