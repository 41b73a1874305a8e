//! [`Block`]: which children of a group have woken it.
//!
//! | the end of a child (`set`)                       | a poll of the group (`take`)                   |
//! |--------------------------------------------------|------------------------------------------------|
//! | 1. sets its bit                                  | 1. takes all bits                              |
//! | 2. no bit was set before: wakes the group's task | 2. polls the children that they name           |
//!
//! A child that finds another bit set does not wake. The child that set the first of these bits wakes after that, and no poll
//! has taken the bits so far. So the poll that follows that wake takes both.

use core::mem::ManuallyDrop;
use core::task::{RawWaker, RawWakerVTable, Waker};

use terrace_sync::atomic::{AtomicUsize, Ordering};
use terrace_sync::{Arc, ordering, weakened};

/// Children of a block: as many as the alignment of a block leaves bits in its address.
pub const CHILDREN: usize = 16;

/// Some children of a group, and the waker of the task that awaits them. It never changes its waker: a group that is polled by
/// another task makes new blocks.
// As large an alignment as allocators give for nothing.
#[repr(align(16))]
pub struct Block {
    /// A bit for each child that has woken the group since the last `take`.
    woken: AtomicUsize,
    waker: Waker,
}

const _: () = assert!(align_of::<Block>() == CHILDREN);

impl Block {
    /// A block whose children wake `waker`.
    #[must_use = "a block does nothing until children are lent wakers of it"]
    pub fn new(waker: Waker) -> Arc<Self> {
        Arc::new(Self {
            woken: AtomicUsize::new(0),
            waker,
        })
    }

    /// The waker that its children wake.
    #[must_use = "the call only reads a value"]
    pub fn waker(&self) -> &Waker {
        &self.waker
    }

    /// The children that have woken the group since the last call, a bit each.
    #[must_use = "children that were taken have to be polled"]
    pub fn take(&self) -> usize {
        // Ordering: Relaxed. A bit that this load misses has a wake behind it, and a poll follows.
        if self.woken.load(Ordering::Relaxed) == 0 {
            return 0;
        }
        // Ordering: Acquire, pairs with the Release in `set`: the group sees what came before each wake.
        self.woken.swap(0, ordering!("group-take-acquire", Acquire))
    }

    /// A child wakes the group.
    fn set(&self, child: usize) {
        let bit = 1 << child;
        if weakened!("group-wake-early") {
            self.waker.wake_by_ref();
        }
        // Ordering: Release, see `take`. The first child's wake comes after its bit, by the program order of one thread.
        let before = self
            .woken
            .fetch_or(bit, ordering!("group-set-release", Release));
        if before == 0 && !weakened!("group-wake-early") {
            self.waker.wake_by_ref();
        }
    }

    /// The waker of a child, without a reference of its own: it is not used beyond `this`. Its clones count.
    #[must_use = "a lent waker must not outlive its block"]
    pub fn lend(this: &Arc<Self>, child: usize) -> ManuallyDrop<Waker> {
        debug_assert!(child < CHILDREN);
        let data = Arc::as_ptr(this).map_addr(|address| address | child).cast();
        // SAFETY: the functions of the table keep the contract of `RawWaker`. The waker is not dropped, so it gives no
        // reference back.
        ManuallyDrop::new(unsafe { Waker::from_raw(RawWaker::new(data, &VTABLE)) })
    }
}

/// Of the waker of one child: the address of its block, with the child's number in the lowest bits. Each one but a lent one
/// has a reference to the block.
static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, release);

/// The block, and the number of the child. The reference is the waker's: the caller does not drop the result unless it takes
/// the waker's over.
///
/// # Safety
/// `data` is that of a waker of the table above, in use.
unsafe fn parts(data: *const ()) -> (ManuallyDrop<Arc<Block>>, usize) {
    let child = data.addr() % CHILDREN;
    let block = data.map_addr(|address| address & !(CHILDREN - 1)).cast();
    // SAFETY: `lend` took the address from an `Arc`. The waker has a reference, or lives by the lender's.
    (ManuallyDrop::new(unsafe { Arc::from_raw(block) }), child)
}

unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: called through the table.
    let (block, _) = unsafe { parts(data) };
    core::mem::forget(Arc::clone(&block));
    RawWaker::new(data, &VTABLE)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: called through the table.
    let (block, child) = unsafe { parts(data) };
    // By value: it goes also if the wake unwinds.
    let block = ManuallyDrop::into_inner(block);
    block.set(child);
    if weakened!("group-wake-keeps") {
        core::mem::forget(block);
    }
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: called through the table.
    let (block, child) = unsafe { parts(data) };
    block.set(child);
}

unsafe fn release(data: *const ()) {
    // SAFETY: called through the table.
    let (block, _) = unsafe { parts(data) };
    drop(ManuallyDrop::into_inner(block));
}
