//! The asymmetric pair of fences behind every sleep/wake handshake.

use crate::atomic::{Ordering, fence};
use crate::count;

/// The cheap half of the asymmetric fence pair, for the side that runs often.
///
/// **Guarantee:** a `light` and a [`heavy`], or two `heavy`s, are totally ordered, and whatever precedes
/// the earlier one on its thread is visible after the later one on its own. So of two threads of which one
/// writes X, fences and reads Y, while the other writes Y, fences and reads X, at least one sees the
/// other's write. Two `light`s promise nothing to each other; do not rely on today's stronger form.
///
/// Today both are `fence(SeqCst)`. The plan is a compiler fence here and, in [`heavy`],
/// `membarrier(PRIVATE_EXPEDITED)` on Linux or `FlushProcessWriteBuffers` on Windows, chosen once at run
/// time before first use, since a sandbox may refuse the call. Where it is refused, on other systems, and
/// under loom and ThreadSanitizer, both stay `fence(SeqCst)`.
///
/// Used in: publish, targeted wake, latch set, every push that another thread must notice.
#[inline(always)]
#[cfg_attr(terrace_loom, track_caller)]
pub fn light() {
    // Ordering: pairs with the fence in `heavy`; see the guarantee above.
    #[cfg(not(terrace_weaken = "sync-light-removed"))]
    fence(Ordering::SeqCst);
}

/// The costly half of the asymmetric fence pair, for the side that is about to sleep anyway.
///
/// See [`light`] for the guarantee. Used in: park, the end of a search, wait, leave, the end of a guard.
#[inline(always)]
#[cfg_attr(terrace_loom, track_caller)]
pub fn heavy() {
    count::heavy_fence();
    // Ordering: pairs with the fence in `light` and with other heavy fences.
    #[cfg(not(terrace_weaken = "sync-heavy-removed"))]
    fence(Ordering::SeqCst);
}
