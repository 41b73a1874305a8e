//! [`OnOwner`]: the proof that the current thread may use the part of a value that is bound to its owner's thread.

use core::marker::PhantomData;
use core::ops::Deref;

/// A reference to `T`, with the proof that the current thread owns `T`.
///
/// The methods of `T` that only the owner may call are methods of `OnOwner<'_, T>`, so they are safe. A check of the
/// thread's number creates the proof (`LocalCore::on_owner`), or a type that stays on the
/// owner's thread. It is as large as the reference, and stays on its thread, too.
pub struct OnOwner<'a, T: ?Sized> {
    of: &'a T,
    /// Neither Send nor Sync.
    _thread: PhantomData<*mut ()>,
}

impl<T: ?Sized> Clone for OnOwner<'_, T> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for OnOwner<'_, T> {}

impl<'a, T: ?Sized> OnOwner<'a, T> {
    /// The proof for `of`.
    ///
    /// # Safety
    /// The current thread is the owner of `of`, or `of` has no owner yet, or no other thread knows of it. No other thread has an `OnOwner` for it while
    /// this one, or a copy of it, exists.
    #[inline]
    pub unsafe fn assume(of: &'a T) -> Self {
        Self {
            of,
            _thread: PhantomData,
        }
    }

    /// The proof for a part of the value.
    ///
    /// # Safety
    /// The part has the same owner as the value.
    #[inline]
    pub(crate) unsafe fn part<P>(self, part: impl FnOnce(&'a T) -> &'a P) -> OnOwner<'a, P> {
        OnOwner {
            of: part(self.of),
            _thread: PhantomData,
        }
    }

    /// The value, without the proof.
    #[inline]
    pub fn get(self) -> &'a T {
        self.of
    }
}

impl<T: ?Sized> Deref for OnOwner<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.of
    }
}
