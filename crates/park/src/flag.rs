//! The flags that say which workers are sentinels.

use terrace_sync::CachePadded;
use terrace_sync::atomic::{AtomicUsize, Ordering};

use crate::group::Group;
use crate::word::GROUP_CAPACITY;

/// No sentinel.
const DOWN: usize = 0;

/// The most sentinels at once: one that looks often while a core is free, and one that goes on watching while the first
/// runs what it has found.
const SENTINELS: usize = 2;

/// One flag for each possible sentinel, up while a worker is it. Ordered by fences alone, which the callers make.
pub(crate) struct Flags {
    /// Each [`DOWN`], or the number of its sentinel plus one.
    workers: CachePadded<[AtomicUsize; SENTINELS]>,
}

impl Flags {
    pub(crate) fn new() -> Self {
        Self {
            workers: CachePadded::new(std::array::from_fn(|_| AtomicUsize::new(DOWN))),
        }
    }

    /// Makes `worker` a sentinel. Returns whether a flag was down.
    #[must_use = "a worker without a flag is no sentinel"]
    pub(crate) fn raise(&self, worker: usize) -> bool {
        let raise = |flag: &AtomicUsize| {
            flag.compare_exchange(DOWN, worker + 1, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        };
        self.workers.iter().any(raise)
    }

    /// Ends the watch of the sentinel `worker`, which calls this itself.
    pub(crate) fn lower(&self, worker: usize) {
        for flag in self.workers.iter() {
            if flag.load(Ordering::Relaxed) == worker + 1 {
                flag.store(DOWN, Ordering::Relaxed);
            }
        }
    }

    #[inline]
    pub(crate) fn any_up(&self) -> bool {
        self.workers
            .iter()
            .any(|flag| flag.load(Ordering::Relaxed) != DOWN)
    }

    /// The bits of those sentinels that are workers of `group`. A hint: it decides which worker a wake reaches, a matter
    /// of speed.
    pub(crate) fn bits_in(&self, group: &Group) -> u32 {
        let bit =
            |flag: &AtomicUsize| match flag.load(Ordering::Relaxed).checked_sub(group.base + 1) {
                Some(bit) if bit < GROUP_CAPACITY => 1 << bit,
                _ => 0,
            };
        self.workers.iter().map(bit).fold(0, |bits, bit| bits | bit)
    }
}
