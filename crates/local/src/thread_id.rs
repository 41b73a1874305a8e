//! Thread identities that are never reused.

use terrace_sync::atomic::{AtomicU64, Ordering};

terrace_sync::global! {
    static NEXT_ID: AtomicU64 = AtomicU64::new(1);
}

terrace_sync::thread_local! {
    /// This thread's id; plain data without a destructor, readable at any time in the thread's life.
    static ID: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// The current thread's id: a number that no other thread of the process has or will have. One thread-local
/// load after the first call.
#[inline]
#[must_use]
pub fn thread_id() -> u64 {
    let id = ID.with(std::cell::Cell::get);
    if id != 0 { id } else { new_thread_id() }
}

#[cold]
fn new_thread_id() -> u64 {
    // Ordering: Relaxed, only uniqueness counts.
    let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
    ID.with(|cell| cell.set(id));
    id
}
