//! [`thread_id`]: the number of the calling thread, which is never reused. Without feature `std` it is what the program's
//! [`context!`](crate::context!) says.

#[cfg(feature = "std")]
pub use hosted::{ThreadNumber, thread_id};

#[cfg(not(feature = "std"))]
pub use bare::{ThreadNumber, thread_id};

#[cfg(feature = "std")]
mod hosted {
    //! Threads of an operating system.

    use terrace_sync::atomic::{AtomicU64, Ordering};
    use terrace_sync::thread::LastingNumber;

    /// The number of a thread; never 0.
    pub type ThreadNumber = u64;

    terrace_sync::global! {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
    }

    /// The current thread's id: a number that no other thread of the process has or will have. It stays the same in destructors of
    /// thread-locals, on each target. One thread-local load after the first call.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_local::thread_id;
    ///
    /// assert_eq!(thread_id(), thread_id());
    /// assert_ne!(thread_id(), std::thread::spawn(thread_id).join().unwrap());
    /// ```
    #[inline]
    #[must_use]
    pub fn thread_id() -> ThreadNumber {
        let id = LastingNumber.get();
        if id != 0 { id } else { new_thread_id() }
    }

    #[cold]
    fn new_thread_id() -> u64 {
        // Ordering: Relaxed. Nothing but the number follows from it.
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        LastingNumber.set(id);
        id
    }
}

#[cfg(not(feature = "std"))]
mod bare {
    //! Contexts of a program without threads.

    /// The number of a context; never 0.
    pub type ThreadNumber = usize;

    /// The number of the calling context, as the program's [`context!`](crate::context!) says.
    #[inline]
    #[must_use]
    pub fn thread_id() -> ThreadNumber {
        crate::context::current().get()
    }
}
