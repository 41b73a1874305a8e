//! A cell written once.

/// A cell that is written at most once and read by any thread.
///
/// Under a checker every access takes a modelled lock: correct, and slower to explore than `std`'s.
#[derive(Debug, Default)]
pub struct OnceLock<T> {
    #[cfg(any(terrace_loom, terrace_shuttle))]
    lock: crate::Mutex<()>,
    value: std::sync::OnceLock<T>,
}

impl<T> OnceLock<T> {
    const_fn! {
        /// An empty cell.
        pub const fn new() -> Self {
            Self {
                #[cfg(any(terrace_loom, terrace_shuttle))]
                lock: crate::Mutex::new(()),
                value: std::sync::OnceLock::new(),
            }
        }
    }

    /// The value, if it was written.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        #[cfg(any(terrace_loom, terrace_shuttle))]
        let _locked = self.lock.lock();
        self.value.get()
    }

    /// Writes the value.
    ///
    /// # Errors
    /// Gives `value` back if the cell was written before.
    pub fn set(&self, value: T) -> Result<(), T> {
        #[cfg(any(terrace_loom, terrace_shuttle))]
        let _locked = self.lock.lock();
        self.value.set(value)
    }

    /// The value, written by `f` if the cell was empty. At most one `f` runs; others wait for it.
    #[inline]
    pub fn get_or_init(&self, f: impl FnOnce() -> T) -> &T {
        #[cfg(any(terrace_loom, terrace_shuttle))]
        let _locked = self.lock.lock();
        self.value.get_or_init(f)
    }

    /// Consumes the cell and returns the value, if it was written.
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }
}
