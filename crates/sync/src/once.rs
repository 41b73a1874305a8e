//! A cell written once.

#[cfg(not(feature = "std"))]
pub use bare::OnceLock;
#[cfg(feature = "std")]
pub use hosted::OnceLock;

#[cfg(feature = "std")]
mod hosted {
    //! With `std`: other threads wait for the one that is writing.

    /// A cell that is written at most once and read by any thread.
    ///
    /// Under a checker every access takes a modelled lock: correct, and slower to explore than `std`'s.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_sync::OnceLock;
    ///
    /// static CELL: OnceLock<u32> = OnceLock::new();
    ///
    /// assert_eq!(CELL.get(), None);
    /// assert_eq!(*CELL.get_or_init(|| 42), 42);
    /// assert_eq!(CELL.set(7), Err(7));
    /// ```
    #[derive(Debug)]
    pub struct OnceLock<T> {
        #[cfg(any(terrace_loom, terrace_shuttle))]
        lock: crate::mutex::Mutex<()>,
        value: std::sync::OnceLock<T>,
    }

    impl<T> OnceLock<T> {
        const_fn! {
            /// An empty cell. The [type](Self) has an example.
            pub const fn new() -> Self {
                Self {
                    #[cfg(any(terrace_loom, terrace_shuttle))]
                    lock: crate::mutex::Mutex::new(()),
                    value: std::sync::OnceLock::new(),
                }
            }
        }

        /// The value, if it was written. The [type](Self) has an example.
        #[inline]
        pub fn get(&self) -> Option<&T> {
            #[cfg(any(terrace_loom, terrace_shuttle))]
            let _locked = self.lock.lock();
            self.value.get()
        }

        /// Writes the value. The [type](Self) has an example.
        ///
        /// # Errors
        /// Gives `value` back if the cell was written before.
        pub fn set(&self, value: T) -> Result<(), T> {
            #[cfg(any(terrace_loom, terrace_shuttle))]
            let _locked = self.lock.lock();
            self.value.set(value)
        }

        /// The value, written by `f` if the cell was empty. At most one `f` runs; others wait for it.
        /// The [type](Self) has an example.
        #[inline]
        pub fn get_or_init(&self, f: impl FnOnce() -> T) -> &T {
            #[cfg(any(terrace_loom, terrace_shuttle))]
            let _locked = self.lock.lock();
            self.value.get_or_init(f)
        }

        /// Empties the cell and returns the value, if it was written.
        ///
        /// # Examples
        ///
        /// ```
        /// let mut cell = terrace_sync::OnceLock::new();
        /// cell.set(42).unwrap();
        /// assert_eq!((cell.take(), cell.take()), (Some(42), None));
        /// ```
        pub fn take(&mut self) -> Option<T> {
            self.value.take()
        }
    }

    impl<T> Default for OnceLock<T> {
        fn default() -> Self {
            Self::new()
        }
    }
}

#[cfg(not(feature = "std"))]
mod bare {
    //! Without `std`: nothing waits, so it may be used in interrupts.
    //!
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
        /// An empty cell.
        #[must_use = "a cell is empty until it is set"]
        pub const fn new() -> Self {
            Self {
                state: AtomicUsize::new(EMPTY),
                value: UnsafeCell::new(MaybeUninit::uninit()),
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

        fn take(&mut self) -> Option<T> {
            let written = self
                .state
                .with_mut(|state| core::mem::replace(state, EMPTY) == WRITTEN);
            // SAFETY: the state said that it is initialised, and says now that it is not.
            written.then(|| unsafe { self.value.get_mut().assume_init_read() })
        }

        /// Consumes the cell and returns the value, if it was written.
        pub fn into_inner(mut self) -> Option<T> {
            self.take()
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
