//! A cell written once.
//!
//! | build | the cell is |
//! |---|---|
//! | with `std` | `std`'s: other threads wait for the one that is writing |
//! | with `std`, under a checker | the same, made of modelled parts: a lock for writers, around the cell without `std` |
//! | without `std` | one where nothing waits, so it may be used in interrupts |

#[cfg(not(feature = "std"))]
pub use bare::OnceLock;
#[cfg(all(feature = "std", any(terrace_loom, terrace_shuttle)))]
pub use modelled::OnceLock;
#[cfg(all(feature = "std", not(any(terrace_loom, terrace_shuttle))))]
#[doc(no_inline)]
pub use std::sync::OnceLock;

#[cfg(all(feature = "std", any(terrace_loom, terrace_shuttle)))]
mod modelled {
    use super::bare;
    use crate::mutex::Mutex;

    /// `std`'s cell, under a checker.
    #[derive(Debug)]
    pub struct OnceLock<T> {
        writers: Mutex<()>,
        cell: bare::OnceLock<T>,
    }

    impl<T> OnceLock<T> {
        /// An empty cell.
        pub fn new() -> Self {
            Self {
                writers: Mutex::new(()),
                cell: bare::OnceLock::new(),
            }
        }

        /// The value, if it was written.
        pub fn get(&self) -> Option<&T> {
            self.cell.get()
        }

        /// Writes the value.
        ///
        /// # Errors
        /// The value, if the cell was written before.
        pub fn set(&self, value: T) -> Result<(), T> {
            let _alone = self.writers.lock();
            self.cell.set(value)
        }

        /// The value, written by `f` if the cell was empty. At most one `f` runs; others wait for it.
        pub fn get_or_init(&self, f: impl FnOnce() -> T) -> &T {
            if let Some(value) = self.get() {
                return value;
            }
            let _alone = self.writers.lock();
            self.cell.get_or_init(f)
        }

        /// Empties the cell and returns the value, if it was written.
        pub fn take(&mut self) -> Option<T> {
            self.cell.take()
        }
    }

    impl<T> Default for OnceLock<T> {
        fn default() -> Self {
            Self::new()
        }
    }
}

#[cfg(any(not(feature = "std"), terrace_loom, terrace_shuttle))]
#[cfg_attr(
    any(terrace_loom, terrace_shuttle),
    expect(
        unreachable_pub,
        reason = "under a checker it is what the modelled one is made of"
    )
)]
mod bare {
    //! | state | `get` | `set` |
    //! |---|---|---|
    //! | `EMPTY` | `None` | → `WRITING`, writes, → `WRITTEN` |
    //! | `WRITING` | `None` | gives the value back |
    //! | `WRITTEN` | the value | gives the value back |

    use core::mem::MaybeUninit;

    use crate::atomic::{AtomicUsize, Ordering};
    use crate::cell::UnsafeCell;

    const EMPTY: usize = 0;
    const WRITING: usize = 1;
    const WRITTEN: usize = 2;

    /// A cell that is written at most once and read from any context. No method waits: during a write the cell
    /// counts as empty for readers and as full for writers.
    #[derive(Debug)]
    pub struct OnceLock<T> {
        state: AtomicUsize,
        /// Written by the context that made the state `WRITING`; initialised and only read once it is `WRITTEN`.
        value: UnsafeCell<MaybeUninit<T>>,
    }

    // SAFETY: one context moves the value in and others read it, hence `Send` and `Sync`; the owner of the cell drops it.
    unsafe impl<T: Send + Sync> Sync for OnceLock<T> {}

    impl<T> OnceLock<T> {
        const_fn! {
            /// An empty cell.
            #[must_use = "a cell is empty until it is set"]
            pub const fn new() -> Self {
                Self {
                    state: AtomicUsize::new(EMPTY),
                    value: UnsafeCell::new(MaybeUninit::uninit()),
                }
            }
        }

        /// The value, if it was written.
        #[inline]
        pub fn get(&self) -> Option<&T> {
            // Ordering: Acquire pairs with the Release in `set`: the value is seen with the state.
            if self.state.load(Ordering::Acquire) != WRITTEN {
                return None;
            }
            self.value.with(|value| {
                // SAFETY: the state was WRITTEN, and from then on the value is only read.
                let value = unsafe { &*value };
                // SAFETY: the state says that it is initialised.
                Some(unsafe { value.assume_init_ref() })
            })
        }

        /// Writes the value. One RMW.
        ///
        /// # Errors
        /// Gives `value` back if the cell was written before, or is being written.
        pub fn set(&self, value: T) -> Result<(), T> {
            // Ordering: Relaxed; the exchange alone decides which context writes.
            let claimed =
                self.state
                    .compare_exchange(EMPTY, WRITING, Ordering::Relaxed, Ordering::Relaxed);
            if claimed.is_err() {
                return Err(value);
            }
            // SAFETY: this context moved the state from EMPTY to WRITING: no other writes, and none reads before WRITTEN.
            self.value
                .with_mut(|slot| unsafe { slot.write(MaybeUninit::new(value)) });
            // Ordering: Release pairs with the Acquire in `get`.
            self.state.store(WRITTEN, Ordering::Release);
            Ok(())
        }

        /// The value, written by `f` if the cell was empty. If an interrupt writes it while `f` runs, the value of `f` is dropped.
        ///
        /// # Panics
        /// If the code that was interrupted is writing it: that cannot be waited for.
        pub fn get_or_init(&self, f: impl FnOnce() -> T) -> &T {
            if let Some(value) = self.get() {
                return value;
            }
            drop(self.set(f()));
            self.get()
                .expect("the code that was interrupted is writing the cell")
        }

        /// Empties the cell and returns the value, if it was written.
        pub fn take(&mut self) -> Option<T> {
            let written = self
                .state
                .with_mut(|state| core::mem::replace(state, EMPTY) == WRITTEN);
            // SAFETY: the state said that it is initialised, and says now that it is not.
            written.then(|| unsafe { self.value.get_mut().assume_init_read() })
        }
    }

    impl<T> Default for OnceLock<T> {
        fn default() -> Self {
            Self::new()
        }
    }

    impl<T> Drop for OnceLock<T> {
        fn drop(&mut self) {
            drop(self.take());
        }
    }
}
