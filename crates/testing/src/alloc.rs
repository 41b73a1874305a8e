//! Counting allocations.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

terrace_sync::native_thread_local! {
    /// Allocations of the current thread: the test harness's own threads allocate when they like.
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    /// Of these, and of other threads', what the current thread has freed.
    static FREED: Cell<usize> = const { Cell::new(0) };
}

/// How often the current thread has allocated, if [`CountingAllocator`] is the program's allocator.
#[must_use]
pub fn allocations() -> usize {
    ALLOCATIONS.with(Cell::get)
}

/// How often the current thread has freed an allocation, if [`CountingAllocator`] is the program's allocator.
#[must_use]
pub fn freed() -> usize {
    FREED.with(Cell::get)
}

/// The system's allocator, which counts for [`allocations`] and [`freed`].
///
/// ```
/// use terrace_testing::{CountingAllocator, allocations, freed};
///
/// #[global_allocator]
/// static ALLOCATOR: CountingAllocator = CountingAllocator;
///
/// let before = (allocations(), freed());
/// drop(Box::new(1));
/// assert_eq!((allocations() - before.0, freed() - before.1), (1, 1));
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
        FREED.with(|count| count.set(count.get() + 1));
        // SAFETY: the pointer comes from `alloc` above, and so from the system's allocator, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}
