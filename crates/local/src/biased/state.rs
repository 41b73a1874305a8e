//! The two words of a [`State`], and the steps that every side has in common.

use core::task::Waker;

use terrace_sync::atomic::{AtomicUsize, Ordering};
use terrace_sync::cell::UnsafeCell;
use terrace_sync::weakened;

use super::flags::{count, local, remote};
use crate::on_owner::OnOwner;

/// The word of the owner.
pub(super) struct LocalWord {
    pub(super) references: u32,
    /// See [`local`].
    pub(super) flags: u8,
}

/// The thread that takes a step.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Side {
    /// The owner's.
    Local,
    /// Any other one.
    Remote,
}

/// What a step does with its caller's reference.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reference {
    /// The caller keeps it.
    Kept,
    /// The step uses it up.
    UsedUp,
}

/// How a handle goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HandleEnd {
    /// It cancels the task.
    Cancel,
    /// It lets the task run on.
    Detach,
}

/// What a step asks of its caller.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use]
pub enum Step {
    /// Nothing.
    Nothing,
    /// The task has an item, with a reference of its own. The owner pushes it to the run queue, another thread to the inbox.
    Queue,
    /// The task has ended, and the step gave back its last reference: the caller frees the cell.
    Free,
    /// The task has ended before. The caller, its handle, keeps its reference and takes the outcome.
    Ended,
}

impl Step {
    /// [`Step::Free`] if the reference was the `last` one.
    pub(super) fn free_if(last: bool) -> Self {
        if last { Self::Free } else { Self::Nothing }
    }
}

/// See the [module](super). Each method but [`is_finished`](Self::is_finished) takes a reference to the task for granted.
pub struct State {
    pub(super) remote: AtomicUsize,
    /// Invariant: only the owner touches it, or the one thread that knows of the task. A borrow lasts for one closure,
    /// which calls nothing that borrows again.
    pub(super) local: UnsafeCell<LocalWord>,
    /// Not 0 while a registry has a reference, which is until the task ends. Then no reference that a remote thread
    /// drops is the last one.
    pub(super) registered: AtomicUsize,
    /// Invariant: it belongs to the handle or to the owner, as [`remote::JOIN`] says.
    pub(super) awaiter: UnsafeCell<Option<Waker>>,
}

// SAFETY: methods of `OnOwner` touch `local`, on the owner's thread alone, and `reject` does while no other thread knows of
// the task. The flag `JOIN` hands the awaiter over, and a waker is Send. The rest is atomic.
unsafe impl Send for State {}
// SAFETY: see `Send`: the same rules keep shared references from meeting in `local` and `awaiter`.
unsafe impl Sync for State {}

impl State {
    /// A new task, which a thread of this `side` spawns: an item for the run queue, or the inbox, and a handle.
    #[must_use]
    #[inline]
    pub fn spawned(side: Side) -> Self {
        let (remote, references, flags) = match side {
            Side::Local => (0, 2, local::QUEUED),
            Side::Remote => (remote::NOTIFIED + remote::WOKEN + 2 * remote::ONE, 0, 0),
        };
        Self {
            remote: AtomicUsize::new(remote),
            local: UnsafeCell::new(LocalWord { references, flags }),
            registered: AtomicUsize::new(0),
            awaiter: UnsafeCell::new(None),
        }
    }

    /// A new task that the owner polls as it spawns it: a turn, which has started, and a handle.
    #[must_use]
    #[inline]
    pub fn polled_at_spawn() -> Self {
        Self {
            remote: AtomicUsize::new(0),
            local: UnsafeCell::new(LocalWord {
                references: 2,
                flags: local::RUNNING,
            }),
            registered: AtomicUsize::new(0),
            awaiter: UnsafeCell::new(None),
        }
    }

