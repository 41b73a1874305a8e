//! What a deque's job is to the deque: one word.

use core::ptr::NonNull;

/// A job of a fork deque: a copy of one word, mostly a pointer to the frame of the thread that joins.
///
/// # Safety
///
/// `from_raw` returns the value that `into_raw` was given, on any thread.
pub unsafe trait Word: Copy {
    /// The job as a word.
    fn into_raw(self) -> *mut ();

    /// The job that became this word.
    ///
    /// # Safety
    ///
    /// The word came out of `into_raw` of this type.
    unsafe fn from_raw(raw: *mut ()) -> Self;
}

// SAFETY: the address is the number.
unsafe impl Word for usize {
    #[inline(always)]
    fn into_raw(self) -> *mut () {
        core::ptr::without_provenance_mut(self)
    }

    #[inline(always)]
    unsafe fn from_raw(raw: *mut ()) -> Self {
        raw.addr()
    }
}

// SAFETY: both casts keep address and provenance.
unsafe impl<J> Word for *const J {
    #[inline(always)]
    fn into_raw(self) -> *mut () {
        self.cast_mut().cast()
    }

    #[inline(always)]
    unsafe fn from_raw(raw: *mut ()) -> Self {
        raw.cast_const().cast()
    }
}

// SAFETY: both casts keep address and provenance.
unsafe impl<J> Word for NonNull<J> {
    #[inline(always)]
    fn into_raw(self) -> *mut () {
        self.as_ptr().cast()
    }

    #[inline(always)]
    unsafe fn from_raw(raw: *mut ()) -> Self {
        // SAFETY: the caller's word was a pointer that is not null.
        unsafe { NonNull::new_unchecked(raw.cast()) }
    }
}

// SAFETY: a reference is its pointer.
unsafe impl<J> Word for &J {
    #[inline(always)]
    fn into_raw(self) -> *mut () {
        core::ptr::from_ref(self).cast_mut().cast()
    }

    #[inline(always)]
    unsafe fn from_raw(raw: *mut ()) -> Self {
        // SAFETY: the caller's word was a reference of this lifetime.
        unsafe { &*raw.cast_const().cast() }
    }
}
