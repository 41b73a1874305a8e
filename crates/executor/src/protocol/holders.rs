//! The threads that may be polling tasks of a pool when it is closed: the last of them drops the tasks.
//!
//! A pool that is dropped drops its tasks, but none that is being polled. Such a task might register afterwards and
//! leak, or the thread that polls it would wait for itself. So the pool counts three kinds of *holders*. Worker threads
//! count from before their start until they have left. *Guests* are waiting threads without a seat that run tasks of a
//! pool without workers. Each guest counts for the length of one poll. The thread that closes the pool counts while it
//! does.
//!
//! ```text
//! close:   closing; count up; the workers are joined; count down, last -> drop the tasks
//! guest:   take a task; count up; closing -> put it back, else poll it; count down, last and closing -> drop the tasks
//! worker:  counted up by its starter, before closing; count down, last and closing -> drop the tasks
//! ```
//!
//! So no task is dropped for the end of its pool while another one of the pool is in a poll, which may have spawned it and look at
//! it. A guest that is inside of a poll of the closing pool polls its tasks, for that poll waits for them.
//!
//! Every change of the count is a read-modify-write. If the guest's first change precedes the closer's last one, the
//! closer is not the last holder, and the guest or a later holder is. Else the guest's change reads a value that the
//! closer wrote after it raised the flag, so the guest sees `closing`. Not an API; public for its models.

use terrace_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use terrace_sync::ordering;

/// How many threads may poll tasks, and whether the pool is closing.
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
