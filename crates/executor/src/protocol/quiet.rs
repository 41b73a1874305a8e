//! Waiting until every task of a pool has ended.
//!
//! ```text
//! waiter: count up; H; listen; look: no task left -> done; sleep
//! ender:  its count of ends; l; anyone waits -> F; look: no task left -> notify
//! ```
//!
//! `l` and `H` are the pair of fences of [`terrace_sync::steal`], `F` is a full fence. Two pairs of threads have to see each other:
//!
//! - A waiter and the last ender: either the ender sees the waiter, or the waiter sees the end.
//! - Two enders at the same time: the counts of ends are one word a thread, so each may see the other's task as active. The later one
//!   to fence by `F` sees both ends.
//!
//! A task's end costs one load and one branch where no thread waits: the word that counts the waiters also says whether `l` is
//! an instruction in this process. Not an API; public for its models.

use terrace_sync::atomic::{AtomicUsize, Ordering, fence};
use terrace_sync::{FenceKind, steal, weakened};

/// The light fence is an instruction here, so each end takes the long way.
const SYMMETRIC: usize = 1;
/// One waiter.
const WAITER: usize = 2;

/// The threads that wait for the last task's end.
pub struct Quiet {
    word: AtomicUsize,
}

impl Default for Quiet {
    fn default() -> Self {
        let word = match steal::fence_kind() {
            FenceKind::Symmetric => SYMMETRIC,
            FenceKind::Asymmetric => 0,
        };
        Self {
            word: AtomicUsize::new(word),
        }
    }
}

impl Quiet {
    /// A thread that has just counted an end calls this. True if it has to notify the waiters: `is_quiet` says that no task is left.
    #[inline]
    #[must_use = "a waiter sleeps until it is notified"]
    pub fn ended(&self, is_quiet: impl FnOnce() -> bool) -> bool {
        // No instruction on the machine, so the mutant of the enders' fence lacks it, too.
        if !weakened!("executor-quiet-enders") {
            steal::light_asymmetric();
        }
        // Ordering: Relaxed. The fence above, or that of the long way, pairs with `steal::try_heavy` in `enter`.
        self.word.load(Ordering::Relaxed) != 0 && self.ended_slowly(is_quiet)
    }

    #[cold]
    fn ended_slowly(&self, is_quiet: impl FnOnce() -> bool) -> bool {
        if !weakened!("executor-quiet-enders") {
            steal::light();
        }
        // Ordering: Relaxed, as in `ended`.
        if self.word.load(Ordering::Relaxed) < WAITER {
            return false;
        }
        // Ordering: SeqCst, pairs with the same fence of another ender: the later one sees both ends.
        if !weakened!("executor-quiet-enders") {
            fence(Ordering::SeqCst);
        }
        is_quiet()
    }

    /// Counts a waiter in, which then listens, and looks whether a task is left. False if the system refuses the fence, as in a
    /// sandbox entered later: enders may miss the waiter, so it has to look from time to time.
    #[must_use = "without the fence an ender may not notify the waiter"]
    pub fn enter(&self) -> bool {
        // Ordering: Relaxed, the fence orders it before the waiter's look.
        self.word.fetch_add(WAITER, Ordering::Relaxed);
        // Fence pair: `light` of the same module in `ended`.
        weakened!("executor-quiet-waiter") || steal::try_heavy()
    }

    /// How many threads wait; a hint.
    #[must_use]
    pub fn waiters(&self) -> usize {
        // Ordering: Relaxed, a hint.
        self.word.load(Ordering::Relaxed) / WAITER
    }

    /// The waiter looks no more.
    pub fn leave(&self) {
        // Ordering: Relaxed, an ender that still reads the old count notifies in vain.
        self.word.fetch_sub(WAITER, Ordering::Relaxed);
    }
}
