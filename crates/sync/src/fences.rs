//! Two asymmetric pairs of fences: behind every sleep/wake handshake, and between the owner of a deque and its thieves.

#[cfg(feature = "std")]
mod choice;
mod kind;
pub mod steal;
#[cfg_attr(
    not(all(
        feature = "std",
        any(target_os = "linux", windows),
        not(any(terrace_loom, terrace_shuttle, terrace_tsan, miri))
    )),
    path = "fences/full.rs"
)]
mod system;

use crate::count;

#[cfg(feature = "std")]
pub use choice::Choice;
pub use kind::FenceKind;

/// The cheap half of the asymmetric fence pair, for the side that runs often.
///
/// **Guarantee:** a `light` and a [`heavy`], or two `heavy`s, are totally ordered. All that precedes the earlier one on
/// its thread is visible after the later one on its own. So let one thread write X, fence and read Y, while another
/// writes Y, fences and reads X: at least one sees the other's write. Two `light`s promise nothing to each other. A
/// `light` alone neither acquires nor releases: do not rely on the stronger form that it may have.
///
/// It is a compiler fence where [`fence_kind`] is asymmetric, else `fence(SeqCst)`. Cost: one load and a branch that
/// is predicted, and the fence.
///
/// Used in: publish, `wake_worker`, latch set, every push that another thread must notice.
///
/// # Examples
///
/// ```
/// use terrace_sync::atomic::{AtomicBool, Ordering};
/// use terrace_sync::{heavy, light};
///
/// static ITEM: AtomicBool = AtomicBool::new(false);
/// static SLEEPS: AtomicBool = AtomicBool::new(false);
///
/// let publisher = std::thread::spawn(|| {
///     ITEM.store(true, Ordering::Relaxed);
///     light();
///     SLEEPS.load(Ordering::Relaxed)
/// });
/// SLEEPS.store(true, Ordering::Relaxed);
/// heavy();
/// let sees_item = ITEM.load(Ordering::Relaxed);
/// let wakes = publisher.join().unwrap();
/// assert!(sees_item || wakes, "a wake is never lost");
/// ```
#[doc(alias("asymmetric_fence", "membarrier"))]
#[inline(always)]
#[cfg_attr(terrace_loom, track_caller)]
pub fn light() {
    count::light_fence();
    // Ordering: pairs with the fence in `heavy`; see the guarantee above.
    if !weakened!("sync-light-removed") {
        system::SLEEP.light();
    }
}

/// The costly half of the asymmetric fence pair, for the side that is about to sleep anyway.
///
/// See [`light`] for the guarantee. Where [`fence_kind`] is asymmetric it is a system call that interrupts every
/// running thread of the process. Used in: park, the end of a search, wait, leave, the end of a sentinel's watch.
///
/// # Aborts
/// If the system refuses a barrier that it allowed when the form was chosen, as in a sandbox entered later. Other
/// threads have left out their fences by then. `TERRACE_FENCE=symmetric` is for such programs.
/// [`light`] has an example.
#[doc(alias("asymmetric_fence", "membarrier"))]
#[inline(always)]
#[cfg_attr(terrace_loom, track_caller)]
pub fn heavy() {
    count::heavy_fence();
    // Ordering: pairs with the fence in `light` and with other heavy fences.
    if !weakened!("sync-heavy-removed") {
        system::SLEEP.heavy();
    }
}

/// The form of [`light`] and [`heavy`] in this process, chosen now if it was not yet.
///
/// The first `heavy`, or the first call of this, chooses, for good. It reads the environment variable `TERRACE_FENCE`
/// (`asymmetric` or `symmetric`). The asymmetric form needs Linux with `membarrier`, or Windows. The choice is symmetric
/// without the variable, on other systems, under a model checker, ThreadSanitizer or Miri.
///
/// # Examples
///
/// ```
/// use terrace_sync::{FenceKind, fence_kind};
///
/// if fence_kind() == FenceKind::Asymmetric {
///     println!("a light fence costs nothing here");
/// }
/// ```
pub fn fence_kind() -> FenceKind {
    system::SLEEP.choose()
}

/// How often this process has asked the system to make all its running threads fence, wrapping: by each [`heavy`],
/// [`steal::heavy`] and [`steal::try_heavy`] whose form is asymmetric. 0 where both forms are symmetric. The barrier by which a form is
/// chosen does not count. A child of `fork` goes on with the number of its parent.
///
/// A barrier costs its caller a microsecond and more, and interrupts threads that compute. So a bench prints how many a workload takes.
///
/// # Examples
///
/// ```
/// let before = terrace_sync::barriers();
/// terrace_sync::steal::heavy();
/// assert!(terrace_sync::barriers() - before <= 1);
/// ```
#[must_use = "the call only reads a value"]
pub fn barriers() -> usize {
    system::barriers()
}
