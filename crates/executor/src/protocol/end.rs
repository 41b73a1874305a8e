//! The end of a pool's tasks: which threads wait until all have ended, and which one drops those that are left. Not an API; public for its models.

use terrace_sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use terrace_sync::{FenceKind, ordering, steal, weakened};

/// The light fence is an instruction here, so each end takes the long way.
const SYMMETRIC: usize = 1;
/// One waiter.
const WAITER: usize = 2;

/// The threads that wait until every task of a pool has ended.
///
/// ```text
/// waiter: count up; H; listen; look: no task left -> done; sleep
/// ender:  its count of ends; l; anyone waits -> F; look: no task left -> notify
/// ```
///
/// `l` and `H` are the pair of fences of [`terrace_sync::steal`], `F` is a full fence. Two pairs of threads have to see each other:
///
/// - A waiter and the last ender: either the ender sees the waiter, or the waiter sees the end.
/// - Two enders at the same time: the counts of ends are one word a thread, so each may see the other's task as active. The later one
///   to fence by `F` sees both ends.
///
/// A task's end costs one load and one branch where no thread waits: the word that counts the waiters also says whether `l` is
/// an instruction in this process.
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
    #[must_use = "the call only reads a value"]
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

/// The threads that may be polling tasks of a pool when it is closed: the last of them drops the tasks.
///
/// A pool that is dropped drops its tasks, but none that is being polled. Such a task might register afterwards and
/// leak, or the thread that polls it would wait for itself. So the pool counts three kinds of *holders*. Worker threads
/// count from before their start until they have left. *Guests* are waiting threads without a seat that run tasks of a
/// pool without workers. Each guest counts for the length of one poll. The thread that closes the pool counts while it
/// does.
///
/// ```text
/// close:   closing; count up; the workers are joined; count down, last -> drop the tasks
/// guest:   take a task; count up; closing -> put it back, else poll it; count down, last and closing -> drop the tasks
/// worker:  counted up by its starter, before closing; count down, last and closing -> drop the tasks
/// ```
///
/// So no task is dropped for the end of its pool while another one of the pool is in a poll, which may have spawned it and look at
/// it. A guest that is inside of a poll of the closing pool polls its tasks, for that poll waits for them.
///
/// Every change of the count is a read-modify-write. If the guest's first change precedes the closer's last one, the
/// closer is not the last holder, and the guest or a later holder is. Else the guest's change reads a value that the
/// closer wrote after it raised the flag, so the guest sees `closing`.
#[derive(Default)]
pub struct Holders {
    count: AtomicUsize,
    closing: AtomicBool,
}

impl Holders {
    /// Counts a holder in, which has not polled yet.
    #[inline]
    pub fn enter(&self) {
        // Ordering: Acquire pairs with the Release in `leave`: a guest that comes after the closer has left sees
        // `closing`. No Release: the holder has written nothing yet.
        self.count
            .fetch_add(1, ordering!("executor-holders-enter", Acquire));
    }

    /// Counts a holder out; true for the last one of a closing pool, which drops the tasks.
    #[inline]
    #[must_use = "the last holder of a closing pool drops the tasks"]
    pub fn leave(&self) -> bool {
        // Ordering: AcqRel. Each `leave` releases the holder's writes to tasks, and the last one acquires them before
        // it drops the tasks. The Release also carries the flag, see `enter`.
        let last = self
            .count
            .fetch_sub(1, ordering!("executor-holders-leave", AcqRel))
            == 1;
        last && self.is_closing()
    }

    /// Raises the flag for good; the caller then enters, ends the workers, and leaves.
    pub fn close(&self) {
        // Ordering: Relaxed. The count carries it to guests (`leave`, `enter`), and workers look at it after a fence
        // before they sleep.
        self.closing.store(true, Ordering::Relaxed);
    }

    /// Whether the pool is closing. Exact for a holder that entered after the closer has left.
    #[inline]
    pub fn is_closing(&self) -> bool {
        // Ordering: Relaxed, see `close`.
        self.closing.load(Ordering::Relaxed)
    }
}
