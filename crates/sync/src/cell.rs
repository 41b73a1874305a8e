//! [`UnsafeCell`] in closure style, so that loom sees where each access begins and ends.

/// Interior mutability without a check on `std`; under loom every access is tracked and a race between
/// two of them fails the model.
///
/// The pointer must not leave the closure: the access counts as over when the closure returns.
///
/// # Examples
///
/// ```
/// use terrace_sync::cell::UnsafeCell;
///
/// let mut cell = UnsafeCell::new(1);
/// // SAFETY: this thread alone has the cell.
/// cell.with_mut(|value| unsafe { *value += 1 });
/// // SAFETY: as above.
/// assert_eq!(cell.with(|value| unsafe { *value }), 2);
/// *cell.get_mut() += 1;
/// assert_eq!(cell.into_inner(), 3);
/// ```
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct UnsafeCell<T>(
    #[cfg(terrace_loom)] loom::cell::UnsafeCell<T>,
    #[cfg(not(terrace_loom))] core::cell::UnsafeCell<T>,
);

impl<T> UnsafeCell<T> {
    const_fn! {
        /// A cell holding `value`. The [type](Self) has an example.
        #[inline]
        #[cfg_attr(terrace_loom, track_caller)]
        pub const fn new(value: T) -> Self {
            #[cfg(terrace_loom)]
            return Self(loom::cell::UnsafeCell::new(value));
            #[cfg(not(terrace_loom))]
            return Self(core::cell::UnsafeCell::new(value));
        }
    }

    /// Runs `f` on a pointer to the value: a read. The [type](Self) has an example.
    #[inline(always)]
    #[cfg_attr(terrace_loom, track_caller)]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        #[cfg(terrace_loom)]
        return self.0.with(f);
        #[cfg(not(terrace_loom))]
        return f(self.0.get());
    }

    /// Runs `f` on a pointer to the value: a write. The [type](Self) has an example.
    #[inline(always)]
    #[cfg_attr(terrace_loom, track_caller)]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        #[cfg(terrace_loom)]
        return self.0.with_mut(f);
        #[cfg(not(terrace_loom))]
        return f(self.0.get());
    }

    /// The value, through an exclusive borrow. The [type](Self) has an example.
    #[inline(always)]
    #[cfg_attr(terrace_loom, track_caller)]
    pub fn get_mut(&mut self) -> &mut T {
        #[cfg(terrace_loom)]
        {
            let pointer = self.0.with_mut(|pointer| pointer);
            // SAFETY: `&mut self` keeps every other access out for as long as the result lives.
            unsafe { &mut *pointer }
        }
        #[cfg(not(terrace_loom))]
        self.0.get_mut()
    }

    /// Consumes the cell and returns the value. The [type](Self) has an example.
    #[inline]
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}