    /// A task that has ended before it had a cell: a handle, which takes the outcome. [`is_fresh`](Self::is_fresh) says so. The
    /// owner is the thread that makes it; it has nothing to do any more.
    #[must_use]
    #[inline]
    pub fn ended_at_spawn() -> Self {
        let remote = remote::ENDED | remote::OUTCOME | remote::FRESH | remote::ONE;
        Self {
            remote: AtomicUsize::new(remote),
            local: UnsafeCell::new(LocalWord {
                references: 0,
                flags: local::ENDED,
            }),
            registered: AtomicUsize::new(0),
            awaiter: UnsafeCell::new(None),
        }
    }

    /// Replaces the remote word by what `next` makes of it; `None` leaves it. Returns what it was.
    #[inline]
    pub(super) fn update(&self, mut next: impl FnMut(usize) -> Option<usize>) -> usize {
        // Ordering: Acquire. A caller that sees `ENDED` uses what the owner wrote to the cell before `finish`.
        let mut word = self.remote.load(Ordering::Acquire);
        while let Some(new) = next(word) {
            // Ordering: AcqRel. Release hands on what this thread did with its reference or before its wake. Acquire takes
            // over what other threads handed on.
            match self
                .remote
                .compare_exchange_weak(word, new, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => break,
                Err(found) => word = found,
            }
        }
        word
    }

    /// Drops a reference of a task that has ended. True if it was the last one: the caller frees the cell.
    #[must_use]
    #[inline]
    pub fn release_ended(&self) -> bool {
        let acquire = if weakened!("local-task-last-acquire") {
            Ordering::Relaxed
        } else {
            Ordering::Acquire
        };
        // Ordering: Acquire, pairs with the Release of the other threads' decrements. The only reference need not count
        // down.
        if count(self.remote.load(acquire)) == 1 {
            return true;
        }
        // Ordering: AcqRel, so that all uses of the cell come before the last decrement's caller frees it.
        count(self.remote.fetch_sub(remote::ONE, Ordering::AcqRel)) == 1
    }

    /// From now to the end of the task a registry has a reference: a remote thread never drops the last one.
    #[inline]
    pub fn set_registered(&self) {
        // Ordering: Relaxed. A thread that reads the old value asks the owner in vain, which does no harm.
        self.registered.store(1, Ordering::Relaxed);
    }

    /// Whether the task has ended: the owner has dropped the future, and written the outcome if there is one.
    #[inline]
    #[must_use]
    pub fn is_finished(&self) -> bool {
        // Ordering: Acquire, pairs with the Release in `finish`.
        self.remote.load(Ordering::Acquire) & remote::ENDED != 0
    }

    /// Whether [`finish_at_spawn`](crate::OnOwner::finish_at_spawn) ended the task, in memory of a class. Then the caller, its
    /// handle, has the only reference. The outcome is there, and no awaiter.
    #[inline]
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        let fresh = remote::ENDED | remote::OUTCOME | remote::FRESH | remote::ONE;
        // Ordering: Relaxed. The handle came from the thread that stored it, and brought all that came before. There is no
        // other reference by which a thread could have changed the word since.
        self.remote.load(Ordering::Relaxed) == fresh
    }

    /// Whether an ended task has an outcome for its handle.
    #[inline]
    #[must_use]
    pub fn has_outcome(&self) -> bool {
        // Ordering: Relaxed. The caller has seen, with Acquire, that the task has ended.
        self.remote.load(Ordering::Relaxed) & remote::OUTCOME != 0
    }
}

impl OnOwner<'_, State> {
    /// Runs one operation on the local word. `f` calls nothing that runs another one.
    #[inline(always)]
    pub(super) fn with_word<R>(self, f: impl FnOnce(&mut LocalWord) -> R) -> R {
        self.get().local.with_mut(|word| {
            // SAFETY: this is the owner's thread, and no other borrow is alive (the field's invariant).
            f(unsafe { &mut *word })
        })
    }

    /// Whether the task has ended. A plain load.
    #[inline]
    pub(super) fn has_ended(self) -> bool {
        self.with_word(|word| word.flags & local::ENDED != 0)
    }
}
