//! [`thread_id`]: the number of the calling thread, which is never reused. Without feature `std` it is what the program's
//! [`context!`](crate::context!) says.

#[cfg(feature = "std")]
use terrace_sync::atomic::{AtomicU64, Ordering};
#[cfg(feature = "std")]
use terrace_sync::thread::lasting;

/// The number of a thread; never 0.
#[cfg(feature = "std")]
pub type ThreadNumber = u64;

/// The number of a context; never 0.
#[cfg(not(feature = "std"))]
pub type ThreadNumber = usize;

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
#[cfg(feature = "std")]
#[inline]
#[must_use = "the call only reads a value"]
pub fn thread_id() -> ThreadNumber {
    let id = lasting::get();
    if id != 0 { id } else { new_thread_id() }
}

#[cfg(feature = "std")]
#[cold]
fn new_thread_id() -> u64 {
    terrace_sync::global! {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
    }

    // Ordering: Relaxed. Nothing but the number follows from it.
    let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
    lasting::set(id);
    id
}

/// The number of the calling context, as the program's [`context!`](crate::context!) says.
#[cfg(not(feature = "std"))]
#[inline]
#[must_use = "the call only reads a value"]
pub fn thread_id() -> ThreadNumber {
    crate::context::context_id().get()
}
