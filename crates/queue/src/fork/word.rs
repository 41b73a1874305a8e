//! What a deque's job is to the deque: one word.

use core::ptr::NonNull;

/// A job of a fork deque: a copy of one word, mostly a pointer to the frame of the thread that joins.
///
/// # Safety
///
/// `from_raw` returns the value that `into_raw` was given, on any thread.
///
/// # Examples
///
/// ```
/// use std::ptr::without_provenance_mut;
/// use terrace_queue::fork::{Considered, ForkDeque, Gives, Offer, Pace, Word};
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// struct Job(u8);
///
/// // SAFETY: the word is the number, and nothing is behind it.
/// unsafe impl Word for Job {
///     fn into_raw(self) -> *mut () {
///         without_provenance_mut(self.0.into())
///     }
///
///     unsafe fn from_raw(raw: *mut ()) -> Self {
///         Self(raw.addr() as u8)
///     }
/// }
///
/// # let share = |_: Considered| Pace { pushes: 1, offer: Offer::Open, gives: Gives::Asked };
/// let deque = ForkDeque::<Job>::boxed();
/// // SAFETY: one owner handle of this deque.
/// let me = unsafe { deque.owner() };
/// me.push(Job(7), share).unwrap();
/// assert_eq!(deque.force(), Some(Job(7)));
/// ```
pub unsafe trait Word: Copy {
    /// The job as a word. [`Word`] has an example.
    fn into_raw(self) -> *mut ();

    /// The job that became this word. [`Word`] has an example.
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
