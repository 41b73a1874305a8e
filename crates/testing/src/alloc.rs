//! Counting allocations.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

terrace_sync::native_thread_local! {
    /// Allocations of the current thread: the test harness's own threads allocate when they like.
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

/// How often the current thread has allocated, if [`CountingAllocator`] is the program's allocator.
#[must_use]
pub fn allocations() -> usize {
    ALLOCATIONS.with(Cell::get)
}

/// The system's allocator, which counts for [`allocations`].
///
/// ```
/// use terrace_testing::{CountingAllocator, allocations};
///
/// #[global_allocator]
/// static ALLOCATOR: CountingAllocator = CountingAllocator;
///
/// let before = allocations();
/// drop(Box::new(1));
/// assert_eq!(allocations() - before, 1);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CountingAllocator;

// SAFETY: every method hands its arguments to the system's allocator and returns its result. The counter is plain data in a
// constant thread-local, so that counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `alloc`, which is the same here.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer comes from `alloc` above, and so from the system's allocator, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}
