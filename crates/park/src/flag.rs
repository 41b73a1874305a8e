//! The flag that says which worker is the sentinel.

use terrace_sync::CachePadded;
use terrace_sync::atomic::{AtomicUsize, Ordering};

use crate::group::Group;
use crate::word::GROUP_CAPACITY;

/// No sentinel.
const DOWN: usize = 0;

/// Up while a worker is the sentinel. Ordered by fences alone, which the callers make.
pub(crate) struct Flag {
    /// [`DOWN`], or the number of the sentinel plus one.
    worker: CachePadded<AtomicUsize>,
}

/// Another worker is the sentinel.
pub(crate) struct Taken;

impl Flag {
    pub(crate) fn new() -> Self {
        Self {
            worker: CachePadded::new(AtomicUsize::new(DOWN)),
        }
    }

    /// Makes `worker` the sentinel.
    pub(crate) fn raise(&self, worker: usize) -> Result<(), Taken> {
        self.worker
            .compare_exchange(DOWN, worker + 1, Ordering::Relaxed, Ordering::Relaxed)
            .map(drop)
            .map_err(|_| Taken)
    }

    /// Ends the watch of the sentinel, which calls this itself.
    pub(crate) fn lower(&self) {
        self.worker.store(DOWN, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn is_up(&self) -> bool {
        self.worker.load(Ordering::Relaxed) != DOWN
    }

    /// The sentinel's bit, if it is a worker of `group`. A hint: it decides which worker a wake reaches, a matter of speed.
    pub(crate) fn bit_in(&self, group: &Group) -> u32 {
        match self
            .worker
            .load(Ordering::Relaxed)
            .checked_sub(group.base + 1)
        {
            Some(bit) if bit < GROUP_CAPACITY => 1 << bit,
            _ => 0,
        }
    }
}
