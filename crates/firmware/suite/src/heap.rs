//! The allocator of a machine with one core, for everything but interrupts.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of the heap.
const SIZE: usize = 256 * 1024;

/// Calls of the allocator.
pub(crate) static CALLS: AtomicUsize = AtomicUsize::new(0);
/// Of those, the ones out of interrupts: there must be none.
pub(crate) static FROM_INTERRUPTS: AtomicUsize = AtomicUsize::new(0);

#[repr(align(16))]
struct Memory(UnsafeCell<[u8; SIZE]>);

// SAFETY: only the heap uses it.
unsafe impl Sync for Memory {}

static MEMORY: Memory = Memory(UnsafeCell::new([0; SIZE]));

/// The allocator. It has no lock: only the main program may use it, and a call out of an interrupt is counted and refused.
pub struct Heap {
    in_interrupt: fn() -> bool,
    /// Empty until the first call. Used by the main program alone, for one call at a time.
    heap: UnsafeCell<linked_list_allocator::Heap>,
}

// SAFETY: there is one core, and calls out of interrupts do not touch the heap.
unsafe impl Sync for Heap {}

impl Heap {
    /// The heap; once a program.
    pub const fn new(in_interrupt: fn() -> bool) -> Self {
        Self {
            in_interrupt,
            heap: UnsafeCell::new(linked_list_allocator::Heap::empty()),
        }
    }

    /// The heap itself, unless an interrupt calls.
    fn open(&self) -> Option<*mut linked_list_allocator::Heap> {
        CALLS.fetch_add(1, Ordering::Relaxed);
        if (self.in_interrupt)() {
            FROM_INTERRUPTS.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        let heap = self.heap.get();
        // SAFETY: the main program calls, and no other call of it is in progress.
        let opened = unsafe { &mut *heap };
        if opened.size() == 0 {
            // SAFETY: `MEMORY` is a static that only this heap uses.
            unsafe { opened.init(MEMORY.0.get().cast(), SIZE) };
        }
        Some(heap)
    }
}

// SAFETY: blocks come out of the heap, which keeps them apart; a refused call gives none.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(heap) = self.open() else {
            return core::ptr::null_mut();
        };
        // SAFETY: as in `open`.
        let heap = unsafe { &mut *heap };
        let block = heap.allocate_first_fit(layout);
        block.map_or(core::ptr::null_mut(), NonNull::as_ptr)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let (Some(heap), Some(block)) = (self.open(), NonNull::new(block)) else {
            return;
        };
        // SAFETY: as in `open`.
        let heap = unsafe { &mut *heap };
        // SAFETY: the caller gives back what `alloc` gave, with the same layout.
        unsafe { heap.deallocate(block, layout) };
    }
}
