//! [`Block`]: which children of a group have woken it.
//!
//! The first of each [`BLOCKS`] blocks is their *front*. It has a bit for each of them, and the waker of the group's task.
//!
//! | the end of a child (`set`)                                    | a poll of the group                                  |
//! |---------------------------------------------------------------|------------------------------------------------------|
//! | 1. sets its bit in its block                                  | 1. takes the bits of each front (`take_blocks`)      |
//! | 2. no bit of the block was set before: sets the block's bit   | 2. takes the bits of the blocks that they name (`take`) |
//! | 3. no bit of the front was set before: wakes the group's task | 3. polls the children that these name                |
//!
//! A child that finds another bit set leaves the rest to the child that set the first of these bits. That one comes to its next step
//! after that, and no poll has taken the bits so far. So the poll that follows takes both.

use core::mem::ManuallyDrop;
use core::task::{RawWaker, RawWakerVTable, Waker};

use terrace_sync::atomic::{AtomicUsize, Ordering};
use terrace_sync::{Arc, ordering, weakened};

/// Children of a block: as many as the alignment of a block leaves bits in its address.
pub const CHILDREN: usize = 16;

/// Blocks of a front, itself included.
pub const BLOCKS: usize = usize::BITS as usize;

/// Some children of a group.
// As large an alignment as allocators give for nothing.
#[repr(align(16))]
pub struct Block {
    /// A bit for each child that has woken the group since the last `take`.
    woken: AtomicUsize,
    /// The bit of this block in its front.
    number: usize,
    role: Role,
}

enum Role {
    /// A front. It never changes its waker: a group that is polled by another task makes new blocks.
    Front {
        /// A bit for each block in which a child has woken the group since the last `take_blocks`.
        blocks: AtomicUsize,
        waker: Waker,
    },
    Behind(Arc<Block>),
}

const _: () = assert!(align_of::<Block>() == CHILDREN);

impl Block {
    /// A front, the block with number 0. Its children, and those of the blocks behind it, wake `waker`.
    #[must_use = "a block does nothing until children are lent wakers of it"]
    pub fn front(waker: Waker) -> Arc<Self> {
        let blocks = AtomicUsize::new(0);
        Self::new(0, Role::Front { blocks, waker })
    }

    /// A block behind `front`.
    #[must_use = "a block does nothing until children are lent wakers of it"]
    pub fn behind(front: &Arc<Self>, number: usize) -> Arc<Self> {
        Self::new(number, Role::Behind(Arc::clone(front)))
    }

    fn new(number: usize, role: Role) -> Arc<Self> {
        debug_assert!(number < BLOCKS);
        Arc::new(Self {
            woken: AtomicUsize::new(0),
            number,
            role,
        })
    }

    /// The bits of its front, and the waker of the group's task.
    fn parts(&self) -> (&AtomicUsize, &Waker) {
        match &self.role {
            Role::Front { blocks, waker } => (blocks, waker),
            Role::Behind(front) => front.parts(),
        }
    }

    /// The waker that its children wake.
    pub fn waker(&self) -> &Waker {
        self.parts().1
    }

    /// The blocks of this front in which children have woken the group since the last call, a bit each.
    #[must_use = "children that were taken have to be polled"]
    pub fn take_blocks(&self) -> usize {
        // Ordering: Acquire, pairs with the Release in `set`: a block that is named here shows the bit of its child.
        take(self.parts().0, ordering!("group-blocks-acquire", Acquire))
    }

    /// The children of this block that have woken the group since the last call, a bit each.
    #[must_use = "children that were taken have to be polled"]
    pub fn take(&self) -> usize {
        // Ordering: Acquire, pairs with the Release in `set`: the group sees what came before each wake.
        take(&self.woken, ordering!("group-take-acquire", Acquire))
    }

    /// A child wakes the group.
    fn set(&self, child: usize) {
        let (blocks, waker) = self.parts();
        if weakened!("group-wake-early") {
            waker.wake_by_ref();
        }
        // Ordering: Release, see `take`. The block's bit comes after that of its child.
        let release = ordering!("group-set-release", Release);
        if self.woken.fetch_or(1 << child, release) != 0 {
            return;
        }
        // Ordering: Release, see `take_blocks`. The wake comes after the bit, by the program order of one thread.
        let release = ordering!("group-block-release", Release);
        if blocks.fetch_or(1 << self.number, release) == 0 && !weakened!("group-wake-early") {
            waker.wake_by_ref();
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

/// Takes all bits of a word.
fn take(word: &AtomicUsize, order: Ordering) -> usize {
    // Ordering: Relaxed. A bit that this load misses has a wake behind it, and a poll follows.
    if word.load(Ordering::Relaxed) == 0 {
        return 0;
    }
    word.swap(0, order)
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
