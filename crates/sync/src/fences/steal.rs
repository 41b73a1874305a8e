//! The pair of fences between the owner of a deque and its thieves.
//!
//! The same guarantee as [`light`](crate::light) and [`heavy`](crate::heavy), by a choice of its own. A fence of this pair
//! promises nothing to a fence of the other pair. An owner fences at each pop, a thief only where its request was not
//! answered. So this pair is asymmetric where the system can.

use super::{FenceKind, system};
use crate::count;

/// The owner's half: between its write of what it takes and its read of what thieves have taken.
///
/// **Guarantee:** that of [`crate::light`], with [`heavy`] of this module as the other half.
///
/// Cost: one load and a branch that is predicted; `fence(SeqCst)` where [`fence_kind`] is symmetric.
///
/// # Examples
///
/// ```
/// use terrace_sync::atomic::{AtomicBool, Ordering};
/// use terrace_sync::steal;
///
/// static OWNER: AtomicBool = AtomicBool::new(false);
/// static THIEF: AtomicBool = AtomicBool::new(false);
///
/// let thief = terrace_sync::thread::spawn(|| {
///     THIEF.store(true, Ordering::Relaxed);
///     steal::heavy();
///     OWNER.load(Ordering::Relaxed)
/// });
/// OWNER.store(true, Ordering::Relaxed);
/// steal::light();
/// let sees_thief = THIEF.load(Ordering::Relaxed);
/// let sees_owner = thief.join().unwrap();
/// assert!(sees_thief || sees_owner, "no two threads take the same item");
/// ```
#[inline(always)]
#[cfg_attr(terrace_loom, track_caller)]
pub fn light() {
    // Ordering: pairs with the fence in `heavy`; see the guarantee above.
    if !weakened!("sync-steal-light-removed") {
        system::STEAL.light();
    }
}

/// The owner's half where the caller knows that [`fence_kind`] is asymmetric: it binds the compiler, and is no
/// instruction.
///
/// In a process whose pair is symmetric it orders nothing between threads. Code that may run there keeps a word by which it
/// tells, and calls [`light`] instead. Under loom, shuttle, ThreadSanitizer and Miri it is a full fence.
///
/// # Examples
///
/// ```
/// use terrace_sync::atomic::{AtomicBool, Ordering};
/// use terrace_sync::{FenceKind, steal};
///
/// static OWNER: AtomicBool = AtomicBool::new(false);
/// static THIEF: AtomicBool = AtomicBool::new(false);
///
/// let kind = steal::fence_kind();
/// let thief = terrace_sync::thread::spawn(|| {
///     THIEF.store(true, Ordering::Relaxed);
///     steal::heavy();
///     OWNER.load(Ordering::Relaxed)
/// });
/// OWNER.store(true, Ordering::Relaxed);
/// match kind {
///     FenceKind::Asymmetric => steal::light_asymmetric(),
///     FenceKind::Symmetric => steal::light(),
/// }
/// let sees_thief = THIEF.load(Ordering::Relaxed);
/// assert!(sees_thief || thief.join().unwrap());
/// ```
#[inline(always)]
#[cfg_attr(terrace_loom, track_caller)]
pub fn light_asymmetric() {
    // Ordering: pairs with the fence in `heavy`; see the guarantee of `light`.
    if !weakened!("sync-steal-light-removed") {
        system::compiler_only();
    }
}

/// The thief's half: between its read of what thieves have taken and its read of what the owner has left.
///
/// Where [`fence_kind`] is asymmetric it is a system call that interrupts every running thread of the process.
/// [`light`] has an example.
///
/// # Aborts
/// If the system refuses a barrier that it allowed when the form was chosen, as in a sandbox entered later. Owners
/// have left out their fences by then. `TERRACE_STEAL_FENCE=symmetric` is for such programs.
#[inline]
#[cfg_attr(terrace_loom, track_caller)]
pub fn heavy() {
    count::steal_heavy_fence();
    // Ordering: pairs with the fence in `light` and with other heavy fences of this pair.
    if !weakened!("sync-steal-heavy-removed") {
        system::STEAL.heavy();
    }
}

/// As [`heavy`], for a thief that can do without: false if the system refuses the barrier. It has ordered nothing then, and
/// the thief takes nothing.
///
/// # Examples
///
/// ```
/// use terrace_sync::steal;
///
/// let is_fenced = steal::try_heavy();
/// assert_eq!(is_fenced, !steal::is_refused());
/// ```
#[inline]
#[must_use = "without the fence a thief takes nothing"]
#[cfg_attr(terrace_loom, track_caller)]
pub fn try_heavy() -> bool {
    count::steal_heavy_fence();
    // Ordering: as in `heavy`.
    weakened!("sync-steal-heavy-removed") || system::STEAL.try_heavy()
}

/// Whether the system has refused a barrier of the calling thread: then [`try_heavy`] is in vain from now on. One load.
/// [`try_heavy`] has an example.
#[inline]
#[must_use = "the call only answers a question"]
pub fn is_refused() -> bool {
    system::is_refused()
}

/// The form of this pair in this process, chosen now if it was not yet.
///
/// The first [`heavy`], or the first call of this, chooses, for good. It reads the environment variable
/// `TERRACE_STEAL_FENCE` (`asymmetric` or `symmetric`). Without it the form is asymmetric on Linux with `membarrier` and on
/// Windows, symmetric on other systems. Model checkers, ThreadSanitizer and Miri see full fences, and this says asymmetric
/// there: so they run the code of that form.
///
/// # Examples
///
/// ```
/// use terrace_sync::steal;
///
/// println!("an owner's fences are {:?}", steal::fence_kind());
/// ```
pub fn fence_kind() -> FenceKind {
    system::STEAL.choose()
}
