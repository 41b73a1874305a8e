//! The bits of the two words of a [`State`](super::State), and the counts above them.

/// Flags of the local word. Only the owner reads and writes them.
pub(super) mod local {
    /// The task has an item in the run queue.
    pub(crate) const QUEUED: u8 = 1;
    /// The owner polls the task, or drops its future.
    pub(crate) const RUNNING: u8 = 1 << 1;
    /// A waker woke the task while the owner polled it.
    pub(crate) const WOKEN: u8 = 1 << 2;
    /// The owner drops the future instead of polling it.
    pub(crate) const CANCELLED: u8 = 1 << 3;
    /// The handle is gone, and went on the owner's thread.
    pub(crate) const DETACHED: u8 = 1 << 4;
    /// The task has ended: the remote word counts all references.
    pub(crate) const ENDED: u8 = 1 << 5;
}

/// Flags of the remote word. Every thread may change them.
pub(super) mod remote {
    /// The task has an item in the inbox, or a thread is about to push one.
    pub(crate) const NOTIFIED: usize = 1;
    /// That item asks the owner for a poll.
    pub(crate) const WOKEN: usize = 1 << 1;
    /// That item asks the owner to drop the future.
    pub(crate) const CANCELLED: usize = 1 << 2;
    /// The handle is gone, and went on another thread.
    pub(crate) const DETACHED: usize = 1 << 3;
    /// The task has ended: its future has been dropped, and this word counts all references.
    pub(crate) const ENDED: usize = 1 << 4;
    /// The ended task has an outcome, which its handle takes.
    pub(crate) const OUTCOME: usize = 1 << 5;
    /// The awaiter belongs to the owner; while the bit is clear, it belongs to the handle.
    pub(crate) const JOIN: usize = 1 << 6;
    /// The task ended in the call that spawned it, its memory is of a class, and it has no awaiter.
    pub(crate) const FRESH: usize = 1 << 7;
    /// Above it is the number of references, with a sign.
    pub(super) const SHIFT: u32 = 8;
    /// One reference.
    pub(crate) const ONE: usize = 1 << SHIFT;
}

/// A count beyond this ends the process. It is far below the capacity of either count, so that a thread notices in
/// time. Unit tests have a small one, which they reach.
pub(super) const LIMIT: isize = {
    let fits = isize::MAX >> (remote::SHIFT + 1);
    let limit = if cfg!(test) { 1_000 } else { 1 << 30 };
    if fits < limit { fits } else { limit }
};

/// The references that the remote word counts. Negative if other threads gave back more than they counted.
#[inline]
pub(super) const fn count(word: usize) -> isize {
    0_isize.wrapping_add_unsigned(word) >> remote::SHIFT
}

/// Ends the process. So many references exist only if a loop leaks wakers, and a count that wraps around would free a cell
/// in use.
#[cold]
pub(super) extern "C" fn too_many_references() -> ! {
    panic!("too many references to a task: wakers are leaked in a loop");
}

#[cfg(all(test, not(any(terrace_loom, terrace_shuttle))))]
mod tests {
    use super::{count, local, remote};

    /// Each flag has a bit of its own, below the count.
    #[test]
    fn flags_do_not_overlap() {
        let flags = [
            local::QUEUED,
            local::RUNNING,
            local::WOKEN,
            local::CANCELLED,
            local::DETACHED,
            local::ENDED,
        ];
        assert_eq!(flags.into_iter().map(u32::from).sum::<u32>(), (1 << 6) - 1);
        let flags = [
            remote::NOTIFIED,
            remote::WOKEN,
            remote::CANCELLED,
            remote::DETACHED,
            remote::ENDED,
            remote::OUTCOME,
            remote::JOIN,
            remote::FRESH,
        ];
        assert_eq!(flags.into_iter().sum::<usize>(), remote::ONE - 1);
        assert_eq!(count(remote::ONE - 1), 0);
        assert_eq!(count(0_usize.wrapping_sub(remote::ONE)), -1);
    }
}
