//! [`settle_after`]: when a thread lets glibc put its lists of small free blocks in order.
//!
//! glibc keeps freed small blocks in lists, the last one first, and merges none with its neighbours. After a few bursts of tasks the
//! lists have no order any more. Blocks that a program then allocates one after the other lie far apart in memory, and each costs
//! cache misses. glibc puts the lists in order at a request of more than 1,024 bytes, and some programs make none. So a thread makes
//! such a request where it has polled many tasks since the last one: before it sleeps, or between two polls of a `run` future.
//!
//! That concerns all of the thread's blocks, also those that belong to futures. `DESIGN.md` has what else was tried.

use alloc::vec::Vec;
use core::hint::black_box;

/// Polls after which the lists may be in disorder. With 64 bytes a task they then span more than a first cache.
pub const POLLS: usize = 4_096;

/// What glibc takes for large.
const LARGE: usize = 4_096;

/// Whether the system's allocator is glibc's.
pub const IS_GLIBC: bool = cfg!(all(target_os = "linux", target_env = "gnu"));

/// The calling thread has polled so many tasks since this was true last. If they are [enough](POLLS), it lets the allocator put its
/// free blocks in order, by one allocation. Without glibc it does nothing.
#[inline]
#[must_use = "the caller counts from here on"]
pub fn settle_after(polls: usize) -> bool {
    let due = IS_GLIBC && polls >= POLLS;
    if due {
        settle();
    }
    due
}

#[cold]
fn settle() {
    let mut block = Vec::<u8>::new();
    // A thread that gets no memory goes on as it is.
    if block.try_reserve_exact(LARGE).is_ok() {
        // The compiler leaves out an allocation that nothing uses.
        black_box(&mut block);
    }
}
