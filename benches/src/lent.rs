//! Executors that are lent to their tasks for as long as a row lasts.

use std::ptr::NonNull;

/// A value on the heap that may be referred to without a lifetime, and is dropped with this owner.
///
/// Tasks that spawn have to name their executor. Applications keep it in a `static`; a row has one of its own, ends
/// all its tasks, and then drops it with its threads.
pub struct Lent<T: 'static>(NonNull<T>);

// SAFETY: it is the value's only owner, as a Box is.
unsafe impl<T: Send> Send for Lent<T> {}
// SAFETY: it gives out shared references only.
unsafe impl<T: Sync> Sync for Lent<T> {}

impl<T> Lent<T> {
    /// Moves `value` to the heap.
    pub fn new(value: T) -> Self {
        Self(NonNull::from(Box::leak(Box::new(value))))
    }

    /// The value, without a lifetime.
    ///
    /// # Safety
    /// The reference is not used any more when the owner is dropped, except by tasks that the value's own
    /// destructor ends.
    pub unsafe fn get(&self) -> &'static T {
        // SAFETY: the value lives until the owner is dropped; the caller answers for the rest.
        unsafe { self.0.as_ref() }
    }
}

impl<T> Drop for Lent<T> {
    fn drop(&mut self) {
        // SAFETY: the pointer is that of the Box made in `new`. Callers of `get` promised to use it
        // no more when the owner is dropped.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// An executor of a row.
#[cfg(feature = "local")]
pub enum Owned<T: 'static> {
    /// Dropped with the row.
    Row(Lent<T>),
    /// Never dropped: a static kind, a few words when it is empty.
    Ever(&'static T),
}

#[cfg(feature = "local")]
impl<T> Owned<T> {
    /// Dropped with the row.
    pub fn row(value: T) -> Self {
        Self::Row(Lent::new(value))
    }

    /// The value, without a lifetime.
    pub(crate) fn get(&self) -> &'static T {
        match self {
            // SAFETY: the contenders of this package end their threads before it is dropped, the workloads their tasks.
            Self::Row(lent) => unsafe { lent.get() },
            Self::Ever(value) => value,
        }
    }
}
